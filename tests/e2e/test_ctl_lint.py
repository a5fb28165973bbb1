"""pgflowctl lint: each mistake of a build is found by its name, and a clean module passes."""

import json

import pytest

from lib.compiled import LINK, build
from lib.paths import SANITIZED, module
from lib.programs import run_ctl

CLEAN = """
#include <pgflow/module.h>
static int32_t run(void *state, const pgf_call *call) { return state != NULL && call == NULL; }
static const pgf_step steps[] = {{.slug = "only", .run = run}};
PGF_EXPORT const pgf_module pgflow_module_v1 = {PGF_MODULE_HEADER, .flow_slug = "lint", .steps = PGF_ARRAY(steps)};
"""
# The header declares the descriptor const, so the name is hidden from it.
WRITABLE = (
    CLEAN.replace("#include <pgflow/module.h>", "#define pgflow_module_v1 other\n#include <pgflow/module.h>\n#undef pgflow_module_v1")
    .replace("PGF_EXPORT const", "PGF_EXPORT")
)
FILLED = """
#include <pgflow/module.hpp>
#include <cstdlib>
static const auto run = [](pgf::call &) {};
static int32_t handler(void *, const pgf_call *) { return 0; }
static const pgf_step steps[] = {pgf::step("only", handler)};
static pgf_module make() { pgf_module m = pgf::module("lint", steps); m.version = std::getenv("HOME"); return m; }
PGF_EXPORT const pgf_module pgflow_module_v1 = make();
"""
UNIQUE = """
#include <pgflow/module.hpp>
template <class T> struct counter { __attribute__((visibility("default"))) static int calls; };
template <class T> int counter<T>::calls = 0;
constexpr auto run = [] { return ++counter<int>::calls; };
constexpr pgf_step steps[] = {pgf::step("only", pgf::handler<run>)};
PGF_EXPORT constexpr pgf_module pgflow_module_v1 = pgf::module("lint", steps);
"""


def findings(file):
    """[(check, text)] and the exit status."""
    result = run_ctl("lint", file, "--json")
    return [(one["check"], one["text"]) for one in json.loads(result.stdout)], result.returncode


def test_clean_modules_pass(tmp_path):
    made = build(tmp_path, CLEAN)

    assert findings(made) == ([], 0)
    if not SANITIZED:  # a sanitizer adds names and code of its own
        for name in ("noop", "with_helper", "wrapped"):
            assert findings(module(name)) == ([], 0)


@pytest.mark.parametrize(
    ("check", "text", "flags", "words"),
    [
        ("entry", WRITABLE, [], "writable memory"),
        ("entry", FILLED, [], "filled by code"),
        ("textrel", CLEAN + '__asm__(".text\\n.quad malloc\\n");', ["-Wl,-z,notext"], "TEXTREL"),
        ("rpath", CLEAN, ["-Wl,-rpath,$ORIGIN:/opt/mine/lib"], "'/opt/mine/lib'"),
        ("relro", CLEAN, ["-Wl,-z,norelro"], "writable"),
        ("now", CLEAN, ["-Wl,-z,lazy"], "at once"),
        ("build-id", CLEAN, ["-Wl,--build-id=none"], "no build-id"),
        ("stack", CLEAN, ["-Wl,-z,execstack"], "executable stack"),
        ("unresolved", CLEAN.replace("return state", "int nobody(void); return nobody() + (state").replace("NULL; }", "NULL); }"), ["-Wl,-z,undefs"], "'nobody'"),
        ("refused", CLEAN.replace('"only"', '"not a slug"'), [], "slug"),
    ],
    ids=lambda value: value if isinstance(value, str) and len(value) < 20 else "",
)
def test_mistake_is_found_by_its_name(tmp_path, check, text, flags, words):
    found, status = findings(build(tmp_path, text, *flags))

    assert status == 1
    assert any(name == check and words in said for name, said in found), found


def test_process_wide_static_is_found(tmp_path):
    found, status = findings(build(tmp_path, UNIQUE, link=LINK[1:]))

    assert status == 1
    assert any(name == "unique" and "counter" in said for name, said in found), found


def test_shared_object_without_the_entry_symbol_is_found():
    found, status = findings(module("no_entry"))

    assert status == 1
    assert ("entry", "pgflow_module_v1 is not exported") in found


@pytest.mark.parametrize("fault", ["ctor_scribbles", "ctor_answers", "ctor_crashes"])
def test_constructor_that_a_host_would_not_take_is_found(fault):
    found, status = findings(module(fault))

    assert status == 1
    assert "refused" in [name for name, _ in found], found


def test_other_exports_are_named_and_counted(tmp_path):
    many = "".join(f"PGF_EXPORT int name_{i}(void); int name_{i}(void) {{ return {i}; }}\n" for i in range(13))

    found, status = findings(build(tmp_path, CLEAN + many, link=LINK[1:]))

    assert status == 1
    assert [name for name, _ in found] == ["exports"] * 11
    assert ("exports", "so are 3 more") in found


def test_names_of_a_file_cannot_steer_the_terminal(tmp_path):
    text = CLEAN + "PGF_EXPORT int oddname_1(void); int oddname_1(void) { return 1; }"
    file = build(tmp_path, text, link=LINK[1:])
    file.write_bytes(file.read_bytes().replace(b"oddname_1", b"od\x1b[31m_1"))

    result = run_ctl("lint", file)
    found, _ = findings(file)

    assert "'od [31m_1' is exported" in result.stdout
    assert ("exports", "'od [31m_1' is exported") in found


def test_library_that_is_missing_is_named(tmp_path):
    library = build(tmp_path, "int helper(void); int helper(void) { return 1; }", name="libhelper.so", link=[], *["-fvisibility=default"])
    text = CLEAN.replace("return state", "int helper(void); return helper() + (state").replace("NULL; }", "NULL); }")
    file = build(tmp_path, text, library, "-Wl,-soname,libhelper.so")
    library.unlink()

    found, status = findings(file)

    assert status == 1
    assert any(name == "library" and "libhelper.so" in said for name, said in found), found


def test_file_that_others_may_change_is_found_with_the_remedy(tmp_path):
    file = build(tmp_path, CLEAN)
    file.chmod(0o775)

    found, status = findings(file)

    assert status == 1
    assert [name for name, _ in found] == ["writable"]
    assert "chmod go-w" in found[0][1]


def test_findings_are_shown_to_people_with_their_remedies(tmp_path):
    result = run_ctl("lint", build(tmp_path, CLEAN, "-Wl,--build-id=none"))

    assert result.returncode == 1
    assert "no build-id" in result.stdout and "-> link with -Wl,--build-id=sha1" in result.stdout


def test_file_that_is_no_module_is_78():
    result = run_ctl("lint", module("not_elf"))

    assert (result.returncode, result.stdout) == (78, "")
    assert "no ELF file" in result.stderr
