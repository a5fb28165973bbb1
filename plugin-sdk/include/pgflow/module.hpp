/* SPDX-License-Identifier: Apache-2.0
 *
 * The module ABI in C++17: exceptions become errors of the attempt, handlers are typed lambdas, and
 * the descriptor is built without positional initialisers, at compile time. A whole module:
 *
 *     #include <pgflow/module.hpp>
 *
 *     constexpr auto greet = [](pgf::call &call, pgf::flow_input<std::string_view> name) {
 *         return "{\"hello\": " + std::string(*name) + "}";
 *     };
 *     constexpr pgf_step steps[] = {pgf::step("greet", pgf::handler<greet>)};
 *     PGF_EXPORT constexpr pgf_module pgflow_module_v1 =
 *         pgf::module("hello", steps).version("1.0.0");
 *
 * Header only, the standard library and <pgflow/module.h>; nothing of it crosses the ABI. */
#ifndef PGFLOW_MODULE_HPP
#define PGFLOW_MODULE_HPP

#include <pgflow/failure.hpp>
#include <pgflow/module.h>

#include <charconv>
#include <exception>
#include <new>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>

namespace pgf
{

inline std::string_view view(pgf_str text) noexcept
{
    return text.len == 0 ? std::string_view() : std::string_view(text.ptr, text.len);
}

/* ---- One attempt of one task ---- */

/* Views live as long as the handler runs. */
class call
{
  public:
    explicit call(const pgf_call *raw) noexcept : raw_(raw)
    {
    }
    call(const call &) = delete;
    call &operator=(const call &) = delete;

    const pgf_call *raw() const noexcept
    {
        return raw_;
    }
    std::string_view flow_slug() const noexcept
    {
        return view(raw_->flow_slug);
    }
    std::string_view step_slug() const noexcept
    {
        return view(raw_->step_slug);
    }
    std::string_view run_id() const noexcept
    {
        return view(raw_->run_id);
    }
    int32_t task_index() const noexcept
    {
        return raw_->task_index;
    }
    uint32_t attempt() const noexcept
    {
        return raw_->attempt;
    }
    int32_t max_attempts() const noexcept
    {
        return raw_->max_attempts;
    }
    /* JSON text: see pgf_call. */
    std::string_view input() const noexcept
    {
        return view(raw_->input);
    }
    std::string_view flow_input() const noexcept
    {
        return view(raw_->flow_input);
    }
    /* Appends to the result. Throws when it is larger than the host takes. */
    void write(std::string_view json)
    {
        if (raw_->write(raw_, json.data(), json.size()) != 0)
            throw permanent_failure("the result is larger than the host takes");
    }
    void log(int32_t level, std::string_view text) const
    {
        raw_->host->log(raw_->host, level, text.data(), text.size());
    }
    bool is_cancelled() const noexcept
    {
        return raw_->is_cancelled(raw_) != 0;
    }
    /* Ask often in long work: one atomic load. */
    void stop_if_cancelled() const
    {
        if (is_cancelled())
            throw cancelled();
    }

  private:
    const pgf_call *raw_;
};

/* ---- From JSON text to values and back ---- */

/* Specialise it for your types, with the JSON library of your choice:
 *     template <> struct pgf::json<order> {
 *         static order read(std::string_view text);          // throws what is wrong
 *         static std::string write(const order &value); };   */
template <class T, class = void> struct json;

/* Text types are the JSON itself, unread. */
template <> struct json<std::string_view> {
    static std::string_view read(std::string_view text)
    {
        return text;
    }
    static std::string_view write(std::string_view text)
    {
        return text;
    }
};

template <> struct json<std::string> {
    static std::string read(std::string_view text)
    {
        return std::string(text);
    }
    static const std::string &write(const std::string &text)
    {
        return text;
    }
};

template <> struct json<const char *> {
    static std::string_view write(const char *text)
    {
        return text;
    }
};

template <> struct json<bool> {
    static bool read(std::string_view text)
    {
        if (text == "true" || text == "false")
            return text == "true";
        throw permanent_failure("the input must be true or false");
    }
    static std::string_view write(bool value)
    {
        return value ? "true" : "false";
    }
};

template <class T>
struct json<T, std::enable_if_t<std::is_integral_v<T> && !std::is_same_v<T, bool>>> {
    static T read(std::string_view text)
    {
        T value{};
        auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
        if (problem != std::errc() || end != text.data() + text.size())
            throw permanent_failure("the input must be a whole number in range");
        return value;
    }
    static std::string write(T value)
    {
        return std::to_string(value);
    }
};

/* ---- What a handler may ask for, in any order ---- */

/* The input of the task, read as T. */
template <class T> struct input {
    T value;
    T &operator*() noexcept
    {
        return value;
    }
    T *operator->() noexcept
    {
        return &value;
    }
};

/* The run's input, read as T: in single steps without dependencies, and with
 * wants_flow_input(). */
template <class T> struct flow_input {
    T value;
    T &operator*() noexcept
    {
        return value;
    }
    T *operator->() noexcept
    {
        return &value;
    }
};

namespace detail
{

/* By the type of a handler's parameter. */
template <class P> struct argument;

template <> struct argument<call &> {
    static call &get(void *, call &call)
    {
        return call;
    }
};

template <> struct argument<const call &> {
    static const call &get(void *, call &call)
    {
        return call;
    }
};

template <class T> struct argument<input<T>> {
    static input<T> get(void *, call &call)
    {
        return {json<T>::read(call.input())};
    }
};

template <class T> struct argument<flow_input<T>> {
    static flow_input<T> get(void *, call &call)
    {
        if (call.flow_input().empty())
            throw permanent_failure("the step has no flow_input: add .wants_flow_input() to it");
        return {json<T>::read(call.flow_input())};
    }
};

/* The states that handlers of this module take: each type is listed when the module is loaded, so
 * that init can refuse to start with another one. One list a module: its names are hidden. */
struct state_type {
    const state_type *next;
    inline static const state_type *first = nullptr;
};
template <class T> struct state_of {
    static const state_type *list() noexcept
    {
        self.next = state_type::first;
        return state_type::first = &self;
    }
    inline static state_type self = {};
    inline static const state_type *const listed = list();
};

/* Any other reference is the state of module::state<T>(). */
template <class T> struct argument<T &> {
    static T &get(void *state, call &)
    {
        if (state_of<T>::listed == nullptr || state == nullptr)
            throw permanent_failure("the module has no state: add .state<T>() to it");
        return *static_cast<T *>(state);
    }
};

template <class F> struct signature : signature<decltype(&F::operator())> {
};
template <class C, class R, class... A> struct signature<R (C::*)(A...) const> {
    using result = R;
    using arguments = std::tuple<A...>;
};
template <class C, class R, class... A>
struct signature<R (C::*)(A...) const noexcept> : signature<R (C::*)(A...) const> {
};
template <class R, class... A> struct signature<R (*)(A...)> {
    using result = R;
    using arguments = std::tuple<A...>;
};
template <class R, class... A> struct signature<R (*)(A...) noexcept> : signature<R (*)(A...)> {
};

inline void say(const pgf_call *call, std::string_view why) noexcept
{
    call->set_error(call, why.data(), why.size());
}

inline int32_t refuse(const pgf_host *host, std::string_view why) noexcept
{
    host->log(host, PGF_LOG_ERROR, why.data(), why.size());
    return 1;
}

template <const auto &F, class... A> int32_t invoke(void *state, call &call, std::tuple<A...> *)
{
    using result = typename signature<std::decay_t<decltype(F)>>::result;
    if constexpr (std::is_void_v<result>) {
        F(argument<A>::get(state, call)...);
    } else {
        result value = F(argument<A>::get(state, call)...);
        call.write(json<std::decay_t<result>>::write(value));
    }
    return PGF_OK;
}

} // namespace detail

/* ---- Guards ---- */

/* Runs body(), which returns what a handler returns; an exception becomes the error of the attempt
 * and its result. For handlers of your own making. */
template <class Body> int32_t guard(const pgf_call *call, Body &&body) noexcept
{
    try {
        return std::forward<Body>(body)();
    } catch (const failure &problem) {
        detail::say(call, problem.what());
        if (problem.retry_after())
            call->retry_after(call, *problem.retry_after());
        return problem.result();
    } catch (const std::bad_alloc &) {
        detail::say(call, "out of memory");
    } catch (const std::exception &problem) {
        detail::say(call, problem.what());
    } catch (...) {
        detail::say(call, "the handler threw something that is no std::exception");
    }
    return PGF_ERROR;
}

/* A pgf_handler made of a constexpr lambda, or of a function, at namespace scope. Its parameters,
 * in any order: pgf::call &, pgf::input<T>, pgf::flow_input<T>, and T & of module::state<T>(). It
 * returns the result by way of pgf::json, or void after call.write(). */
template <const auto &F> int32_t handler(void *state, const pgf_call *raw) noexcept
{
    return guard(raw, [&] {
        call call(raw);
        using arguments = typename detail::signature<std::decay_t<decltype(F)>>::arguments;
        return detail::invoke<F>(state, call, static_cast<arguments *>(nullptr));
    });
}

/* pgf_module.init and fini that keep a T, made from (const pgf_host &) or from nothing. What its
 * constructor throws is logged as the reason why the module cannot start. */
template <class T> int32_t init(const pgf_host *host, void **state) noexcept
{
    for (auto *type = detail::state_type::first; type != nullptr; type = type->next)
        if (type != &detail::state_of<std::remove_const_t<T>>::self &&
            type != &detail::state_of<const T>::self)
            return detail::refuse(host,
                                  "a handler takes another state than module::state<T>() has");
    const char *why = "the module's state threw something that is no std::exception";
    std::string text;
    try {
        if constexpr (std::is_constructible_v<T, const pgf_host &>)
            *state = new T(*host);
        else
            *state = new T();
        return 0;
    } catch (const std::exception &problem) {
        text = problem.what();
        why = text.c_str();
    } catch (...) {
    }
    host->log(host, PGF_LOG_ERROR, why, std::string_view(why).size());
    return 1;
}

/* The init of a module without .state<T>(). */
inline int32_t init_without_state(const pgf_host *host, void **) noexcept
{
    return detail::state_type::first == nullptr
               ? 0
               : detail::refuse(host, "a handler takes a state: add .state<T>() to the module");
}

template <class T> void fini(void *state) noexcept
{
    delete static_cast<T *>(state);
}

/* ---- The descriptor: constexpr, so that reading it runs no code of the module ---- */

/* An array of them is initialised with steps: constexpr pgf_step steps[] = {pgf::step(...), ...};
 * texts and arrays given here must be static. */
class step : public pgf_step
{
  public:
    constexpr step(const char *name, pgf_handler handler) noexcept : pgf_step{}
    {
        pgf_step::struct_size = sizeof(pgf_step);
        pgf_step::slug = name;
        pgf_step::run = handler;
    }
    /* One task for each element of the array that the one dependency gives, or the run's input. */
    constexpr step map() const noexcept
    {
        step s = *this;
        s.kind = PGF_STEP_MAP;
        return s;
    }
    /* static constexpr const char *const deps[] = {"a", "b", nullptr}; slugs of earlier steps. A
     * list without nullptr at its end does not compile, nor does one written into the call. */
    template <size_t N> constexpr step after(const char *const (&slugs)[N]) const
    {
        step s = *this;
        s.deps = slugs[N - 1] == nullptr ? slugs : throw "the list of slugs must end with nullptr";
        return s;
    }
    template <size_t N> constexpr step after(const char *const (&&slugs)[N]) const = delete;
    /* One that was made in another way, and ends with nullptr. */
    template <class P, std::enable_if_t<std::is_pointer_v<P>, int> = 0>
    constexpr step after(const P &slugs) const noexcept
    {
        step s = *this;
        s.deps = slugs;
        return s;
    }
    constexpr step wants_flow_input() const noexcept
    {
        step s = *this;
        s.flags |= PGF_WANTS_FLOW_INPUT;
        return s;
    }
    constexpr step on_queue(const char *name) const noexcept
    {
        step s = *this;
        s.queue = name;
        return s;
    }
    constexpr step with_options(const pgf_options &all) const noexcept
    {
        step s = *this;
        s.pgf_step::options = &all;
        return s;
    }
    /* JSON objects. */
    constexpr step if_input(const char *pattern) const noexcept
    {
        step s = *this;
        s.required_input = pattern;
        return s;
    }
    constexpr step unless_input(const char *pattern) const noexcept
    {
        step s = *this;
        s.forbidden_input = pattern;
        return s;
    }
    /* "fail", "skip", "skip-cascade" */
    constexpr step when_unmet(const char *word) const noexcept
    {
        step s = *this;
        s.pgf_step::when_unmet = word;
        return s;
    }
    constexpr step when_exhausted(const char *word) const noexcept
    {
        step s = *this;
        s.pgf_step::when_exhausted = word;
        return s;
    }
    constexpr step contract(const char *name) const noexcept
    {
        step s = *this;
        s.pgf_step::contract = name;
        return s;
    }
};

/* Static too: static constexpr pgf_options twice = pgf::options().max_attempts(2); */
class options : public pgf_options
{
  public:
    constexpr options() noexcept : pgf_options{}
    {
        struct_size = sizeof(pgf_options);
    }
    constexpr options max_attempts(int32_t n) const noexcept
    {
        return with(&pgf_options::max_attempts, n);
    }
    constexpr options base_delay_s(int32_t seconds) const noexcept
    {
        return with(&pgf_options::base_delay_s, seconds);
    }
    constexpr options timeout_s(int32_t seconds) const noexcept
    {
        return with(&pgf_options::timeout_s, seconds);
    }
    constexpr options start_delay_s(int32_t seconds) const noexcept
    {
        return with(&pgf_options::start_delay_s, seconds);
    }

  private:
    constexpr options with(pgf_int pgf_options::*field, int32_t value) const noexcept
    {
        options changed = *this;
        changed.*field = pgf_int{1, value};
        return changed;
    }
};

class module : public pgf_module
{
  public:
    template <size_t N>
    constexpr module(const char *slug, const pgf_step (&list)[N]) noexcept : pgf_module{}
    {
        magic = PGF_MAGIC;
        abi_major = PGF_ABI_MAJOR;
        abi_minor = PGF_ABI_MINOR;
        struct_size = sizeof(pgf_module);
        flow_slug = slug;
        steps = list;
        n_steps = static_cast<uint32_t>(N);
        step_size = sizeof(pgf_step);
        init = init_without_state;
    }
    constexpr module alias(const char *name) const noexcept
    {
        module m = *this;
        m.pgf_module::alias = name;
        return m;
    }
    constexpr module version(const char *text) const noexcept
    {
        module m = *this;
        m.pgf_module::version = text;
        return m;
    }
    constexpr module queue_mode(uint32_t mode) const noexcept
    {
        module m = *this;
        m.pgf_module::queue_mode = mode;
        return m;
    }
    constexpr module with_options(const pgf_options &all) const noexcept
    {
        module m = *this;
        m.pgf_module::options = &all;
        return m;
    }
    constexpr module needs_minor(uint32_t minor) const noexcept
    {
        module m = *this;
        m.pgf_module::needs_minor = minor;
        return m;
    }
    /* PGF_MAY_GROW, and with it needs_minor 1. */
    constexpr module may_grow() const noexcept
    {
        module m = *this;
        m.pgf_module::flags |= PGF_MAY_GROW;
        m.pgf_module::needs_minor = m.pgf_module::needs_minor < 1 ? 1 : m.pgf_module::needs_minor;
        return m;
    }
    /* pgf::init<T> and pgf::fini<T>: a T lives as long as the process. */
    template <class T> constexpr module state() const noexcept
    {
        module m = *this;
        m.pgf_module::init = pgf::init<T>;
        m.pgf_module::fini = pgf::fini<T>;
        return m;
    }
};

} // namespace pgf

#endif
