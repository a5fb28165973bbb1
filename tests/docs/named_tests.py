"""Tests that a page names in backquotes: a file below tests, then names of tests in it."""

import pathlib
import re

SOURCE = pathlib.Path(__file__).resolve().parents[2]
DEFINED = {".py": r"^def {}\(", ".c": r"^Test\(\w+, {}[,)]", ".cpp": r"^Test\(\w+, {}[,)]"}


def unknown_tests(text):
    """What of the text of one row is not there. A name belongs to the file before it."""
    file = None
    for name in re.findall(r"`([a-z0-9_./-]+)`", text):
        if "/" in name:
            file = SOURCE / "tests" / name
            if not file.is_file():
                yield f"there is no file tests/{name}"
                file = None
        elif name.startswith("test_") and file is None:
            yield f"test {name} has no file before it"
        elif file is not None and file.suffix in DEFINED and "." not in name:
            if not re.search(DEFINED[file.suffix].format(name), file.read_text(), re.MULTILINE):
                yield f"there is no test {name} in {file.relative_to(SOURCE)}"


def rows(section, table=0):
    """The cells of a table in a section, without its head."""
    tables = re.findall(r"(?:^\|.*\n)+", section, re.MULTILINE)
    return [[cell.strip() for cell in line.strip("|\n").split(" | ")] for line in tables[table].splitlines()[2:]]


def section(page, title):
    return page.split(f"\n## {title}\n")[1].split("\n## ")[0] + "\n"
