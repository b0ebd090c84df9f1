"""Columns of `requests` that are taken from fields of Kafka's messages."""

from dataclasses import dataclass
from functools import cache

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from kafkascope_analyzer.dataset.tables import COORDINATOR_TYPES, REQUESTS
from kafkascope_analyzer.scan.gather import IntColumn, TextColumn
from kafkascope_parsers.machine import Columns
from kafkascope_parsers.machine.arrow import strings
from kafkascope_parsers.schema import MessageType, Node

_Places = NDArray[np.int64] | slice


@dataclass(frozen=True, slots=True)
class Fact:
    """A column, the fields from which it is taken (the first that has a value), and the values that mean null."""

    column: str
    paths: tuple[str, ...]
    none: tuple[int, ...] = ()


REQUEST_INTS = (
    Fact("generation_or_epoch", ("generation_id", "generation_id_or_member_epoch", "member_epoch")),
    Fact("producer_id", ("producer_id",), none=(-1,)),
    Fact("producer_epoch", ("producer_epoch",), none=(-1,)),
    Fact("acks", ("acks",)),
    Fact("max_wait_ms", ("max_wait_ms",)),
    Fact("min_bytes", ("min_bytes",)),
    Fact("isolation_level", ("isolation_level",)),
    Fact("fetch_session_id", ("session_id",)),
    Fact("fetch_session_epoch", ("session_epoch", "share_session_epoch")),
    Fact("replica_id", ("replica_id", "replica_state.replica_id")),
    Fact("committed", ("committed",)),
    Fact("coordinator_type", ("key_type",)),
)
REQUEST_TEXTS = (
    Fact("group_id", ("group_id", "groups[].group_id")),
    Fact("member_id", ("member_id", "members[].member_id", "groups[].member_id")),
    Fact("group_instance_id", ("group_instance_id", "instance_id", "members[].group_instance_id")),
    Fact("transactional_id", ("transactional_id", "v3_and_below_transactional_id", "transactions[].transactional_id")),
    Fact("described", ("groups[]", "groups_names[]", "group_ids[]", "transactional_ids[]")),
    Fact("coordinator_key", ("key", "coordinator_keys[]")),
    Fact("software_name", ("client_software_name",)),
    Fact("software_version", ("client_software_version",)),
    Fact("sasl_mechanism", ("mechanism",)),
)
RESPONSE_INTS = (
    Fact("throttle_ms", ("throttle_time_ms",)),
    Fact("producer_id", ("producer_id",), none=(-1,)),
    Fact("producer_epoch", ("producer_epoch",), none=(-1,)),
    Fact("fetch_session_id", ("session_id",)),
)
RESPONSE_TEXTS = (Fact("member_id", ("member_id",)),)


class FactColumns:
    """The fact columns of n frames, filled API by API."""

    def __init__(self, n: int, ints: tuple[Fact, ...], texts: tuple[Fact, ...]) -> None:
        self._ints, self._texts = ints, texts
        types = {f.column: REQUESTS.column(f.column).type for f in ints}
        self._flags = [name for name, kind in types.items() if pa.types.is_boolean(kind)]
        self.ints = {
            name: IntColumn(n, kind if pa.types.is_integer(kind) else pa.int8()) for name, kind in types.items()
        }
        self.texts = {f.column: TextColumn(n) for f in texts}

    def put(self, message: MessageType, columns: Columns, frames: NDArray[np.int64]) -> None:
        """Takes the columns from decoded messages; frames[i] is the frame of decoded row i."""
        for fact in self._ints:
            for node in nodes_of(message, fact.paths):
                if not columns.has(node):
                    continue
                rows, pick = _first_of_each_row(columns, node)
                values, nulls = columns.values(node)[pick].astype(np.int64), columns.is_null(node)[pick]
                for none in fact.none:
                    nulls = nulls | (values == none)
                self.ints[fact.column].put(frames[rows], values, nulls)
        for fact in self._texts:
            for node in nodes_of(message, fact.paths):
                if not columns.has(node):
                    continue
                rows, pick = _first_of_each_row(columns, node)
                texts = strings(columns, node)
                self.texts[fact.column].put(
                    frames[rows], texts if isinstance(pick, slice) else texts.take(pa.array(pick))
                )

    def arrow(self) -> dict[str, pa.Array]:
        """Returns all columns, with the types of the contract."""
        out = {name: column.arrow() for name, column in (self.ints | self.texts).items()}
        if "coordinator_type" in out:
            named = _named(out["coordinator_type"], COORDINATOR_TYPES)
            before_types = pc.if_else(pc.is_valid(out["coordinator_key"]), COORDINATOR_TYPES[0], None)
            out["coordinator_type"] = pc.coalesce(named, before_types)  # version 0 only knows groups
        return out | {name: out[name].cast(pa.bool_()) for name in self._flags}


@cache
def nodes_of(message: MessageType, paths: tuple[str, ...]) -> tuple[Node, ...]:
    """Returns the fields of those paths that the message has in any version."""
    by_path = {node.path: node for node in message.slots}
    return tuple(by_path[path] for path in paths if path in by_path)


def _first_of_each_row(columns: Columns, node: Node) -> tuple[_Places, _Places]:
    """Returns (rows, index): decoded rows that have the node, and the index of the node's first instance in each. A
    field outside of arrays has one instance in each row: then both are all places."""
    if node.level == 0:
        return slice(None), slice(None)
    return np.unique(columns.row(node), return_index=True)


def _named(codes: pa.Array, names: tuple[str, ...]) -> pa.Array:
    """Returns codes as names; null for a code that has none."""
    numbers = codes.fill_null(-1).to_numpy()
    return pa.array(names).take(pa.array(numbers, mask=(numbers < 0) | (numbers >= len(names))))
