"""Whose was a question to a name server: the wire shows the host that asked, not the client object.

A name that was found belongs to the client object of the host that connects first to one of its addresses within
SOON_NS. A name that was not found belongs to the one that was told of it by Metadata; else to the only one there is.
"""

from dataclasses import dataclass

from kafkascope_spark.identity.instances import Instance
from kafkascope_spark.startups.steps import Step
from kafkascope_spark.wire import Connection, Lookup

SOON_NS = 5_000_000_000
"""A client connects right after the answer; it may try other addresses of the same name first."""
BEFORE_NS = 5_000_000_000
"""How long before its first SYN the look-ups of a start may be: resolvers ask again after 5 s."""


@dataclass(frozen=True, slots=True)
class Asked:
    """A look-up, the client object that needed it and the connection that followed, if one did."""

    lookup: Lookup
    instance_id: str
    connection: Connection | None


def lookups_of(lookups: list[Lookup], instances: list[Instance]) -> list[Asked]:
    """The look-ups that can be told to be of one client object, by time."""
    if not lookups:
        return []
    opened: dict[str, list[tuple[Connection, Instance]]] = {}
    for instance in instances:
        for connection in instance.connections:
            opened.setdefault(connection.server.rpartition(":")[0], []).append((connection, instance))
    found = (_asked(lookup, instances, opened) for lookup in lookups)
    return sorted((a for a in found if a is not None), key=lambda a: (a.lookup.ts_ns, a.lookup.name))


def _asked(
    lookup: Lookup, instances: list[Instance], opened: dict[str, list[tuple[Connection, Instance]]]
) -> Asked | None:
    if lookup.found and lookup.answer_ns is not None:
        since = lookup.answer_ns
        near = [
            (c.begin_ns, c.conn_id, c, i)
            for address in lookup.addresses
            for c, i in opened.get(address, ())
            if since <= c.begin_ns <= since + SOON_NS
        ]
        if not near:
            return None
        _, _, connection, instance = min(near, key=lambda n: n[:2])
        return Asked(lookup, instance.instance_id, connection)
    told = [i for i in instances if any(_names(c, lookup.name) for c in i.connections)]
    candidates = told or instances
    return Asked(lookup, candidates[0].instance_id, None) if len(candidates) == 1 else None


def _names(connection: Connection, name: str) -> bool:
    return any(server.rpartition(":")[0].rstrip(".").lower() == name for server in connection.told)


def dns_step(asked: Asked) -> Step:
    """The step: from the question to the answer."""
    lookup, connection = asked.lookup, asked.connection
    answered = lookup.answer_ns is not None
    refused = answered and lookup.rcode not in (None, "NOERROR")
    empty = answered and not refused and not lookup.addresses
    return Step(
        name="dns",
        tie=f"-{lookup.name}",
        conn_id=connection.conn_id if connection is not None else "",
        node_id=connection.node_id if connection is not None else None,
        start_ns=lookup.ts_ns,
        end_ns=max(lookup.ts_ns, lookup.answer_ns if lookup.answer_ns is not None else lookup.ts_ns),
        broker_us=None,
        subject=lookup.name,
        outcome="error" if refused or empty else "ok" if answered else "unanswered",
        error_name=lookup.rcode if refused else "NO_ADDRESS" if empty else None,
    )
