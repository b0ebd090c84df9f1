"""Assigns DNS look-ups to client instances: a packet shows only the host that sent the query.

A name that was resolved belongs to the instance of that host which connects first to one of its addresses within
SOON_NS. A name that was not resolved belongs to the only instance that read it in a Metadata response, or else to the
only instance of the host.
"""

from dataclasses import dataclass

from kafkascope_analyzer.dataset.tables.event_kinds.connections import Lookup
from kafkascope_spark.stories.clients.identity.instances import Instance
from kafkascope_spark.stories.model import Connection
from kafkascope_spark.stories.startups.steps import Step

SOON_NS = 5_000_000_000
"""A client connects right after the DNS response; it may try other addresses of the same name first."""
BEFORE_NS = 5_000_000_000
"""Longest time from a look-up of a start to its first SYN: resolvers repeat a query after 5 s."""


@dataclass(frozen=True, slots=True)
class ClientLookup:
    """A DNS look-up, the client instance that needed it, and the connection that followed, if one did."""

    lookup: Lookup
    instance_id: str
    connection: Connection | None


def client_lookups(lookups: list[Lookup], instances: list[Instance]) -> list[ClientLookup]:
    """The look-ups that can be assigned to one client instance, in order of time."""
    if not lookups:
        return []
    opened: dict[str, list[tuple[Connection, Instance]]] = {}
    for instance in instances:
        for connection in instance.connections:
            opened.setdefault(connection.server.rpartition(":")[0], []).append((connection, instance))
    assigned = (_assign(lookup, instances, opened) for lookup in lookups)
    return sorted((a for a in assigned if a is not None), key=lambda a: (a.lookup.ts_ns, a.lookup.name))


def _assign(
    lookup: Lookup, instances: list[Instance], opened: dict[str, list[tuple[Connection, Instance]]]
) -> ClientLookup | None:
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
        return ClientLookup(lookup, instance.instance_id, connection)
    informed = [i for i in instances if any(_has_read(c, lookup.name) for c in i.connections)]
    candidates = informed or instances
    return ClientLookup(lookup, candidates[0].instance_id, None) if len(candidates) == 1 else None


def _has_read(connection: Connection, name: str) -> bool:
    """Whether a Metadata response on the connection named the host."""
    return any(server.rpartition(":")[0].rstrip(".").lower() == name for server in connection.named_servers)


def dns_step(resolved: ClientLookup) -> Step:
    """The step of a look-up: from the query to the response."""
    lookup, connection = resolved.lookup, resolved.connection
    answered = lookup.answer_ns is not None
    refused = answered and lookup.rcode not in (None, "NOERROR")
    empty = answered and not refused and not lookup.addresses
    return Step(
        name="dns",
        order_key=f"-{lookup.name}",
        conn_id=connection.conn_id if connection is not None else "",
        node_id=connection.node_id if connection is not None else None,
        start_ns=lookup.ts_ns,
        end_ns=max(lookup.ts_ns, lookup.answer_ns if lookup.answer_ns is not None else lookup.ts_ns),
        broker_us=None,
        subject=lookup.name,
        outcome="error" if refused or empty else "ok" if answered else "unanswered",
        error_name=lookup.rcode if refused else "NO_ADDRESS" if empty else None,
    )
