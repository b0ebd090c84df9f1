"""Groups the encrypted connections of one client address into clients by their TLS hellos, because client ids are not
known.

Connections whose hellos offer the same cipher suites use the same library and settings. Among these, connections that
seem to produce form one client, and those that seem to fetch or to talk to a coordinator another one, as most programs
use a separate client object for each. A connection of unknown purpose belongs to the client of the next connection with
a known one, because a client's first connections only discover the cluster. Several clients that agree in all this
cannot be distinguished, so each group is marked as shared.

A connection that ended at the TLS handshake belongs to the only client of the address whose decrypted connections offer
the same cipher suites.
"""

from collections import defaultdict
from collections.abc import Iterable

from kafkascope_analyzer.dataset.tables.connections import CONSUMER_JOBS
from kafkascope_parsers.tls.ja4 import suites_of
from kafkascope_spark.stories.clients.identity.grouping import Group
from kafkascope_spark.stories.model import Connection

WHY = "encrypted: one by address, cipher suites of its TLS hello, and whether it seems to produce or to consume"


def group_by_hello(connections: Iterable[Connection]) -> list[Group]:
    """Returns the groups, in order of their first segment."""
    alike: dict[str, list[Connection]] = defaultdict(list)
    for connection in sorted(connections, key=lambda c: (c.begin_ns, c.conn_id)):
        alike[suites_of(connection.tls_ja4) if connection.tls_ja4 else ""].append(connection)
    groups = [Group(mine, shared=True, why=WHY) for each in alike.values() for mine in _by_job(each)]
    return sorted(groups, key=lambda group: group.first_ns)


def attach_by_hello(ended: Iterable[Connection], groups: list[Group]) -> list[Connection]:
    """Adds each connection that ended at the TLS handshake to the only group of decrypted connections whose hellos
    offer the same cipher suites. Returns the connections that match no group; those that match several are dropped,
    because their client is not known."""
    owners: dict[str, list[Group]] = defaultdict(list)
    for group in groups:
        for suites in {suites_of(c.tls_ja4) for c in group.connections if c.tls_ja4}:
            owners[suites].append(group)
    left = []
    for connection in ended:
        like = owners[suites_of(connection.tls_ja4)] if connection.tls_ja4 else []
        if len(like) == 1:
            like[0].connections.append(connection)
        elif not like:
            left.append(connection)
        for group in like if len(like) > 1 else ():
            group.n_ambiguous_attempts += 1
    return left


def _by_job(connections: list[Connection]) -> Iterable[list[Connection]]:
    """Yields the connections of each client. connections: in order of time."""
    found: dict[bool, list[Connection]] = defaultdict(list)
    waiting: list[Connection] = []
    reads = False
    for connection in connections:
        waiting.append(connection)
        if connection.claimed_job is not None:
            reads = connection.claimed_job in CONSUMER_JOBS
            found[reads] += waiting
            waiting = []
    found[reads] += waiting
    return [mine for mine in found.values() if mine]
