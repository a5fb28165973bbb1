/* SPDX-License-Identifier: Apache-2.0 */
#include "scaler.hpp"

#include <algorithm>

namespace
{

/* A side divided into boxes: source pixel i covers [i * to, (i + 1) * to), box j covers
 * [j * from, (j + 1) * from). So all borders are whole numbers. */
struct side {
    uint64_t from;
    uint64_t to;

    uint64_t first(uint64_t box) const
    {
        return box * from / to;
    }
    uint64_t behind_last(uint64_t box) const
    {
        return ((box + 1) * from + to - 1) / to;
    }
    /* How much of the source pixel lies in the box. */
    uint64_t weight(uint64_t pixel, uint64_t box) const
    {
        return std::min((pixel + 1) * to, (box + 1) * from) - std::max(pixel * to, box * from);
    }
};

/* 0 of nothing. */
uint8_t rounded_mean(uint64_t sum, uint64_t weight)
{
    return static_cast<uint8_t>(weight == 0 ? 0 : (sum + weight / 2) / weight);
}

/* Sums over the area of a box. All weights together are at most most_pixels: 42 bits for a colour
 * that is weighted by its alpha too. */
struct sums {
    uint64_t colour[3] = {};
    uint64_t alpha = 0;
    uint64_t area = 0;

    void add(const uint8_t *pixel, uint64_t weight)
    {
        const uint64_t opaque = weight * pixel[3];
        for (size_t i = 0; i < 3; i++)
            colour[i] += opaque * pixel[i];
        alpha += opaque;
        area += weight;
    }
    void mean(uint8_t *pixel) const
    {
        for (size_t i = 0; i < 3; i++)
            pixel[i] = rounded_mean(colour[i], alpha);
        pixel[3] = rounded_mean(alpha, area);
    }
};

uint32_t rounded(uint64_t side, uint64_t other, uint64_t bound)
{
    return static_cast<uint32_t>(std::max<uint64_t>(1, (side * bound + other / 2) / other));
}

} // namespace

extent fit(extent from, uint32_t bound)
{
    if (from.width <= bound && from.height <= bound)
        return from;
    if (from.width >= from.height)
        return {bound, rounded(from.height, from.width, bound)};
    return {rounded(from.width, from.height, bound), bound};
}

picture shrink(const picture &from, extent to, const std::function<void()> &before_row)
{
    const side across{from.size.width, to.width};
    const side down{from.size.height, to.height};
    picture small{to, std::vector<uint8_t>(pixel_bytes * to.width * to.height)};
    uint8_t *out = small.rgba.data();
    for (uint64_t y = 0; y < to.height; y++) {
        before_row();
        for (uint64_t x = 0; x < to.width; x++, out += pixel_bytes) {
            sums box;
            for (uint64_t row = down.first(y); row < down.behind_last(y); row++) {
                const uint64_t high = down.weight(row, y);
                for (uint64_t i = across.first(x); i < across.behind_last(x); i++)
                    box.add(&from.rgba[(row * across.from + i) * pixel_bytes],
                            high * across.weight(i, x));
            }
            box.mean(out);
        }
    }
    return small;
}
