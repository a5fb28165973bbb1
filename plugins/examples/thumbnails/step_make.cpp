/* SPDX-License-Identifier: Apache-2.0
 * Makes one thumbnail. It gets the time of its image, so an attempt that comes after one whose
 * result was lost, or a later run, finds it and has nothing to do. */
#include "new_file.hpp"
#include "png_file.hpp"
#include "steps.hpp"

namespace
{

std::string file_name(const tree &input)
{
    const char *name = cJSON_GetStringValue(input.get());
    std::string text = name != nullptr ? name : "";
    /* Nothing but a name: no result of another step leads out of the folder. */
    if (text.empty() || text[0] == '.' || text.find('/') != std::string::npos)
        throw pgf::permanent_failure("the input must be the name of a file");
    return text;
}

bool is_of(const png_facts &thumbnail, const png_facts &image, extent size)
{
    return thumbnail.size == size && thumbnail.modified.tv_sec == image.modified.tv_sec &&
           thumbnail.modified.tv_nsec == image.modified.tv_nsec;
}

void add_facts(cJSON *object, extent size, int64_t bytes)
{
    cJSON_AddItemToObject(object, "width", pgf_json_from_int64(size.width));
    cJSON_AddItemToObject(object, "height", pgf_json_from_int64(size.height));
    cJSON_AddItemToObject(object, "bytes", pgf_json_from_int64(bytes));
}

/* Gives its size in bytes. */
int64_t make(const pgf::call &call, png_file &image, extent size, const request &run,
             const std::string &path)
{
    const picture whole = image.decode();
    const picture small = shrink(whole, size, [&call] { call.stop_if_cancelled(); });
    new_file file(call, run.output);
    write_png(small, file.stream());
    return file.keep_as(path, &image.facts().modified);
}

tree thumbnail_of(const pgf::call &call, const std::string &name, const request &run)
{
    png_file image(run.folder + "/" + name);
    const std::string path = run.output + "/" + name;
    const extent size = fit(image.facts().size, run.size);
    const auto there = png_facts_if_any(path);
    const bool keep = there && is_of(*there, image.facts(), size);
    const int64_t bytes = keep ? there->bytes : make(call, image, size, run, path);

    tree result(cJSON_CreateObject());
    cJSON_AddStringToObject(result.get(), "file", name.c_str());
    add_facts(result.get(), image.facts().size, image.facts().bytes);
    cJSON_AddBoolToObject(result.get(), "kept", keep);
    add_facts(cJSON_AddObjectToObject(result.get(), "thumbnail"), size, bytes);
    return result;
}

} // namespace

/* The wrapper gives inputs by value. */
/* cppcheck-suppress passedByValue */
tree make_thumbnail(const pgf::call &call, pgf::input<tree> name, pgf::flow_input<request> run)
{
    const std::string file = file_name(*name);
    call.stop_if_cancelled();
    try {
        return thumbnail_of(call, file, *run);
    } catch (const pgf::cancelled &) {
        throw;
    } catch (const pgf::failure &problem) {
        throw pgf::failure("'" + file + "': " + problem.what(), problem.result());
    }
}
