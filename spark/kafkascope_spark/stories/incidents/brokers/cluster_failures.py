"""Failures of the whole cluster: all brokers failed at the same time. The failures of the brokers are its parts."""

from collections.abc import Collection, Iterable, Iterator, Sequence

from kafkascope_analyzer.dataset.stretches import FOREVER
from kafkascope_spark.stories.incidents.extent.brackets import fault_of
from kafkascope_spark.stories.incidents.failures.failure import UNSERVED, Failure
from kafkascope_spark.stories.incidents.failures.fault import Fault
from kafkascope_spark.stories.incidents.kinds.cluster_down import CLUSTER_DOWN
from kafkascope_spark.stories.incidents.kinds.hosts_cut import HOSTS_CUT
from kafkascope_spark.stories.servers.table import BrokerState

LEAST_BROKERS = 2


def cluster_failures(failures: Iterable[Failure], states: Iterable[BrokerState]) -> Iterator[Failure]:
    """Yields the failures of the cluster. Their parts follow from them (`root`) and hand over their stalls, recoveries
    and rebalances; call this after these have been attributed. states: rows of broker_states."""
    serving = [row for row in states if row.state == "serving" and row.host_kind == "client"]
    brokers = {row.broker_key for row in serving if row.node_id is not None}
    if len(brokers) < LEAST_BROKERS:
        brokers = {row.broker_key for row in serving}
    of_brokers = [f for f in failures if f.is_of_broker and f.kind.cuts_clients and not brokers.isdisjoint(_keys(f))]
    for group in _at_one_time(of_brokers):
        if len(brokers) >= LEAST_BROKERS and brokers <= {key for failure in group for key in _keys(failure)}:
            yield _of_parts(group, {row.server for row in serving if row.broker_key not in brokers})


def mark_cut_hosts(failures: Iterable[Failure]) -> None:
    """Makes failures of the cluster such of the way to it where other hosts were served by the same brokers meanwhile.
    Call this after the places are known."""
    for failure in failures:
        if failure.kind is CLUSTER_DOWN and failure.contrast.hosts_beside:
            failure.kind, failure.subject = HOSTS_CUT, "all brokers"
            failure.hosts = frozenset(row.host for row in failure.states if row.host_kind == "client")


def _own(failure: Failure) -> list[BrokerState]:
    """Returns the states of the failed broker itself. A failure may also have states of other brokers that the failed
    one did not reach."""
    return [row for row in failure.states if row.server in failure.servers]


def _keys(failure: Failure) -> set[str]:
    return {row.broker_key for row in _own(failure)}


def _proven(failure: Failure) -> tuple[int, int]:
    """Returns the first and the last time at which packets prove that the broker had failed."""
    own = _own(failure)
    return min(row.shown_from_ns for row in own), max(row.shown_to_ns for row in own)


def _at_one_time(failures: Iterable[Failure]) -> Iterator[list[Failure]]:
    """Yields groups of failures whose proven times all overlap."""
    group: list[Failure] = []
    for failure in sorted(failures, key=_proven):
        until = min((_proven(each)[1] for each in group), default=FOREVER)
        if group and _proven(failure)[0] > until:
            yield group
            group = []
        group.append(failure)
    if group:
        yield group


def _of_parts(parts: Sequence[Failure], others: Collection[str]) -> Failure:
    """others: addresses of no known broker that served clients, such as that of a load balancer for bootstrapping."""
    ends = [part.end_ns for part in parts]
    cluster = Failure(
        CLUSTER_DOWN,
        "cluster",
        min(part.start_ns for part in parts),
        None if None in ends else max(end for end in ends if end is not None),
        states=[state for part in parts for state in part.states],
    )
    cluster.fault = _fault(parts)
    _give_harm(cluster, parts)
    cluster.beside = frozenset(others)
    waits = (row.last_failed_ns - row.start_ns for row in cluster.recoveries if row.outcome in UNSERVED)
    cluster.waited_ms = max(waits, default=0) // 1_000_000
    return cluster


def _fault(parts: Sequence[Failure]) -> Fault:
    """Returns the times of the fault. It began between the last packet that shows that no broker had failed and the
    first that shows that all had, and ended between the last that shows that all still had and the first that shows
    that all work again. Hosts that go on waiting when a broker serves others again, for example because they do not
    know its new address, count until then."""
    rows = [[row for row in part.states if row.host_kind == "client"] or part.states for part in parts]
    over = [[row.after_ns for row in of_part if row.after_ns is not None] for of_part in rows]
    return Fault(
        min(start_ns for part in parts if (start_ns := fault_of(part).start_after_ns) is not None),
        max(min(row.shown_from_ns for row in of_part) for of_part in rows),
        min(
            min(max(row.shown_to_ns for row in of_part), FOREVER if part.end_ns is None else part.end_ns)
            for part, of_part in zip(parts, rows, strict=True)
        ),
        max(min(ends) for ends in over) if all(over) else None,
    )


def _give_harm(cluster: Failure, parts: Sequence[Failure]) -> None:
    """Gives the failure of the cluster the stalls, recoveries and rebalances of its parts: a client that waited for one
    broker could not have been served by another."""
    for part in parts:
        part.root = cluster
        cluster.stalls += part.stalls
        cluster.rebalances += part.rebalances
        cluster.servers |= part.servers
        for recovery in part.recoveries:
            cluster.take_recovery(recovery)
    own = {stall.stall_id for stall in cluster.stalls}
    earlier = {stall.stall_id: stall for part in parts for stall in part.earlier_stalls}
    cluster.earlier_stalls = [stall for stall_id, stall in earlier.items() if stall_id not in own]
    for part in parts:
        part.stalls, part.earlier_stalls, part.rebalances, part.outlasting = [], [], [], set()
        part.recoveries, part.recoveries_of, part.client_instance_ids = [], {}, set()
