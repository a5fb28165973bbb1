/* SPDX-License-Identifier: Apache-2.0
 * What a run is started with, and the JSON trees of the steps' results.
 *   {"folder": "/photos", "output": "/photos/small", "size": 256}       size: optional */
#ifndef THUMBNAILS_REQUEST_HPP
#define THUMBNAILS_REQUEST_HPP

#include <memory>
#include <pgflow/json.h>
#include <pgflow/module.hpp>
#include <string>

struct tree_deleter {
    void operator()(cJSON *item) const
    {
        cJSON_Delete(item);
    }
};
using tree = std::unique_ptr<cJSON, tree_deleter>;

struct request {
    std::string folder; /* absolute, as given */
    std::string output;
    uint32_t size; /* the side of the square that thumbnails fit, 1..4096 */
};

template <> struct pgf::json<tree> {
    static tree read(std::string_view text);
    static std::string write(const tree &value);
};

template <> struct pgf::json<request> {
    static request read(std::string_view text);
};

#endif
