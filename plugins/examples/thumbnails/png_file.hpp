/* SPDX-License-Identifier: Apache-2.0
 * PNG files in and out, by libpng. Failures are thrown, and name no folder: the caller says which
 * file it was. Any kind of PNG comes in as 8-bit sRGB with alpha. */
#ifndef THUMBNAILS_PNG_FILE_HPP
#define THUMBNAILS_PNG_FILE_HPP

#include "scaler.hpp"

#include <cstdio>
#include <ctime>
#include <memory>
#include <optional>
#include <string>

struct file_closer {
    void operator()(FILE *file) const
    {
        (void)std::fclose(file);
    }
};
using open_file = std::unique_ptr<FILE, file_closer>;

/* What is known of a file before it is decoded. */
struct png_facts {
    extent size;
    int64_t bytes;
    timespec modified;
};

class png_file
{
  public:
    /* Opens the file and reads its header. Permanent failures: it is not there, it is no PNG, it
     * has more than most_pixels (so what a small file swells to is never allocated). */
    explicit png_file(const std::string &path);
    ~png_file();
    png_file(const png_file &) = delete;
    png_file &operator=(const png_file &) = delete;

    const png_facts &facts() const
    {
        return facts_;
    }
    /* Once. A permanent failure when the data is damaged; a plain one when the disk is. */
    picture decode();

  private:
    struct decoder; /* libpng's, which stays out of this header */

    open_file file_;
    std::unique_ptr<decoder> decoder_;
    png_facts facts_;
};

/* The facts of a file that need not be there nor be whole. */
std::optional<png_facts> png_facts_if_any(const std::string &path);

void write_png(const picture &picture, FILE *file);

#endif
