/* SPDX-License-Identifier: Apache-2.0
 *
 * The exceptions of pgflow/module.hpp, which includes this. */
#ifndef PGFLOW_FAILURE_HPP
#define PGFLOW_FAILURE_HPP

#include <pgflow/module.h>

#include <optional>
#include <stdexcept>
#include <string>

namespace pgf
{

/* ---- Ways for an attempt to fail: throw them in a handler ---- */

/* The retry policy decides, as with any other std::exception. */
class failure : public std::runtime_error
{
  public:
    explicit failure(const std::string &why, int32_t result = PGF_ERROR)
        : std::runtime_error(why), result_(result)
    {
    }
    int32_t result() const noexcept
    {
        return result_;
    }
    /* Instead of the step's backoff; at most a day. */
    failure &retry_after(uint32_t seconds) noexcept
    {
        retry_after_ = seconds;
        return *this;
    }
    std::optional<uint32_t> retry_after() const noexcept
    {
        return retry_after_;
    }

  private:
    int32_t result_;
    std::optional<uint32_t> retry_after_;
};

/* No retry would help. */
class permanent_failure : public failure
{
  public:
    explicit permanent_failure(const std::string &why) : failure(why, PGF_PERMANENT)
    {
    }
};

/* Thrown by call::stop_if_cancelled(). */
class cancelled : public failure
{
  public:
    cancelled() : failure("cancelled", PGF_CANCELLED)
    {
    }
};

} // namespace pgf

#endif
