/* SPDX-License-Identifier: Apache-2.0
 * A flow written with the C++ wrapper, for the tests of it: each step shows one thing. */
#include <pgflow/module.hpp>

#include <cstdlib>
#include <vector>

namespace
{

/* Counts the calls of one process; refuses to start while the variable MOODY is set. */
struct counter {
    int calls = 0;
    explicit counter(const pgf_host &host)
    {
        if (host.abi_minor > 1000)
            throw std::runtime_error("the host is from the future");
        if (std::getenv("MOODY") != nullptr)
            throw std::runtime_error("not in the mood");
    }
};

struct order {
    int cents;
};

} // namespace

/* {"cents": N} and nothing else. */
template <> struct pgf::json<order> {
    static order read(std::string_view text)
    {
        auto colon = text.find(':');
        if (colon == std::string_view::npos)
            throw pgf::permanent_failure("not an order");
        return {std::atoi(text.data() + colon + 1)};
    }
    static std::string write(const order &value)
    {
        return "{\"cents\": " + std::to_string(value.cents) + "}";
    }
};

namespace
{

constexpr auto greet = [](pgf::call &, pgf::flow_input<std::string_view> name) {
    return "{\"hello\": " + std::string(*name) + "}";
};

constexpr auto count = [](counter &state) noexcept { return ++state.calls; };

int64_t negate(pgf::input<int64_t> number) noexcept
{
    return -*number;
}

constexpr auto bill = [](pgf::flow_input<order> order) {
    order->cents += order->cents / 5;
    return *order;
};

constexpr auto halve = [](pgf::input<int64_t> number, const pgf::call &call) {
    if (*number % 2 != 0)
        throw pgf::failure("attempt " + std::to_string(call.attempt()) + ": odd").retry_after(7);
    return *number / 2;
};

constexpr auto write_twice = [](pgf::call &call) {
    call.log(PGF_LOG_WARN, "writing");
    call.write("[1,");
    call.write("2]");
};

constexpr auto is_array = [](pgf::input<std::string> input) { return (*input)[0] == '['; };

constexpr auto refuse = [](pgf::call &call) {
    throw pgf::permanent_failure(std::string(call.step_slug()));
};

constexpr auto throw_standard = [] { std::vector<int>().at(3); };

constexpr auto throw_memory = [] { throw std::bad_alloc(); };

constexpr auto throw_number = [] { throw 42; };

constexpr auto wait = [](pgf::call &call) {
    for (;;)
        call.stop_if_cancelled();
};

int32_t guarded(void *, const pgf_call *raw)
{
    return pgf::guard(raw, [&]() -> int32_t {
        pgf::call(raw).write(raw->task_index == 0 ? "0" : "1");
        throw std::logic_error("guarded by hand");
    });
}

constexpr const char *const after_greet[] = {"greet", nullptr};
constexpr pgf_options patient =
    pgf::options().max_attempts(7).base_delay_s(2).timeout_s(1).start_delay_s(3);
constexpr pgf_options flow_options = pgf::options().max_attempts(2);

constexpr pgf_step steps[] = {
    pgf::step("greet", pgf::handler<greet>).contract("greeting/1"),
    pgf::step("count", pgf::handler<count>),
    pgf::step("bill", pgf::handler<bill>).if_input("{\"cents\": 100}").when_unmet("skip-cascade"),
    pgf::step("halve", pgf::handler<halve>).map().unless_input("{}").when_exhausted("skip"),
    pgf::step("write_twice", pgf::handler<write_twice>).after(after_greet).wants_flow_input(),
    pgf::step("is_array", pgf::handler<is_array>).map(),
    pgf::step("refuse", pgf::handler<refuse>),
    pgf::step("throw_standard", pgf::handler<throw_standard>),
    pgf::step("throw_memory", pgf::handler<throw_memory>),
    pgf::step("throw_number", pgf::handler<throw_number>),
    pgf::step("wait", pgf::handler<wait>).with_options(patient),
    pgf::step("guarded", guarded),
    pgf::step("negate", pgf::handler<negate>).map(),
    pgf::step("late", pgf::handler<bill>).after(after_greet),
};

} // namespace

PGF_EXPORT constexpr pgf_module pgflow_module_v1 = pgf::module("wrapped", steps)
                                                       .alias("wraps")
                                                       .version("1.2.3")
                                                       .with_options(flow_options)
                                                       .state<counter>();
