"""The layer of messages: frames of every API, version and direction, decoded by the kernels.

Each frame must come out as a row or a failure, one in 200 the same as from the slow twin.
"""

import random
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks.farm.hostile_values import change
from benchmarks.farm.layer import FaultError, shorter
from benchmarks.farm.message_tree import NotReadError, read_tree
from benchmarks.farm.mutations import mutated
from benchmarks.farm.vectors import Vector, frames

from kafkascope_parsers.machine import decode_messages, to_arrow
from kafkascope_parsers.schema import message_type
from kafkascope_parsers.schema.by_definition import MessageError, decode_by_definition

ROUND_FRAMES = 250
TWIN_EVERY = 200


@dataclass(frozen=True, slots=True)
class Frame:
    """A mutated frame, and the version that it is decoded as."""

    message: Any
    version: int
    raw: bytes


class MessageRounds:
    """A round: frames of one message of Kafka, mutated as bytes or field by field."""

    def __init__(self, folder: Path) -> None:
        self._groups: dict[Any, list[Vector]] = defaultdict(list)
        for vector in frames():
            self._groups[message_type(vector.api_key, vector.direction)].append(vector)
        self._messages = list(self._groups)

    def warm_up(self) -> None:
        for message, vectors in self._groups.items():
            self.decode([Frame(message, vector.version, vector.raw) for vector in vectors])

    def make(self, r: random.Random) -> Sequence[Frame]:
        message = r.choice(self._messages)
        chosen = r.choices(self._groups[message], k=ROUND_FRAMES)
        return [Frame(message, odd_version(r, vector.version), odd_frame(r, message, vector)) for vector in chosen]

    def run(self, inputs: Sequence[Frame], r: random.Random) -> None:
        answers = self.decode(inputs)
        if sorted(answers) != list(range(len(inputs))):
            raise FaultError("a frame is neither a row nor a failure")
        for i in range(r.randrange(TWIN_EVERY), len(inputs), TWIN_EVERY):
            one = inputs[i]
            if one.message.fallback_version is None and answers[i] != by_twin(one):
                raise FaultError(f"the twin differs: {one.message.name} v{one.version} {one.raw.hex()}")

    def smaller(self, one: Frame) -> Iterator[Frame]:
        return (replace(one, raw=raw) for raw in shorter(one.raw))

    def write(self, inputs: Sequence[Frame], stem: Path) -> None:
        lines = [f"{one.message.name} {one.version} {one.raw.hex()}\n" for one in inputs]
        stem.with_suffix(".txt").write_text("".join(lines), encoding="ascii")

    @staticmethod
    def decode(some: Sequence[Frame]) -> dict[int, Any]:
        """The result of each frame: a row, or the kind, offset and path of its failure."""
        answers: dict[int, Any] = {}
        versions = np.array([one.version for one in some], np.int16)
        for columns in decode_messages(some[0].message, *joined([one.raw for one in some]), versions):
            to_arrow(columns)
            answers |= dict.fromkeys(columns.frame.tolist(), "row")
            answers |= {f.frame: (f.kind, f.offset, f.path) for f in columns.failures}
        return answers


def odd_version(r: random.Random, version: int) -> int:
    return version if r.random() < 0.98 else r.randint(-2, 20)


def odd_frame(r: random.Random, message: Any, vector: Vector) -> bytes:
    """The frame with bytes changed blindly, or fields to values of their types."""
    if r.random() < 0.5:
        return mutated(r, vector.raw)
    try:
        tree = read_tree(message, vector.raw, vector.version)
    except NotReadError:
        return mutated(r, vector.raw)
    change(r, tree)
    return tree.write()


def joined(raws: Sequence[bytes]) -> tuple[Any, Any, Any]:
    """The bytes of all, and where each starts and ends."""
    ends = np.cumsum([len(raw) for raw in raws], dtype=np.int64)
    starts = np.concatenate(([0], ends[:-1])).astype(np.int64)
    return np.frombuffer(b"".join(raws), np.uint8), starts, ends


def by_twin(one: Frame) -> Any:
    try:
        decode_by_definition(one.message, one.raw, one.version)
    except MessageError as e:
        return e.kind, e.offset, e.path
    return "row"
