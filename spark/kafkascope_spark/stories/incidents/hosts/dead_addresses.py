"""Dead addresses of a DNS name: nobody was ever served at the address, while other addresses of the same name serve. A
client that tries such an address first goes on to the next address of the name."""

from collections import defaultdict
from collections.abc import Iterable

from kafkascope_spark.stories.incidents.failures.failure import SECOND, Failure
from kafkascope_spark.stories.incidents.kinds.dead_address import DEAD_ADDRESS
from kafkascope_spark.stories.incidents.signals.lookup_run import LookupRun
from kafkascope_spark.stories.servers.table import BrokerState


def mark_dead_addresses(failures: Iterable[Failure], runs: Iterable[LookupRun], states: Iterable[BrokerState]) -> None:
    """Changes failures of listeners to kind `dead_address` if every address of the listener has a name with another
    address that served. runs: answers of name servers; states: rows of broker_states."""
    of_listeners = [failure for failure in failures if failure.kind.of_listener]
    if not of_listeners:
        return
    addresses = _addresses_of(runs)
    serving = {(row.server_ip, str(row.server_port)) for row in states if row.state == "serving"}
    for failure in of_listeners:
        names = [_name_of(server, addresses, serving) for server in sorted(failure.servers)]
        if names and None not in names:
            which = ", ".join(f"{server} ({name})" for server, name in zip(sorted(failure.servers), names, strict=True))
            failure.kind, failure.subject, failure.waited_ms = DEAD_ADDRESS, which, _waited_ms(failure)


def _addresses_of(runs: Iterable[LookupRun]) -> dict[str, set[str]]:
    """Returns the addresses of each name that has several."""
    found: dict[str, set[str]] = defaultdict(set)
    for run in runs:
        for name, *addresses in run.several:
            found[name].update(addresses)
    return found


def _name_of(server: str, addresses: dict[str, set[str]], serving: set[tuple[str, str]]) -> str | None:
    """Returns the first name of the address of which another address served at the same port; None if there is none."""
    ip, _, port = server.rpartition(":")
    names = (name for name, mine in sorted(addresses.items()) if ip in mine and _serves(mine - {ip}, port, serving))
    return next(names, None)


def _serves(addresses: set[str], port: str, serving: set[tuple[str, str]]) -> bool:
    return any((address, port) in serving for address in addresses)


def _waited_ms(failure: Failure) -> int:
    """Returns the longest time that a client needed to go on to another address; 0 if that is less than a second."""
    waited = (
        row.reconnected_ns - row.failing_since_ns
        for row in failure.recoveries
        if row.resource_kind == "connection" and row.reconnected_ns is not None
    )
    longest_ns = max(waited, default=0)
    return longest_ns // 1_000_000 if longest_ns >= SECOND else 0
