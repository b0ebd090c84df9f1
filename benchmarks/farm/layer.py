"""The interface of a layer of the farm: it makes rounds of inputs from random generators, and runs them.

A round that raises has failed: `FaultError` for what the farm has checked itself, any other exception for what the
program let through. Inputs of a round are independent, so that a failing one can be found by running fewer of them.
"""

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol


class FaultError(AssertionError):
    """A condition that must hold does not."""


class Rounds(Protocol):
    """The rounds of a layer, in the process that runs them."""

    def warm_up(self) -> None:
        """Compiles and loads everything, as time and memory are compared from then on."""

    def make(self, r: random.Random) -> Sequence[Any]:
        """The inputs of a round. The same generator makes the same ones."""

    def run(self, inputs: Sequence[Any], r: random.Random) -> None:
        """Runs them. r: for random choices of the run itself."""

    def smaller(self, one: Any) -> Iterator[Any]:
        """Inputs like this one and smaller, for an input that fails; the smallest first."""

    def write(self, inputs: Sequence[Any], stem: Path) -> None:
        """Writes inputs as files whose names begin with that of `stem`."""


@dataclass(frozen=True, slots=True)
class Inputs:
    """How many inputs a layer gets in a run of each size."""

    smoke: int
    usual: int
    long: int


@dataclass(frozen=True, slots=True)
class Layer:
    """A layer.

    what: what is mutated, for the table of figures; open: makes its rounds, with a folder for files; n: how many
    inputs; round_s: a round that takes longer is killed; growth_mb: by how much the process may grow after its warm-up;
    unchecked: sizes in which kernels do not check every index, as those that do are not compiled by anything else.
    """

    name: str
    what: str
    open: Callable[[Path], Rounds]
    n: Inputs
    round_s: int = 60
    growth_mb: int = 64
    unchecked: tuple[str, ...] = ()


def shorter(raw: bytes) -> Iterator[bytes]:
    """Bytes with a part left out: halves first, then smaller parts."""
    size = len(raw) // 2
    while size:
        for at in range(0, len(raw), size):
            yield raw[:at] + raw[at + size :]
        size //= 2
