"""Links a compiled kernel to a shared library, with the linker that the machine's C compiler uses.

A kernel needs only functions of the C library that every process has (memcpy), so nothing is linked with it, and it
works with any C library. On macOS each library has to be linked with the system's.
"""

import os
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory

from kafkascope_parsers.errors import UsageError

_COMPILERS = ("cc", "gcc", "clang")
_OPTIONS = ("-shared", "-undefined", "dynamic_lookup") if sys.platform == "darwin" else ("-shared", "-nostdlib", "-s")


def link(object_file: bytes) -> bytes:
    """Returns the shared library. Raises UsageError if there is no linker."""
    with TemporaryDirectory(prefix="kafkascope-link-") as place:
        source, made = Path(place, "kernel.o"), Path(place, "kernel.so")
        source.write_bytes(object_file)
        subprocess.run([*_linker(), *_OPTIONS, "-o", made, source], check=True)
        return made.read_bytes()


def _linker() -> list[str]:
    """Returns the command of the linker: from the variable CC, the system's C compiler, or the package ziglang."""
    if chosen := os.environ.get("CC"):
        return chosen.split()
    for name in _COMPILERS:
        if found := shutil.which(name):
            return [found]
    if find_spec("ziglang"):
        return [sys.executable, "-m", "ziglang", "cc"]
    raise UsageError("compiling kernels needs a C compiler's linker: install cc (on Debian: apt-get install gcc)")
