"""Where the build put the programs and the modules, and how patient to be."""

import os
import pathlib

SOURCE = pathlib.Path(__file__).resolve().parents[3]
BUILD = pathlib.Path(os.environ.get("PGFLOW_BUILD", SOURCE / "build" / "dev"))

HOST = BUILD / "bin" / "pgflow-host"
CTL = BUILD / "bin" / "pgflowctl"

# Under valgrind or a sanitizer everything takes longer; no test asserts a time,
# the factor only keeps a slow machine from giving up.
VALGRIND = os.environ.get("PGFLOW_VALGRIND") == "1"
SANITIZED = os.environ.get("PGFLOW_SANITIZED") == "1"
COVERAGE = os.environ.get("PGFLOW_COVERAGE") == "1"
PATIENCE = 30.0 * (6 if VALGRIND else 2 if SANITIZED else 1)


def module(name):
    """The file of a module by its name: an example or one of tests/plugins."""
    for folder in ("plugins/examples", "tests/plugins", "bin", "modules", "plugins"):
        found = sorted((BUILD / folder).rglob(f"{name}.so"))
        if found:
            return found[0]
    raise FileNotFoundError(f"the build made no module {name}.so below {BUILD}")
