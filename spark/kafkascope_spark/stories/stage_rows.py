"""Rows on their way through the story job: columns to sort by, and a body for Python only.

There are some forty kinds of rows, each with fields of its own. So a body is one binary column, made by `pickle`, as
Spark itself passes Python objects between workers.
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
    """A row that goes from one stage to the next and is of no table; to be a dataclass with slots."""

    __slots__ = ()

    def __reduce__(self) -> tuple[Any, ...]:
        """As pickle takes it: the class and its values."""
        return type(self), values_of(self)


@dataclass(frozen=True, slots=True)
class PassedOn:
    """What a machine passes on to the next stage: a row for the machine that follows the key there. ts_ns, identity:
    its place among the rows of its key, before all events of that time."""

    key_kind: str
    key: str
    body: Any
    identity: str
    ts_ns: int = 0


def packed(body: StoryRow | StageRow | ZooKeeperSession | tuple[Any, ...]) -> bytes:
    """The body of a row as bytes."""
    return pickle.dumps(body, _PROTOCOL)


def unpacked(body: bytes) -> Any:
    """The body that `packed` made bytes of."""
    return pickle.loads(body)
