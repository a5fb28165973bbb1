/* SPDX-License-Identifier: Apache-2.0
 * Finds the images. What is wrong with the folders and the names is said here, once for the run. */
#include "steps.hpp"

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <vector>

namespace fs = std::filesystem;

namespace
{

bool is_png(const fs::directory_entry &entry)
{
    std::error_code ignored;
    const std::string name = entry.path().filename();
    std::string extension = entry.path().extension();
    for (char &c : extension)
        c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    return name[0] != '.' && extension == ".png" && entry.is_regular_file(ignored);
}

/* Results are JSON, and the index is a page: both are UTF-8. */
bool is_printable(const std::string &name)
{
    for (const char c : name)
        if (static_cast<unsigned char>(c) < ' ' || c == '\x7f')
            return false;
    const std::string text = pgf::json<tree>::write(tree(cJSON_CreateString(name.c_str())));
    return tree(pgf_json_parse(text.data(), text.size(), nullptr)) != nullptr;
}

/* For people: what cannot be shown is a question mark. */
std::string shown(std::string name)
{
    for (char &c : name)
        if (static_cast<unsigned char>(c) < ' ' || static_cast<unsigned char>(c) >= 0x7f)
            c = '?';
    return name;
}

std::vector<std::string> png_names(const std::string &folder)
{
    std::vector<std::string> names;
    std::error_code problem;
    for (fs::directory_iterator entry(folder, problem), end; !problem && entry != end;
         entry.increment(problem))
        if (is_png(*entry))
            names.push_back(entry->path().filename());
    if (problem)
        throw pgf::permanent_failure("cannot read the folder '" + folder +
                                     "': " + problem.message());
    std::sort(names.begin(), names.end());
    return names;
}

void prepare_output(const request &run)
{
    std::error_code problem;
    fs::create_directory(run.output, problem);
    if (problem || !fs::is_directory(run.output, problem))
        throw pgf::permanent_failure("cannot make the folder '" + run.output +
                                     "': " + (problem ? problem.message() : "it is no folder"));
    if (fs::equivalent(run.folder, run.output, problem))
        throw pgf::permanent_failure("\"output\" is \"folder\": thumbnails would replace images");
}

} // namespace

tree find_images(pgf::flow_input<request> run)
{
    const std::vector<std::string> names = png_names(run->folder);
    tree list(cJSON_CreateArray());
    for (const std::string &name : names) {
        if (!is_printable(name))
            throw pgf::permanent_failure("rename the file '" + shown(name) +
                                         "': its name is no UTF-8, or has control characters");
        cJSON_AddItemToArray(list.get(), cJSON_CreateString(name.c_str()));
    }
    prepare_output(*run);
    return list;
}
