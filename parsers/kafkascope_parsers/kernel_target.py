"""The processor for which kernels are compiled: the lowest supported level of the processor's family.

So machine code that was compiled on one machine runs on all machines with the same operating system and family, and can
be part of a wheel and of the archive for Spark's executors. See docs/packaging.md for the costs.
"""

import platform
from functools import cache
from typing import NamedTuple

import numpy as np

from kafkascope_parsers.errors import UsageError


class Target(NamedTuple):
    """cpu: LLVM's name. needs: numpy's names of the level or of its instructions."""

    cpu: str
    needs: frozenset[str] = frozenset()

    @property
    def has_crc32c(self) -> bool:
        """Whether there is an instruction for CRC-32C with the name of x86."""
        return self.cpu.startswith("x86-64-v")


_TARGETS = {
    "x86_64": Target("x86-64-v2", frozenset({"SSE42", "POPCNT", "X86_V2"})),
    "aarch64": Target("generic"),
    "arm64": Target("apple-m1"),
}
"""Targets by name of the family. x86-64-v2: all processors since 2009, and virtual ones with SSE 4.2."""


@cache
def target() -> Target:
    """Returns the target of this machine."""
    return _TARGETS.get(platform.machine(), Target("generic"))


@cache
def check_processor() -> None:
    """Raises UsageError if this machine's processor is older than the target of kernels."""
    extensions = np.show_config(mode="dicts")["SIMD Extensions"]
    if missing := target().needs.intersection(extensions.get("not found", ())):
        raise UsageError(
            f"kafkascope needs a processor of the level {target().cpu}: this one lacks {', '.join(sorted(missing))}"
        )
