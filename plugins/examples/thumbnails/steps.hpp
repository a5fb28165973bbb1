/* SPDX-License-Identifier: Apache-2.0
 * The handlers of thumbnails; module.cpp puts them together. */
#ifndef THUMBNAILS_STEPS_HPP
#define THUMBNAILS_STEPS_HPP

#include "request.hpp"

/* The names of the PNG files in the folder, sorted by bytes; makes the output folder. */
tree find_images(pgf::flow_input<request> run);

/* One name -> {"file", "width", "height", "bytes", "kept",
 *              "thumbnail": {"width", "height", "bytes"}}; kept: it was there already */
tree make_thumbnail(const pgf::call &call, pgf::input<tree> name, pgf::flow_input<request> run);

/* {"make_thumbnail": [...]} -> {"index", "images", "made", "bytes_in", "bytes_out"} */
tree write_index(const pgf::call &call, pgf::input<tree> input, pgf::flow_input<request> run);

#endif
