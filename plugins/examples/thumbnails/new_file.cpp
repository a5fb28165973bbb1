/* SPDX-License-Identifier: Apache-2.0 */
#include "new_file.hpp"

#include <cerrno>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>

namespace
{

[[noreturn]] void fail(const char *what)
{
    throw pgf::failure(std::string(what) + ": " + std::generic_category().message(errno));
}

std::string hidden_name(const pgf::call &call, const std::string &folder)
{
    return folder + "/." + std::string(call.run_id()) + "." + std::string(call.step_slug()) + "." +
           std::to_string(call.task_index()) + "." + std::to_string(call.attempt()) + ".tmp";
}

} // namespace

new_file::new_file(const pgf::call &call, const std::string &folder)
    : hidden_(hidden_name(call, folder)), file_(std::fopen(hidden_.c_str(), "wbe"))
{
    if (!file_)
        fail("cannot create a file in the output folder");
}

new_file::~new_file()
{
    if (!hidden_.empty())
        (void)unlink(hidden_.c_str());
}

int64_t new_file::keep_as(const std::string &path, const timespec *modified)
{
    const int descriptor = fileno(file_.get());
    struct stat status = {};
    /* On the disk before it has its name: a power cut leaves no name without content. */
    if (std::fflush(file_.get()) != 0 || fsync(descriptor) != 0)
        fail("cannot write into the output folder");
    if (modified != nullptr) {
        const timespec times[] = {*modified, *modified};
        if (futimens(descriptor, times) != 0)
            fail("cannot set the time of a file in the output folder");
    }
    if (fstat(descriptor, &status) != 0 || rename(hidden_.c_str(), path.c_str()) != 0)
        fail("cannot put a file in place in the output folder");
    hidden_.clear();
    return status.st_size;
}
