"""`Instruction`: a processor instruction as a function that kernels call."""

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
