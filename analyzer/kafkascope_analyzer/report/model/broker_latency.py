"""How fast each broker answered each API, and how much of it was the broker's and how much the network's.

broker: last byte of the request to first byte of the response, as the capture saw it (`requests.latency_us`). network:
the bytes' own time on the way, first to last byte of the request and of the response. What the way there and back adds
to the broker's time depends on where the capture was taken: `round_trip`, from SYN to SYN-ACK, says how much that is.
"""

from dataclasses import dataclass
from typing import Annotated

from kafkascope_analyzer.report.formatting import ADDRESS_SQL
from kafkascope_analyzer.report.model.latency import Percentiles, percentiles_sql
from kafkascope_analyzer.report.rows import select
from kafkascope_analyzer.sql.database import Database

MOST_PAIRS = 500
"""Pairs of API and broker in report.json, those with the most requests."""


@dataclass(frozen=True, slots=True)
class RoundTrip:
    """Round trips to a broker."""

    node_id: Annotated[int | None, "node id of the broker"]
    address: Annotated[str | None, "its address, where the node id is not known"]
    n_handshakes: Annotated[int, "handshakes seen"]
    round_trip_p50_us: Annotated[int | None, "SYN to SYN-ACK, median"]
    round_trip_p99_us: Annotated[int | None, "99th percentile"]


@dataclass(frozen=True, slots=True)
class LatencyPair:
    """How fast a broker answered an API."""

    api_name: Annotated[str, "API"]
    node_id: Annotated[int | None, "node id of the broker"]
    address: Annotated[str | None, "its address, where the node id is not known"]
    n: Annotated[int, "answered requests"]
    broker_p50_us: Annotated[int | None, "last byte of the request to first byte of the response, median"]
    broker_p99_us: Annotated[int | None, "99th percentile"]
    network_p50_us: Annotated[int | None, "first to last byte of the request and of the response, median"]
    network_p99_us: Annotated[int | None, "99th percentile"]
    max_us: Annotated[int | None, "longest time at the broker"]


@dataclass(frozen=True, slots=True)
class BrokerLatency:
    """How fast each broker answered each API."""

    brokers: Annotated[tuple[RoundTrip, ...], "round trips as the capture saw them: part of the broker's time"]
    n: Annotated[int, "pairs of API and broker"]
    listed: Annotated[tuple[LatencyPair, ...], "pairs, those with most requests first, at most 500"]


@dataclass(frozen=True, slots=True)
class _OfServer(Percentiles):
    node_id: int | None
    address: str | None


@dataclass(frozen=True, slots=True)
class _OfPair(Percentiles):
    api_name: str
    node_id: int | None
    address: str | None

    @property
    def key(self) -> tuple[str, int | None, str | None]:
        """The API and the broker."""
        return self.api_name, self.node_id, self.address


_SERVER = {
    "node_id": "node_id",
    "address": f"case when node_id is null then {ADDRESS_SQL.format(ip='server_ip', port='server_port')} end",
}
"""A broker by its node id; by its address where that is not known."""
_PAIR = {"api_name": "coalesce(nullif(api_name, ''), '?')", **_SERVER}
_ANSWERED = "(from requests where latency_us is not null)"
_NETWORK = """(coalesce(coalesce(request_last_ns, ts_ns) - ts_ns
    + coalesce(response_last_ns, response_ns) - response_ns, 0) // 1000)"""


def broker_latency(database: Database) -> BrokerLatency:
    """Round trips by broker, and the pairs of API and broker with most requests first."""
    brokers = select(database, percentiles_sql(_PAIR, "latency_us", _ANSWERED), _OfPair)
    networks = {row.key: row for row in select(database, percentiles_sql(_PAIR, _NETWORK, _ANSWERED), _OfPair)}
    listed = [_pair(row, networks[row.key]) for row in brokers]
    listed.sort(key=lambda row: (-row.n, row.api_name, row.node_id or -1, row.address or ""))
    return BrokerLatency(_round_trips(database), len(listed), tuple(listed[:MOST_PAIRS]))


def _pair(broker: _OfPair, network: _OfPair) -> LatencyPair:
    return LatencyPair(
        api_name=broker.api_name,
        node_id=broker.node_id,
        address=broker.address,
        n=broker.n,
        broker_p50_us=broker.p50_us,
        broker_p99_us=broker.p99_us,
        network_p50_us=network.p50_us,
        network_p99_us=network.p99_us,
        max_us=broker.max_us,
    )


def _round_trips(database: Database) -> tuple[RoundTrip, ...]:
    """Handshakes by broker: how many, median and 99th percentile."""
    kafka = "(from connections where protocol = 'kafka')"
    found = select(database, percentiles_sql(_SERVER, "handshake_us", kafka), _OfServer)
    found.sort(key=lambda row: (row.node_id is None, row.node_id or 0, row.address or ""))
    return tuple(RoundTrip(row.node_id, row.address, row.n, row.p50_us, row.p99_us) for row in found[:MOST_PAIRS])
