"""Finds the servers of undecrypted TLS connections that speak Kafka.

It is certain where the cluster advertises the server, where a client's server name (SNI) is a host name that the
cluster advertises on that port, or where Kafka was read on another connection to the server. Otherwise the lengths of
records decide, and only where the port is not usual for another protocol and no client has ALPN in its hello, as web
clients do:

- the first exchange of most connections has the sizes of ApiVersions (a short request, and a long list in one TLS
  record), and messages of three TLS records or more end as those of Produce and Fetch do, with one of three bytes: no
  other protocol that is usual over TLS writes such records again and again;
- or the first exchanges have these sizes, and the host serves Kafka on another port, or the response has the very size
  that a server of Kafka on the same port gives: brokers of one release offer the same APIs;
- or one of its clients talks to a server of Kafka on the same port.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Set
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from kafkascope_analyzer.connections.nodes import Endpoint
from kafkascope_parsers.framing.layout import TLS

EVIDENCE_COLUMNS = ["protocol", "client_ip", "server_ip", "server_port", "seen_from_start"]
EVIDENCE_COLUMNS += ["n_by_lengths", "first_request_bytes", "first_response_bytes", "n_record_ends", "offers_alpn"]
_REQUEST_BYTES, _RESPONSE_BYTES = range(18, 160), range(150, 2_500)
"""Sizes of ApiVersions requests and responses: a request with a client id and the name of the client's software; a
response with 25 to 120 APIs, with features."""
_LEAST_ENDS = 3
_GREETED_SHARE = 0.5
"""Share of connections whose first exchange must have these sizes: some clients are configured with a version and do
not send ApiVersions."""
OTHER_PORTS = frozenset(
    {25, 143, 110, 389, 443, 465, 563, 587, 636, 853, 990, 993, 995, 1433, 1521, 2376, 2379, 2380, 3269, 3306, 3389}
    | {5061, 5222, 5223, 5432, 5671, 5986, 6379, 6443, 6514, 8080, 8443, 8883, 9200, 9243, 9300, 10250, 11211, 27017}
)
"""Ports on which other protocols are usual over TLS."""


@dataclass(frozen=True, slots=True)
class _Connection:
    """Facts about an encrypted connection. begun: whether the first exchange is known; greeting: bytes of its response
    where it looks like ApiVersions, else 0."""

    client: str
    server: Endpoint
    begun: bool
    greeting: int
    n_ends: int
    offers: bool


def kafka_servers(connections: Iterable[pa.Table], known: Set[Endpoint]) -> frozenset[Endpoint]:
    """Returns the servers of encrypted connections that speak Kafka. connections: EVIDENCE_COLUMNS; known: servers that
    certainly do."""
    by_server = defaultdict[Endpoint, list[_Connection]](list)
    for connection in _encrypted(connections):
        by_server[connection.server].append(connection)
    found = {server for server in by_server if server in known}
    likely = {server: ones for server, ones in by_server.items() if server not in found and _may_be_kafka(server, ones)}
    found |= {server for server, ones in likely.items() if sum(one.n_ends for one in ones) >= _LEAST_ENDS}
    addresses = {address for address, _ in known | found}
    found |= {server for server in likely if server[0] in addresses}
    sizes = {(server[1], one.greeting) for server in found for one in by_server[server]}
    found |= {server for server, ones in likely.items() if any((server[1], one.greeting) in sizes for one in ones)}
    near = {(one.client, server[1]) for server in found for one in by_server[server]}
    return frozenset(
        server
        for server, ones in by_server.items()
        if server in found or (_is_free(server, ones) and any((one.client, server[1]) in near for one in ones))
    )


def _encrypted(connections: Iterable[pa.Table]) -> Iterator[_Connection]:
    """Yields the connections with at least one request."""
    for table in connections:
        rows = table.select(EVIDENCE_COLUMNS)
        rows = rows.filter(pc.and_(pc.equal(rows["protocol"], TLS), pc.greater(rows["n_by_lengths"], 0)))
        for row in rows.to_pylist():
            request, response = row["first_request_bytes"], row["first_response_bytes"]
            begun = bool(row["seen_from_start"] and request and response)
            greets = begun and request in _REQUEST_BYTES and response in _RESPONSE_BYTES
            server = (row["server_ip"], row["server_port"])
            offers, n_ends = row["offers_alpn"], row["n_record_ends"]
            yield _Connection(row["client_ip"], server, begun, response if greets else 0, n_ends, offers)


def _is_free(server: Endpoint, connections: Iterable[_Connection]) -> bool:
    """Whether nothing shows that a server speaks another protocol."""
    return server[1] not in OTHER_PORTS and not any(one.offers for one in connections)


def _may_be_kafka(server: Endpoint, connections: list[_Connection]) -> bool:
    """Whether nothing shows another protocol, and most connections of the server begin as Kafka's do."""
    n_greeted, n_begun = sum(one.greeting > 0 for one in connections), sum(one.begun for one in connections)
    return _is_free(server, connections) and n_greeted > 0 and n_greeted >= _GREETED_SHARE * n_begun
