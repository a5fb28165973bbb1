/* SPDX-License-Identifier: Apache-2.0
 * Writes index.html, a page of the thumbnails with a link from each to its image. */
#include "new_file.hpp"
#include "steps.hpp"

namespace
{

struct totals {
    int64_t images = 0;
    int64_t made = 0;
    int64_t bytes_in = 0;
    int64_t bytes_out = 0;
};

int64_t number(const cJSON *object, const char *name)
{
    int64_t value = 0;
    if (pgf_json_int64(pgf_json_member(object, name), &value) == 0)
        throw pgf::permanent_failure("not what make_thumbnail gave");
    return value;
}

std::string escaped(std::string_view text)
{
    std::string html;
    for (const char c : text) {
        switch (c) {
        case '&':
            html += "&amp;";
            break;
        case '<':
            html += "&lt;";
            break;
        case '"':
            html += "&quot;";
            break;
        default:
            html += c;
        }
    }
    return html;
}

/* A path as a URL: all but what can mean nothing else is %XX. */
std::string as_url(std::string_view path)
{
    static const char digits[] = "0123456789ABCDEF";
    std::string url;
    for (const char c : path) {
        const auto byte = static_cast<unsigned char>(c);
        const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                           (c >= '0' && c <= '9') || c == '-' || c == '.' || c == '_' || c == '/';
        if (plain)
            url += c;
        else
            url += {'%', digits[byte >> 4], digits[byte & 15]};
    }
    return url;
}

std::string figure(const cJSON *image, const request &run)
{
    const std::string name = pgf_json_text(image, "file", "");
    const cJSON *small = pgf_json_member(image, "thumbnail");
    auto text = [](const cJSON *object, const char *member) {
        return std::to_string(number(object, member));
    };
    return "<figure><a href=\"file://" + as_url(run.folder + "/" + name) + "\"><img src=\"" +
           as_url(name) + "\" alt=\"\" width=\"" + text(small, "width") + "\" height=\"" +
           text(small, "height") + "\"></a><figcaption>" + escaped(name) + "<br>" +
           text(image, "width") + " x " + text(image, "height") + ", " + text(image, "bytes") +
           " bytes</figcaption></figure>\n";
}

std::string page(const cJSON *images, const request &run, totals &sum)
{
    std::string html = "<!DOCTYPE html>\n<html lang=\"en\"><meta charset=\"utf-8\"><title>" +
                       escaped(run.folder) +
                       "</title>\n<style>figure { display: inline-block; vertical-align: top; }"
                       "</style>\n";
    const cJSON *image = nullptr;
    cJSON_ArrayForEach(image, images)
    {
        html += figure(image, run);
        sum.images++;
        sum.made += cJSON_IsTrue(pgf_json_member(image, "kept")) ? 0 : 1;
        sum.bytes_in += number(image, "bytes");
        sum.bytes_out += number(pgf_json_member(image, "thumbnail"), "bytes");
    }
    return html + "</html>\n";
}

} // namespace

tree write_index(const pgf::call &call, pgf::input<tree> input, pgf::flow_input<request> run)
{
    const std::string path = run->output + "/index.html";
    totals sum;
    const std::string html = page(pgf_json_member(input->get(), "make_thumbnail"), *run, sum);
    new_file file(call, run->output);
    if (std::fwrite(html.data(), 1, html.size(), file.stream()) != html.size())
        throw pgf::failure("the index cannot be written");
    file.keep_as(path, nullptr);

    tree result(cJSON_CreateObject());
    cJSON_AddStringToObject(result.get(), "index", path.c_str());
    cJSON_AddItemToObject(result.get(), "images", pgf_json_from_int64(sum.images));
    cJSON_AddItemToObject(result.get(), "made", pgf_json_from_int64(sum.made));
    cJSON_AddItemToObject(result.get(), "bytes_in", pgf_json_from_int64(sum.bytes_in));
    cJSON_AddItemToObject(result.get(), "bytes_out", pgf_json_from_int64(sum.bytes_out));
    return result;
}
