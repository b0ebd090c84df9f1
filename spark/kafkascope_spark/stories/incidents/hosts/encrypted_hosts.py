"""Hosts that waited for a broker on encrypted connections without known keys. The capture shows that they waited, but
not for which request, so whether their clients stalled is not known. Hosts are left out if the lengths of TLS records
show which client probably stalled."""

from collections.abc import Callable, Collection, Iterable

from kafkascope_spark.stories.incidents.failures.failure import Failure
from kafkascope_spark.stories.servers.table import BrokerState

_NOTHING_COMES = frozenset({"silent", "frozen", "down", "refusing", "host_silent", "not_accepting"})
"""States in which a waiting host receives nothing."""


def give_encrypted_hosts(
    failures: Iterable[Failure], ask: Callable[[Collection[str]], Collection[tuple[str, str]]]
) -> None:
    """Sets the encrypted hosts of each failure, and the longest time that one of them waited. ask: returns the pairs of
    host and server with encrypted connections, for some servers (`address:port`)."""
    waiting = {
        failure: [row for row in failure.states if row.host_kind == "client" and row.state in _NOTHING_COMES]
        for failure in failures
    }
    servers = {row.server for rows in waiting.values() for row in rows}
    pairs = ask(servers) if servers else ()
    for failure, rows in waiting.items():
        claimed = {stall.client_ip for stall in failure.stalls if stall.claimed}
        encrypted = [row for row in rows if (row.host, row.server) in pairs and row.host not in claimed]
        failure.encrypted_hosts = frozenset(row.host for row in encrypted)
        failure.waited_ms = max([failure.waited_ms, *map(_waited_ms, encrypted)])


def _waited_ms(row: BrokerState) -> int:
    """Returns how long the host waited: from the first packet that shows it to the next state."""
    until_ns = row.shown_to_ns if row.to_ns is None else row.to_ns
    return max(until_ns - row.shown_from_ns, 0) // 1_000_000
