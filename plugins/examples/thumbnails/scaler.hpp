/* SPDX-License-Identifier: Apache-2.0
 * Pictures made smaller by a box filter: each pixel of the result is the exact mean of the area
 * that it covers, in whole numbers, so the same picture gives the same bytes everywhere. */
#ifndef THUMBNAILS_SCALER_HPP
#define THUMBNAILS_SCALER_HPP

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

struct extent {
    uint32_t width = 0; /* pixels */
    uint32_t height = 0;
};

inline bool operator==(extent a, extent b)
{
    return a.width == b.width && a.height == b.height;
}

/* Pixels of 4 bytes, red, green, blue and alpha (not premultiplied), row after row from the top. */
struct picture {
    extent size;
    std::vector<uint8_t> rgba;
};

constexpr size_t pixel_bytes = 4;

/* More pixels than this the weights of shrink() do not bear, nor the memory of a runner. */
constexpr uint64_t most_pixels = 40'000'000;

/* The largest size with the same aspect ratio, rounded, that fits a square of `bound` pixels. Never
 * larger than `from`, never without a pixel. */
extent fit(extent from, uint32_t bound);

/* `to` is neither wider nor higher than the picture, which has at most most_pixels. Transparent
 * pixels have no colour: they lend the others none. before_row() is called before each row of the
 * result; what it throws comes out here. */
picture shrink(const picture &from, extent to, const std::function<void()> &before_row);

#endif
