"""Processor instructions as functions that kernels call: `Instruction`, and `prefetch`."""

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Instruction:
    """A function of (crc, data), both unsigned, that returns the next crc. name: LLVM's name of the instruction.

    numba asks for `_numba_type_` when it compiles a kernel that calls it.
    """

    name: str
    crc_bits: int
    data_bits: int

    def __call__(self, crc: Any, data: Any) -> Any:
        """Raises NotImplementedError: only kernels can call it."""
        raise NotImplementedError(self.name)

    @property
    def _numba_type_(self) -> Any:
        from kafkascope_parsers.kernel_compiler import instruction_type

        return instruction_type(self.name, self.crc_bits, self.data_bits)


@dataclass(frozen=True, slots=True)
class Prefetch:
    """A function of (array, index) that makes the processor load that item of a one-dimensional array into its cache
    while the kernel goes on. The index may lie outside of the array: nothing is read.

    Use it where a kernel knows early that it will read scattered places. The processor prefetches sequential reads by
    itself; for each other place a kernel waits as long as some hundred instructions take.
    """

    def __call__(self, array: Any, index: Any) -> None:
        """Does nothing: kernels that run as Python functions have no cache to fill."""

    @property
    def _numba_type_(self) -> Any:
        from kafkascope_parsers.kernel_compiler import prefetch_type

        return prefetch_type()


prefetch = Prefetch()
CACHE_LINE = 64
"""Bytes that a prefetch loads."""
