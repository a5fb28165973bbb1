"""Modules that a test compiles from a text of its own."""

import subprocess

from lib.paths import SOURCE

SDK = SOURCE / "plugin-sdk"
COMPILE = ["-O1", "-fPIC", "-fvisibility=hidden", f"-I{SDK}/include", "-shared"]
LINK = [f"-Wl,--version-script={SDK}/cmake/pgflow-module.map"] + [
    f"-Wl,{flag}" for flag in ("-Bsymbolic", "--exclude-libs,ALL", "-z,defs", "-z,now", "-z,relro", "--build-id=sha1")
]


def build(folder, text, *flags, link=None, name="flow.so"):
    """A module made of the text with the flags of the SDK, then those given."""
    language = "c++" if "module.hpp" in text else "c"
    source = folder / f"{name}.{'cpp' if language == 'c++' else 'c'}"
    source.write_text(text)
    file = folder / name
    compiler = ["g++", "-std=c++17"] if language == "c++" else ["gcc", "-std=c17"]
    subprocess.run([*compiler, *COMPILE, source, "-o", file, *(LINK if link is None else link), *flags], check=True)
    file.chmod(0o755)
    folder.chmod(0o755)
    return file
