/* SPDX-License-Identifier: Apache-2.0 */
#include "request.hpp"

namespace
{

constexpr int64_t default_size = 256;
constexpr int64_t largest_size = 4096;

/* The host's own folder is none of the caller's business, so paths start at the root. */
std::string absolute_path(const tree &run, const char *member)
{
    std::string path = pgf_json_text(run.get(), member, "");
    if (path.empty() || path[0] != '/')
        throw pgf::permanent_failure(std::string("the run's input needs \"") + member +
                                     "\", the absolute path of a folder");
    return path;
}

} // namespace

tree pgf::json<tree>::read(std::string_view text)
{
    pgf_json_problem problem{};
    tree value(pgf_json_parse(text.data(), text.size(), &problem));
    if (!value)
        throw pgf::permanent_failure(problem.what);
    return value;
}

std::string pgf::json<tree>::write(const tree &value)
{
    struct text_deleter {
        void operator()(char *text) const
        {
            cJSON_free(text);
        }
    };
    return std::unique_ptr<char, text_deleter>(cJSON_PrintUnformatted(value.get())).get();
}

request pgf::json<request>::read(std::string_view text)
{
    const tree run = pgf::json<tree>::read(text);
    const cJSON *member = pgf_json_member(run.get(), "size");
    int64_t size = default_size;
    if (member != nullptr &&
        (pgf_json_int64(member, &size) == 0 || size < 1 || size > largest_size))
        throw pgf::permanent_failure("\"size\" must be a whole number from 1 to 4096");
    return {absolute_path(run, "folder"), absolute_path(run, "output"),
            static_cast<uint32_t>(size)};
}
