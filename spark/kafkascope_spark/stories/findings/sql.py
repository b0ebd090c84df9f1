"""Pieces of Spark SQL that several rules' queries share: lists of literals, and aggregates with a total order.

An aggregate that depends on the order of its rows would give other results on a cluster than in one process. Each one
here orders by time and then by id.
"""

from collections.abc import Iterable

MOST_EVIDENCE = 100
"""Evidence and connections that a finding names: enough to open it, whatever its size."""


def literals(values: Iterable[str | int]) -> str:
    """The values as the right side of `in`: `('A', 'B')`, sorted."""
    return f"({', '.join(repr(value) for value in sorted(values))})"


def first_ids(request_id: str = "request_id", at_ns: str = "ts_ns", most: int = MOST_EVIDENCE) -> str:
    """An aggregate: the first request ids in order of time. A request that occurs twice is there twice."""
    return f"min_by({request_id}, if({request_id} is null, null, struct({at_ns}, {request_id})), {most})"


def joined_lists(lists: str, order: str) -> str:
    """An aggregate: the lists of all rows one after the other. order: columns that order the rows, comma-separated."""
    return f"flatten(transform(array_sort(collect_list(struct({order}, {lists} as list))), each -> each.list))"


def sorted_set(value: str) -> str:
    """An aggregate: the values without null, each once, sorted."""
    return f"array_sort(collect_set({value}))"


FIRST_OF_KIND = "struct(ts_ns, concat(conn_id, '-', first_number) as request_id)"
"""SQL for a row of usage events: when the first request of the kind was sent, and its id."""

SEEN = f"""
    count(distinct request_id) as n, min(ts_ns) as first_ns, max(ts_ns) as last_ns,
    {first_ids()} as evidence, collect_set(conn_id) as conn_ids"""
"""Aggregates over rows with request_id, conn_id and ts_ns: how many requests, when, which."""

SEVERAL_CLIENTS = f"""
    count(distinct client_instance_id) as n_clients, min(client_ip) as client_ip,
    if(count(distinct client_instance_id) > 1, null, min(client_instance_id)) as client_instance_id,
    {sorted_set("software_name")} as software_names, min(first_ns) as first_ns, max(last_ns) as last_ns,
    {first_ids("sample.request_id", "sample.ts_ns")} as evidence, collect_set(conn_id) as conn_ids"""
"""Aggregates over connections of one client id, with `sample` (ts_ns and request_id of the first request of interest).
client_instance_id is null when several client instances use the id."""
