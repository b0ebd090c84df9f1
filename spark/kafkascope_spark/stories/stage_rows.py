"""Rows between the stages of the story job: columns to sort by, and a body that only Python reads.

There are about forty kinds of rows with different fields. So a body is one binary column made with `pickle`, which
Spark also uses to pass Python objects between workers.
"""

import pickle
from dataclasses import dataclass
from typing import Any

from kafkascope_analyzer.dataset.row_types import StoryRow, values_of
from kafkascope_analyzer.dataset.zookeeper_sessions import ZooKeeperSession

BODY = "body"
_PROTOCOL = 5
"""The version of the pickle format, the same for every release of Python."""


class StageRow:
    """Base class of rows that go from one stage to the next and belong to no table. Subclasses are dataclasses with
    slots."""

    __slots__ = ()

    def __reduce__(self) -> tuple[Any, ...]:
        """Returns the class and its values, for pickle."""
        return type(self), values_of(self)


@dataclass(frozen=True, slots=True)
class PassedOn:
    """A row that a machine passes to the machine of a key in the next stage. ts_ns, identity: its place among the rows
    of its key, before all events of the same time."""

    key_kind: str
    key: str
    body: Any
    identity: str
    ts_ns: int = 0


def packed(body: StoryRow | StageRow | ZooKeeperSession | tuple[Any, ...]) -> bytes:
    """Serializes the body of a row."""
    return pickle.dumps(body, _PROTOCOL)


def unpacked(body: bytes) -> Any:
    """Restores a body from the bytes that `packed` made."""
    return pickle.loads(body)
