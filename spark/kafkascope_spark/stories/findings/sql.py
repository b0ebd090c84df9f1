"""Pieces of Spark SQL that several rules' queries share: lists of literals, and aggregates with a total order.

An aggregate that depends on the order of its rows would have other results on a cluster than in one process. Each one
here orders by time and then by id.
"""

from collections.abc import Iterable

MOST_EVIDENCE = 100
"""Largest number of evidence entries and of connections of a finding."""


def literals(values: Iterable[str | int]) -> str:
    """Returns the values as the right side of `in`: `('A', 'B')`, sorted."""
    return f"({', '.join(repr(value) for value in sorted(values))})"


def first_ids(request_id: str = "request_id", at_ns: str = "ts_ns", most: int = MOST_EVIDENCE) -> str:
    """Returns an aggregate for the first request ids in order of time. Repeated ids are not removed."""
    return f"min_by({request_id}, if({request_id} is null, null, struct({at_ns}, {request_id})), {most})"


def joined_lists(lists: str, order: str) -> str:
    """Returns an aggregate that concatenates the lists of all rows. order: columns that order the rows,
    comma-separated."""
    return f"flatten(transform(array_sort(collect_list(struct({order}, {lists} as list))), each -> each.list))"


def sorted_set(value: str) -> str:
    """Returns an aggregate for the distinct values without null, sorted."""
    return f"array_sort(collect_set({value}))"


FIRST_OF_KIND = "struct(ts_ns, concat(conn_id, '-', first_number) as request_id)"
"""Expression over a row of usage events for the time and the id of the first request of the kind."""

SEEN = f"""
    count(distinct request_id) as n, min(ts_ns) as first_ns, max(ts_ns) as last_ns,
    {first_ids()} as evidence, collect_set(conn_id) as conn_ids"""
"""Aggregates over rows with request_id, conn_id and ts_ns: number, times and ids of requests."""

SEVERAL_CLIENTS = f"""
    count(distinct client_instance_id) as n_clients, min(client_ip) as client_ip,
    if(count(distinct client_instance_id) > 1, null, min(client_instance_id)) as client_instance_id,
    {sorted_set("software_name")} as software_names, min(first_ns) as first_ns, max(last_ns) as last_ns,
    {first_ids("sample.request_id", "sample.ts_ns")} as evidence, collect_set(conn_id) as conn_ids"""
"""Aggregates over connections of one client id, with `sample` (ts_ns and request_id of the first request of interest).
client_instance_id is null when several client instances use the id."""
