/* SPDX-License-Identifier: Apache-2.0 */
#include "png_file.hpp"

#include <cerrno>
#include <pgflow/module.hpp>
#include <png.h>
#include <sys/stat.h>
#include <system_error>

struct png_file::decoder {
    png_image image{};

    decoder()
    {
        image.version = PNG_IMAGE_VERSION;
    }
    ~decoder()
    {
        png_image_free(&image);
    }
    decoder(const decoder &) = delete;
    decoder &operator=(const decoder &) = delete;
};

namespace
{

std::string system_text(int code)
{
    return std::generic_category().message(code);
}

/* A disk that does not answer may answer later; data that is wrong stays wrong. */
[[noreturn]] void fail_to_decode(FILE *file, const png_image &image)
{
    if (std::ferror(file) != 0)
        throw pgf::failure("it cannot be read from the disk");
    throw pgf::permanent_failure(std::string("it cannot be decoded: ") + image.message);
}

} // namespace

png_file::png_file(const std::string &path)
    : file_(std::fopen(path.c_str(), "rbe")), decoder_(std::make_unique<decoder>()), facts_{}
{
    if (!file_)
        throw pgf::permanent_failure("it cannot be opened: " + system_text(errno));
    struct stat status = {};
    if (fstat(fileno(file_.get()), &status) != 0)
        throw pgf::failure("it cannot be examined: " + system_text(errno));
    png_image &image = decoder_->image;
    if (png_image_begin_read_from_stdio(&image, file_.get()) == 0)
        fail_to_decode(file_.get(), image);
    if (uint64_t{image.width} * image.height > most_pixels)
        throw pgf::permanent_failure("it has " + std::to_string(image.width) + " x " +
                                     std::to_string(image.height) +
                                     " pixels, more than the 40 million that are decoded");
    facts_ = {{image.width, image.height}, status.st_size, status.st_mtim};
}

png_file::~png_file() = default;

picture png_file::decode()
{
    png_image &image = decoder_->image;
    image.format = PNG_FORMAT_RGBA;
    picture whole{facts_.size, std::vector<uint8_t>(PNG_IMAGE_SIZE(image))};
    if (png_image_finish_read(&image, nullptr, whole.rgba.data(), 0, nullptr) == 0)
        fail_to_decode(file_.get(), image);
    return whole;
}

std::optional<png_facts> png_facts_if_any(const std::string &path)
{
    try {
        return png_file(path).facts();
    } catch (const pgf::failure &) {
        return std::nullopt;
    }
}

void write_png(const picture &picture, FILE *file)
{
    png_image image{};
    image.version = PNG_IMAGE_VERSION;
    image.width = picture.size.width;
    image.height = picture.size.height;
    image.format = PNG_FORMAT_RGBA;
    if (png_image_write_to_stdio(&image, file, 0, picture.rgba.data(), 0, nullptr) == 0)
        throw pgf::failure(std::string("the thumbnail cannot be written: ") + image.message);
}
