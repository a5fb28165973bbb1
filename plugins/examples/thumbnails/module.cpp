/* SPDX-License-Identifier: Apache-2.0
 * The deployment descriptor of thumbnails. A broken image ends its run, as a step's failure does
 * unless the step says otherwise; the thumbnails made so far stay, and the next run keeps them. */
#include "steps.hpp"

namespace
{

/* No tree may lose a branch unseen and become a result. */
struct setup {
    setup()
    {
        pgf_json_abort_without_memory();
    }
};

constexpr pgf_options flow_options = pgf::options().max_attempts(3).timeout_s(60);

constexpr const char *const after_find[] = {"find_images", nullptr};
constexpr const char *const after_make[] = {"make_thumbnail", nullptr};

constexpr pgf_step steps[] = {
    pgf::step("find_images", pgf::handler<find_images>).contract("thumbnails/name/1"),
    pgf::step("make_thumbnail", pgf::handler<make_thumbnail>)
        .map()
        .after(after_find)
        .wants_flow_input()
        .contract("thumbnails/thumbnail/1"),
    pgf::step("index", pgf::handler<write_index>)
        .after(after_make)
        .wants_flow_input()
        .contract("thumbnails/index/1"),
};

} // namespace

PGF_EXPORT constexpr pgf_module pgflow_module_v1 = pgf::module("thumbnails_v1", steps)
                                                       .alias("thumbnails")
                                                       .version("1.0.0")
                                                       .with_options(flow_options)
                                                       .state<setup>();
