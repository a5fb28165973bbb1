/* my_flow: counts up to the number that a run is started with, squares each number in a task of
 * its own, and adds the squares up.
 *
 *     count_up ──▶ square (map) ──▶ add_up
 */
#include <pgflow/json.h>
#include <pgflow/module.hpp>

#include <memory>
#include <vector>

using numbers = std::vector<int64_t>;

struct squares {
    numbers square;
};

namespace
{

constexpr int64_t most = 1000;

struct tree_deleter {
    void operator()(cJSON *item) const
    {
        cJSON_Delete(item);
    }
};
using tree = std::unique_ptr<cJSON, tree_deleter>;

} // namespace

/* How the types of this flow are written as JSON, and read from it. */
template <> struct pgf::json<numbers> {
    static std::string write(const numbers &list)
    {
        std::string text = "[";
        for (auto n : list)
            text += (text.size() > 1 ? "," : "") + std::to_string(n);
        return text + "]";
    }
};

template <> struct pgf::json<squares> {
    static squares read(std::string_view text)
    {
        pgf_json_problem problem{};
        tree input(pgf_json_parse(text.data(), text.size(), &problem));
        if (!input)
            throw pgf::permanent_failure(problem.what);
        squares result;
        const cJSON *item = nullptr;
        cJSON_ArrayForEach(item, pgf_json_member(input.get(), "square"))
        {
            int64_t n = 0;
            if (pgf_json_int64(item, &n) == 0)
                throw pgf::permanent_failure("not what square gave");
            result.square.push_back(n);
        }
        return result;
    }
};

namespace
{

/* The run's input: a number. Gives [1, 2, ..., n]. */
constexpr auto count_up = [](pgf::flow_input<int64_t> n) {
    if (*n < 1 || *n > most)
        throw pgf::permanent_failure("start the run with a whole number from 1 to 1000");
    numbers result;
    for (int64_t i = 1; i <= *n; i++)
        result.push_back(i);
    return result;
};

/* One element of what count_up gave. */
constexpr auto square = [](pgf::input<int64_t> n) {
    if (*n > most || *n < -most)
        throw pgf::permanent_failure("not a number of count_up");
    return *n * *n;
};

/* {"square": [1, 4, ...]} */
constexpr auto add_up = [](pgf::call &call, pgf::input<squares> input) {
    int64_t sum = 0;
    for (auto n : input->square)
        sum += n;
    call.log(PGF_LOG_INFO, "the sum is " + std::to_string(sum));
    return sum;
};

constexpr const char *const after_count_up[] = {"count_up", nullptr};
constexpr const char *const after_square[] = {"square", nullptr};

/* A contract says what goes in and out. Another meaning is another text, and another slug. */
constexpr pgf_step steps[] = {
    pgf::step("count_up", pgf::handler<count_up>).contract("n -> [1..n]"),
    pgf::step("square", pgf::handler<square>).map().after(after_count_up).contract("n -> n * n"),
    pgf::step("add_up", pgf::handler<add_up>).after(after_square).contract("[n] -> sum"),
};

} // namespace

PGF_EXPORT constexpr pgf_module pgflow_module_v1 =
    pgf::module("my_flow_v1", steps).alias("my_flow").version("1.0.0");
