"""The processor that kernels are compiled for: not the one at hand, but the least of its family that is supported.

So machine code that was compiled on one machine runs on all of the same operating system and family: it comes with a
wheel, and with the archive for Spark's executors. docs/packaging.md has what that costs.
"""

import platform
from functools import cache
from typing import NamedTuple

import numpy as np

from kafkascope_parsers.errors import UsageError


class Target(NamedTuple):
    """cpu: as LLVM calls it. needs: its level as numpy calls that, by the instructions of the level or by its name."""

    cpu: str
    needs: frozenset[str] = frozenset()

    @property
    def has_crc32c(self) -> bool:
        """Whether there is an instruction for CRC-32C, under the name that x86 has for it."""
        return self.cpu.startswith("x86-64-v")


_TARGETS = {
    "x86_64": Target("x86-64-v2", frozenset({"SSE42", "POPCNT", "X86_V2"})),
    "aarch64": Target("generic"),
    "arm64": Target("apple-m1"),
}
"""By the name of the family. x86-64-v2: all processors since 2009, and the virtual ones that pass SSE 4.2 on."""


@cache
def target() -> Target:
    """The target of this machine."""
    return _TARGETS.get(platform.machine(), Target("generic"))


@cache
def check_processor() -> None:
    """Raises UsageError where this machine's processor is older than what kernels are compiled for."""
    extensions = np.show_config(mode="dicts")["SIMD Extensions"]
    if missing := target().needs.intersection(extensions.get("not found", ())):
        raise UsageError(
            f"kafkascope needs a processor of the level {target().cpu}: this one lacks {', '.join(sorted(missing))}"
        )
