/* SPDX-License-Identifier: Apache-2.0
 * A file that appears under its name whole or not at all: written beside it, then renamed. */
#ifndef THUMBNAILS_NEW_FILE_HPP
#define THUMBNAILS_NEW_FILE_HPP

#include "png_file.hpp"

#include <pgflow/module.hpp>

class new_file
{
  public:
    /* In the folder, under a hidden name of this attempt alone: two attempts of a task, of which
     * the host gave up one, do not write into one file. */
    new_file(const pgf::call &call, const std::string &folder);
    ~new_file(); /* removes what was not kept */
    new_file(const new_file &) = delete;
    new_file &operator=(const new_file &) = delete;

    FILE *stream() const
    {
        return file_.get();
    }
    /* Puts it in place of what has the name, with the time of modification if there is one, and
     * gives its size in bytes. Once. */
    int64_t keep_as(const std::string &path, const timespec *modified);

  private:
    std::string hidden_;
    open_file file_;
};

#endif
