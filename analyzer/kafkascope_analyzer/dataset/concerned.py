"""Chooses the rows of each table from which a restricted report is made.

For each kind of name that a restriction has (clients, nodes, groups, topics) the clients, connections and requests that
belong to these names are looked up once:

- of a client: all of its connections and requests;
- of a node: its connections, the requests that were sent to it, and the clients that were connected to it;
- of a group: its members, and the requests that name it;
- of a topic: the requests that name it, and the clients that sent them.

`_BY_CLIENT`, `_BY_NODE`, `_BY_GROUP` and `_BY_TOPIC` give the columns of each table in which these are found. A row
with a beginning and an end is within a time span if they overlap. An incident is chosen together with the one that it
is a consequence of. Captures, clusters, DNS questions and the topology are read whole.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from operator import and_, or_
from typing import Any, Protocol

import pyarrow as pa
import pyarrow.compute as pc

from kafkascope_analyzer.dataset.restriction import Restriction
from kafkascope_parsers.errors import UsageError

MOST_REQUESTS = 2_000_000
"""Most requests that may name the topics of a restriction: their ids are held in memory, some 150 bytes each."""
_CLIENTS, _STALLS, _INCIDENTS, _REBALANCES = (
    f"stories/{table}" for table in ("clients", "stalls", "incidents", "rebalances")
)
_STARTS, _RECOVERIES = "stories/startups", "stories/recoveries"
_UNRESTRICTED = ("captures", "clusters", "dns", "topology")
_PARENTS = {
    "stories/startup_steps": (_STARTS, "startup_id"),
    "stories/recovery_steps": (_RECOVERIES, "recovery_id"),
}
"""Tables of steps, which are read with the start or recovery that they belong to: all steps or none."""
_SPANS = {
    "requests": ("ts_ns", "response_last_ns"),
    _REBALANCES: ("start_ns", "end_ns"),
    _STARTS: ("start_ns", "ready_ns"),
    _RECOVERIES: ("start_ns", "recovered_ns"),
    "stories/transactions": ("begin_ns", "end_ns"),
    "stories/broker_restarts": ("begin_ns", "back_ns"),
    "stories/broker_states": ("from_ns", "to_ns"),
    _STALLS: ("from_ns", "to_ns"),
    _INCIDENTS: ("start_ns", "end_ns"),
}
"""The columns with the beginning and the end of a row. Other tables have `first_ns` and `last_ns`, or `ts_ns` for
both."""
_GO_ON = (_STALLS, _INCIDENTS, _RECOVERIES, "stories/broker_states", "stories/broker_restarts", "stories/transactions")
"""Tables in which a row without an end was not over when the capture ended. In other tables such a row is a moment."""


@dataclass(frozen=True, slots=True)
class _By:
    """A condition for the rows of a table: `column` has one of the values that were looked up.

    found: the attribute of `_Found` with these values. key: where `column` is a list, the column that identifies a row:
    a row is chosen where its list has one of the values; member: where the elements are structs, their field."""

    column: str
    found: str
    key: str | None = None
    member: str | None = None


_OF_CLIENT, _OF_CONNECTION = _By("client_instance_id", "clients"), _By("conn_id", "connections")
_OF_NODE, _OF_GROUP, _OF_TOPIC = _By("node_id", "names"), _By("group_id", "names"), _By("topic", "names")
_CONNECTED = _By("conn_ids", "connections", "client_instance_id")
_OF_REQUEST, _OF_INCIDENT = _By("request_id", "requests"), _By("incident_id", "incidents")
_BY_CLIENT: Mapping[str, tuple[_By, ...]] = {
    _REBALANCES: (_By("members", "clients", "rebalance_id", "client_instance_id"),),
    _INCIDENTS: (_By("clients", "clients", "incident_id"), _OF_INCIDENT),
    "stories/findings": (_OF_CLIENT, _By("conn_ids", "connections", "finding_id")),
    "stories/broker_states": (_By("host", "hosts"),),
    "stories/broker_restarts": (_By("clients", "clients", "down_ns"),),
    "stories/partition_flow": (_OF_CLIENT, _By("group_id", "groups")),
}
"""Conditions by client. Tables that are not listed: by their column client_instance_id, or by conn_id where they have
none."""
_BY_NODE: Mapping[str, tuple[_By, ...]] = {
    "requests": (_OF_NODE,),
    _RECOVERIES: (_By("recovery_id", "recoveries"),),
    _REBALANCES: (_OF_NODE,),
    _STALLS: (_OF_NODE,),
    _INCIDENTS: (_OF_NODE, _OF_INCIDENT),
    "stories/broker_states": (_OF_NODE,),
    "stories/broker_restarts": (_OF_NODE,),
    "stories/partition_flow": (_By("leader_id", "names"),),
}
_BY_GROUP: Mapping[str, tuple[_By, ...]] = {
    "requests": (_OF_GROUP, _OF_CONNECTION),
    "errors": (_OF_GROUP, _OF_CONNECTION),
    _REBALANCES: (_OF_GROUP,),
    _STALLS: (_OF_GROUP, _OF_CLIENT),
    "stories/partition_flow": (_OF_GROUP,),
}
_BY_TOPIC: Mapping[str, tuple[_By, ...]] = {
    **dict.fromkeys(("partitions", "errors", "record_batches", "records", _STALLS), (_OF_TOPIC,)),
    _RECOVERIES: (_By("evidence", "requests", "recovery_id"),),
    _REBALANCES: (_By("partitions", "names", "rebalance_id", "topic"),),
    _INCIDENTS: (_By("evidence", "requests", "incident_id"), _OF_INCIDENT),
    "stories/findings": (_By("evidence", "requests", "finding_id"),),
    "stories/partition_flow": (_OF_TOPIC,),
}
"""Conditions by topic. Tables that are not listed and have a column request_id: the requests that name the topic."""
_RULES = {"clients": _BY_CLIENT, "nodes": _BY_NODE, "groups": _BY_GROUP, "topics": _BY_TOPIC}
"""The conditions by kind of name. Tables that are not listed for nodes, groups or topics are chosen as for clients."""


class Tables(Protocol):
    """The tables of a dataset, with all of their rows."""

    def has(self, name: str) -> bool:
        """Whether the table is there."""

    def arrow(self, table: str, *, checked: bool = True) -> Any:
        """Returns the table as a pyarrow.dataset.Dataset."""

    def batches(
        self,
        table: str,
        columns: Sequence[str] | None = None,
        filter: Any = None,  # noqa: A002 - as in pyarrow
    ) -> Iterator[pa.RecordBatch]:
        """Yields the table's rows that match the filter, with these columns."""


class Concerned:
    """The conditions for the rows that concern a restriction, table by table. dataset: the dataset without the
    restriction."""

    def __init__(self, dataset: Tables, restriction: Restriction) -> None:
        self._dataset = dataset
        self._restriction = restriction
        self._found = [_Found(dataset, kind, restriction) for kind in _RULES if getattr(restriction, kind)]
        self._conditions: dict[str, Any] = {}

    def condition(self, table: str) -> Any:
        """Returns the pyarrow expression for the rows of a table; None where all are read. Raises UsageError."""
        if table not in self._conditions:
            self._conditions[table] = self._condition(table)
        return self._conditions[table]

    def _condition(self, table: str) -> Any:
        if table in _PARENTS:
            parent, key = _PARENTS[table]
            return _among(key, values_of(self._dataset, parent, key, self.condition(parent)))
        if table == _INCIDENTS:
            return _among("incident_id", self._incidents)
        if table == _CLIENTS:
            return _all([self._own_condition(table), _among("client_instance_id", self._connected)])
        return self._own_condition(table)

    def _own_condition(self, table: str) -> Any:
        if table in _UNRESTRICTED or not self._dataset.has(table):
            return None
        columns = self._dataset.arrow(table, checked=False).schema.names
        conditions = [found.condition(table, columns) for found in self._found]
        return _all([*conditions, *_in_time(table, columns, self._restriction)])

    @cached_property
    def _connected(self) -> pa.Array:
        """Client instances with at least one of the chosen connections."""
        connections = values_of(self._dataset, "connections", "conn_id", self.condition("connections"))
        return _with_any(self._dataset, _CLIENTS, _CONNECTED, connections)

    @cached_property
    def _incidents(self) -> pa.Array:
        """The chosen incidents, and those that they are consequences of."""
        only = self._own_condition(_INCIDENTS)
        found = [values_of(self._dataset, _INCIDENTS, key, only) for key in ("incident_id", "root_incident_id")]
        return pc.unique(pa.concat_arrays(found))


class _Found:
    """The clients, connections, requests and so on that belong to the names of one kind; each is looked up on first
    use."""

    def __init__(self, dataset: Tables, kind: str, restriction: Restriction) -> None:
        self._dataset = dataset
        self._kind = kind
        self._restriction = restriction
        self.names = pa.array(getattr(restriction, kind), pa.int32() if kind == "nodes" else pa.string())

    def condition(self, table: str, columns: list[str]) -> Any:
        """Returns the pyarrow expression for the rows of a table that belong to the names. columns: columns of the
        table."""
        default = _OF_CLIENT if _OF_CLIENT.column in columns else _OF_CONNECTION
        if self._kind == "topics" and _OF_REQUEST.column in columns:
            default = _OF_REQUEST
        rule = _RULES[self._kind].get(table) or _BY_CLIENT.get(table) or (default,)
        return reduce(or_, (self._matches(table, by) for by in rule))

    def _matches(self, table: str, by: _By) -> Any:
        found = getattr(self, by.found)
        if by.key is None:
            return _among(by.column, found)
        return _among(by.key, _with_any(self._dataset, table, by, found))

    @cached_property
    def requests(self) -> pa.Array:
        """Requests that name the topics."""
        only = _all([_among("topic", self.names), *_in_time("partitions", ["ts_ns"], self._restriction)])
        found, n = [], 0
        for batch in self._dataset.batches("partitions", ["request_id"], only):
            found.append(pc.unique(batch.column(0)))
            n += len(found[-1])
            if n > MOST_REQUESTS:
                raise UsageError(
                    f"more than {MOST_REQUESTS:,} requests name the topics: choose a time by --from and --to"
                )
        return _joined(found)

    @cached_property
    def connections(self) -> pa.Array:
        """Connections of the clients, to the nodes, or of requests that name the groups or topics."""
        if self._kind == "nodes":
            return values_of(self._dataset, "connections", "conn_id", _among("node_id", self.names))
        if self._kind == "topics":
            return values_of(self._dataset, "requests", "conn_id", _among("request_id", self.requests))
        own = self._lists(_CLIENTS, "conn_ids", _among("client_instance_id", self.clients))
        of_groups = _among("group_id", self.names)
        named = [] if self._kind == "clients" else [values_of(self._dataset, "requests", "conn_id", of_groups)]
        return _joined([own, *named])

    @cached_property
    def clients(self) -> pa.Array:
        """Client instances that are named, are members of the groups, or have one of the connections."""
        if self._kind in ("nodes", "topics"):
            return _with_any(self._dataset, _CLIENTS, _CONNECTED, self.connections)
        if self._kind == "clients":
            named = _among("client_instance_id", self.names) | _among("client_id", self.names)
            return values_of(self._dataset, _CLIENTS, "client_instance_id", named)
        of_groups = _among("group_id", self.names)
        members = self._lists(_REBALANCES, "members", of_groups, "client_instance_id")
        return _joined([members, values_of(self._dataset, _CLIENTS, "client_instance_id", of_groups)])

    @cached_property
    def hosts(self) -> pa.Array:
        """Addresses of the clients."""
        return values_of(self._dataset, _CLIENTS, "client_ip", _among("client_instance_id", self.clients))

    @cached_property
    def groups(self) -> pa.Array:
        """Groups of the clients."""
        return values_of(self._dataset, _CLIENTS, "group_id", _among("client_instance_id", self.clients))

    @cached_property
    def recoveries(self) -> pa.Array:
        """Recoveries with a step at one of the nodes."""
        return values_of(self._dataset, "stories/recovery_steps", "recovery_id", _among("node_id", self.names))

    @cached_property
    def incidents(self) -> pa.Array:
        """Incidents with a stall that concerns the names."""
        return values_of(self._dataset, _STALLS, "incident_id", self.condition(_STALLS, [_OF_CLIENT.column]))

    def _lists(self, table: str, column: str, only: Any, member: str | None = None) -> pa.Array:
        """Returns the elements of a list column, in the rows that match `only`."""
        batches = self._dataset.batches(table, [column], only)
        return _joined(_elements(batch.column(0), member) for batch in batches)


def values_of(dataset: Tables, table: str, column: str, only: Any) -> pa.Array:
    """Returns the distinct values of a column in the rows of a table that match `only`."""
    return _joined(batch.column(0) for batch in dataset.batches(table, [column], only))


def _with_any(dataset: Tables, table: str, by: _By, found: pa.Array) -> pa.Array:
    """Returns the keys of the rows of a table whose list has one of the values `found`."""
    keys = []
    for batch in dataset.batches(table, [str(by.key), by.column]):
        lists = batch.column(1)
        is_found = pc.is_in(_elements(lists, by.member), found)
        keys.append(batch.column(0).take(pc.list_parent_indices(lists).filter(is_found)))
    return _joined(keys)


def _joined(arrays: Iterable[pa.Array]) -> pa.Array:
    """Returns the distinct values of all arrays, without null. Dictionary-encoded arrays are decoded."""
    decoded = [a.dictionary_decode() if pa.types.is_dictionary(a.type) else a for a in arrays]
    found = [pc.drop_null(pc.unique(array)) for array in decoded]
    return pc.unique(pa.concat_arrays(found)) if found else pa.array([], pa.string())


def _elements(lists: pa.Array, member: str | None) -> pa.Array:
    flat = pc.list_flatten(lists)
    return flat if member is None else pc.struct_field(flat, member)


def _among(column: str, values: pa.Array) -> Any:
    import pyarrow.dataset as ds

    return ds.field(column).isin(values)


def _all(conditions: list[Any]) -> Any:
    return reduce(and_, conditions) if conditions else None


def _in_time(table: str, columns: list[str], restriction: Restriction) -> list[Any]:
    """Returns the conditions that a row overlaps the time span; none for a table without times, which is restricted
    through other tables."""
    import pyarrow.dataset as ds

    usual = ("first_ns", "last_ns") if "first_ns" in columns else ("ts_ns", "ts_ns")
    first, last = _SPANS.get(table, usual)
    if first not in columns:
        return []
    begin, end = ds.field(first), pc.coalesce(ds.field(last), ds.field(first))
    conditions = [] if restriction.to_ns is None else [begin <= restriction.to_ns]
    if restriction.from_ns is not None:
        ends = end >= restriction.from_ns
        conditions.append(ends | ds.field(last).is_null() if table in _GO_ON else ends)
    return conditions
