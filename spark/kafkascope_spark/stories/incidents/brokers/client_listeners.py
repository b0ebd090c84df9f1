"""At which address reports name a broker that failed: that of the listener that clients use. A broker has others for
brokers and controllers, at which the failure may have been seen first."""

from collections import defaultdict
from collections.abc import Iterable

from kafkascope_spark.stories.incidents.failures.failure import Failure
from kafkascope_spark.stories.servers.table import BrokerState


def name_by_client_listeners(failures: Iterable[Failure], states: Iterable[BrokerState]) -> None:
    """Names brokers by the listener at which most hosts with clients saw the failure; where it failed for everybody and
    none of them did, by the one that most of them used. states: rows of broker_states."""
    used: dict[int, list[BrokerState]] = defaultdict(list)
    for row in states:
        if row.node_id is not None and row.host_kind == "client":
            used[row.node_id].append(row)
    for failure in failures:
        if failure.node_id is None or not failure.states or failure.subject not in _names(failure.states):
            continue
        elsewhere = [] if failure.hosts else used[failure.node_id]
        named = _most_used(failure.states) or _most_used(elsewhere)
        if named is not None:
            failure.subject, failure.server = named.broker, named.server


def _names(states: Iterable[BrokerState]) -> frozenset[str]:
    return frozenset(row.broker for row in states)


def _most_used(states: Iterable[BrokerState]) -> BrokerState | None:
    """A row of the address that most hosts with clients used; None where none did."""
    at: dict[str, dict[str, BrokerState]] = defaultdict(dict)
    for row in states:
        if row.host_kind == "client" and row.node_id is not None:
            at[row.server].setdefault(row.host, row)
    hosts = max((at[server] for server in sorted(at)), key=len, default={})
    return next(iter(hosts.values()), None)
