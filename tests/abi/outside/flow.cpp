#include <pgflow/module.h>

#include <exception>
#include <string>

/* A static of a template: g++ would make it unique in the process and visible. */
template <class T> struct counter {
    static int &value()
    {
        static int n = 0;
        return n;
    }
};

static int32_t run(void *, const pgf_call *call)
{
    try {
        std::string text = std::to_string(++counter<long>::value());
        return call->write(call, text.data(), text.size()) ? PGF_PERMANENT : PGF_OK;
    } catch (const std::exception &) {
        return PGF_ERROR;
    }
}

static const pgf_step steps[] = {{sizeof(pgf_step), PGF_STEP_SINGLE, 0, 0, "only", nullptr, nullptr,
                                  nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, run}};

PGF_EXPORT const pgf_module pgflow_module_v1 = {PGF_MODULE_HEADER,
                                                0,
                                                0,
                                                "outside_cpp",
                                                nullptr,
                                                nullptr,
                                                PGF_QUEUE_FLOW,
                                                0,
                                                nullptr,
                                                PGF_ARRAY(steps),
                                                nullptr,
                                                nullptr,
                                                nullptr};
