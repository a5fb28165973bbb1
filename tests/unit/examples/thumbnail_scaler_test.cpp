/* The scaler of the example thumbnails: sizes, means, and that it can be stopped. */
#include "scaler.hpp"

#include <criterion/criterion.h>
#include <stdexcept>

static void ignore()
{
}

static void assert_fits(extent from, uint32_t bound, extent expected)
{
    extent found = fit(from, bound);
    cr_assert(found == expected, "%u x %u", found.width, found.height);
}

static void assert_pixels(const picture &found, const std::vector<uint8_t> &expected)
{
    cr_assert_eq(found.rgba.size(), expected.size());
    for (size_t i = 0; i < expected.size(); i++)
        cr_assert_eq(found.rgba[i], expected[i], "byte %zu: %d instead of %d", i, found.rgba[i],
                     expected[i]);
}

Test(scaler, keeps_the_aspect_ratio_and_never_enlarges)
{
    assert_fits({400, 200}, 100, {100, 50});
    assert_fits({200, 400}, 100, {50, 100});
    assert_fits({300, 200}, 100, {100, 67});
    assert_fits({101, 100}, 100, {100, 99});
    assert_fits({100, 100}, 100, {100, 100});
    assert_fits({3, 2}, 4096, {3, 2});
}

Test(scaler, leaves_at_least_one_pixel_of_a_line)
{
    assert_fits({1000000, 1}, 10, {10, 1});
    assert_fits({1, 40000000}, 4096, {1, 4096});
}

Test(scaler, gives_the_mean_of_whole_boxes)
{
    picture four{{4, 2}, {0,   0, 0, 255, 10, 20, 30, 255, 8, 8, 8, 255, 8, 8, 8, 255,
                          100, 0, 2, 255, 90, 0,  0,  255, 8, 8, 8, 255, 9, 8, 8, 255}};

    assert_pixels(shrink(four, {2, 1}, ignore), {50, 5, 8, 255, 8, 8, 8, 255});
}

Test(scaler, shares_a_pixel_between_the_boxes_that_it_lies_in)
{
    picture three{{3, 1}, {30, 0, 0, 255, 90, 0, 0, 255, 150, 0, 0, 255}};

    assert_pixels(shrink(three, {2, 1}, ignore), {50, 0, 0, 255, 130, 0, 0, 255});
}

Test(scaler, shares_rows_as_it_shares_columns)
{
    picture three{{1, 3}, {30, 0, 0, 255, 90, 0, 0, 255, 150, 0, 0, 255}};

    assert_pixels(shrink(three, {1, 2}, ignore), {50, 0, 0, 255, 130, 0, 0, 255});
}

Test(scaler, takes_no_colour_from_transparent_pixels)
{
    picture pair{{4, 1}, {200, 100, 50, 255, 255, 255, 255, 0, 9, 9, 9, 0, 7, 7, 7, 0}};

    assert_pixels(shrink(pair, {2, 1}, ignore), {200, 100, 50, 128, 0, 0, 0, 0});
}

Test(scaler, gives_an_equal_picture_of_the_same_size)
{
    picture same{{2, 2}, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 255}};

    assert_pixels(shrink(same, {2, 2}, ignore), same.rgba);
}

Test(scaler, bears_the_sums_of_the_largest_picture)
{
    picture white{{most_pixels / 4, 4}, std::vector<uint8_t>(most_pixels * pixel_bytes, 255)};

    assert_pixels(shrink(white, {1, 1}, ignore), {255, 255, 255, 255});
}

Test(scaler, asks_before_each_row_and_lets_out_what_is_thrown)
{
    picture rows{{1, 6}, std::vector<uint8_t>(6 * pixel_bytes)};
    int asked = 0;
    bool stopped = false;

    try {
        shrink(rows, {1, 3}, [&] {
            if (++asked == 2)
                throw std::runtime_error("enough");
        });
    } catch (const std::runtime_error &) {
        stopped = true;
    }

    cr_assert(stopped);
    cr_assert_eq(asked, 2);
}
