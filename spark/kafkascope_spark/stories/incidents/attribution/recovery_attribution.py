"""Attributes each recovery to a failure: the client had to recover from an error of the failed broker, or from effects
of the failure at other brokers."""

from collections.abc import Callable, Iterable, Iterator
from itertools import islice

from kafkascope_parsers.error_facts import (
    AT_NODE,
    COORDINATOR_MOVED,
    FOLLOWS,
    FOLLOWS_FOR_THE_SAME,
    LED_ELSEWHERE,
    errors_about,
)
from kafkascope_spark.stories.incidents.clients.client_failures import AFTER_SILENCE
from kafkascope_spark.stories.incidents.failures.failure import SECOND, Failure, is_stuck
from kafkascope_spark.stories.incidents.failures.failure_index import Failures, Key, followed_until_ns
from kafkascope_spark.stories.incidents.signals.misuse import Misuse
from kafkascope_spark.stories.recoveries.causes import FOLLOWS_NS
from kafkascope_spark.stories.recoveries.client_recovery import ClientRecovery

MOVED = errors_about("leader", "coordinator")
"""Errors of a broker that is no longer, or not yet, leader or coordinator."""
OF_SETTINGS = errors_about("connection", "authentication")
"""Errors of a client whose settings do not fit a listener."""
UNKNOWN_AFTER_START = frozenset({"UNKNOWN_TOPIC_OR_PARTITION", "UNKNOWN_TOPIC_ID"})
"""Errors of a broker without metadata of the topic."""
_TOO_EARLY = COORDINATOR_MOVED & LED_ELSEWHERE
"""Errors of a broker that does not know yet that it is the coordinator."""
_OVERTAKEN = frozenset({"OUT_OF_ORDER_SEQUENCE_NUMBER"})
"""Errors of an idempotent producer that had several batches in flight to a failed broker: the next leader may receive
later batches first, and refuses them until it has the earlier ones."""
MAY_OUTLAST = frozenset({"COORDINATOR_LOAD_IN_PROGRESS", "LEADER_NOT_AVAILABLE"})
"""Errors that brokers return for a while after a failure, and that a failure which is over does not explain for
long."""
_OF_ALL: Key = ("broker", None)
"""Key of failures of brokers that cause errors at other brokers."""
_AT_NODE: dict[str, frozenset[str]] = {
    "zookeeper": MOVED,
    "down": AT_NODE | UNKNOWN_AFTER_START,
    "other": AT_NODE,
}
"""Errors that a failed broker itself may return, by the way of failing. A broker that lost its ZooKeeper session
continues to serve, and responds that it is no longer the leader. A broker that restarts knows no topic until it has the
metadata from the controller."""


def failures_by_resource(failures: Iterable[Failure]) -> Failures:
    """Returns the index of failures that attribute_recoveries needs."""
    return Failures(failures, _keys, followed_until_ns)


def attribute_recoveries(recoveries: Iterable[ClientRecovery], known: Failures) -> list[ClientRecovery]:
    """Adds each recovery to the failure from which it follows: of several, to that of its own broker, else to the
    latest. Returns the recoveries that follow from none. known: result of failures_by_resource."""
    left = []
    for recovery in recoveries:
        following = known.in_order(_following(recovery, known))
        failure = max(following, key=lambda f: (_is_at(recovery, f), f.start_ns), default=None)
        if failure is None:
            left.append(recovery)
        else:
            failure.take_recovery(recovery)
    return left


def _keys(failure: Failure) -> Iterator[Key]:
    """Yields the keys under which recoveries look up a failure."""
    yield from (("client", silence.client_instance_id) for silence in failure.silences)
    if failure.misuse is not None:
        yield from (("client", client) for client in failure.misuse.client_instance_ids)
    elif failure.kind.between_brokers:
        yield from (("replica", state.node_id) for state in failure.states)
    elif failure.kind.of_listener:
        yield from (("server", server) for server in failure.servers)
    elif not failure.silences:
        yield _way_of_failing(failure), failure.node_id
    if failure.servers and failure.node_id is None:
        yield from (("kept out", host) for host in failure.kept_out)
    if failure.kind.holds_replicas:
        yield _OF_ALL
    if failure.is_of_broker:
        yield _OF_ALL
        yield from (("host", state.host) for state in failure.states)


def _way_of_failing(failure: Failure) -> str:
    """Returns the key of _AT_NODE for a failure."""
    if failure.kind.by_session:
        return "zookeeper"
    return "down" if failure.kind.restarts else "other"


def _following(recovery: ClientRecovery, known: Failures) -> Iterator[Failure]:
    """Yields the failures from which a recovery may follow: for each key, the one that began last. Of failed paths
    between brokers all are yielded, because their keys do not distinguish the recovery's own broker."""
    error, start = recovery.first_error_name, recovery.failing_since_ns
    keys: list[Key] = [(way, recovery.old_node_id) for way, errors in _AT_NODE.items() if error in errors]
    keys += [("client", recovery.client_instance_id), ("server", recovery.resource)]
    keys += [_OF_ALL] if _may_follow(recovery) else []
    for key in keys:
        yield from islice(_those_that(_follows, recovery, known.latest(key, start, start + SECOND)), 1)
    if error in _TOO_EARLY:
        lost = known.latest(("host", recovery.client_ip), start, start + SECOND)
        yield from islice(_those_that(_is_too_early, recovery, lost), 1)
    if recovery.resource_kind == "connection":
        away = known.latest(("kept out", recovery.client_ip), start, start + SECOND)
        yield from islice(_those_that(_is_kept_out, recovery, away), 1)
    if error in FOLLOWS:
        paths = known.latest(("replica", recovery.old_node_id), start, start + SECOND)
        yield from _those_that(_follows, recovery, paths)


def _those_that(
    follows: Callable[[ClientRecovery, Failure], bool], recovery: ClientRecovery, failures: Iterable[Failure]
) -> Iterator[Failure]:
    return (failure for failure in failures if follows(recovery, failure))


def _follows(recovery: ClientRecovery, failure: Failure) -> bool:
    """Whether a recovery follows from a failure with the same key: from an error of the failed broker itself, or from
    an effect at other brokers. If brokers do not reach each other, their clients wait for replication."""
    error, start = recovery.first_error_name, recovery.failing_since_ns
    if failure.silences:
        ended = failure.end_ns is None or start <= failure.end_ns + FOLLOWS_NS
        return ended and start >= failure.start_ns and error in AFTER_SILENCE
    if failure.misuse is not None:
        return error in OF_SETTINGS and _is_of_misuse(recovery, failure, failure.misuse)
    if not _is_of_time(recovery, failure) or _outlasts(recovery, failure):
        return False
    if failure.kind.between_brokers:
        return error in FOLLOWS
    if not failure.reaches(recovery.client_ip):
        return False
    is_of_broker = failure.is_of_broker or failure.kind.holds_replicas
    follows = is_of_broker and _may_follow(recovery)
    return failure.kind.of_listener or _is_at(recovery, failure) or follows


def _may_follow(recovery: ClientRecovery) -> bool:
    """Whether a failed broker may cause the error at other brokers."""
    error = recovery.first_error_name
    is_overtaken = error in _OVERTAKEN and recovery.outcome == "recovered"
    return is_overtaken or error in FOLLOWS | FOLLOWS_FOR_THE_SAME


def _is_of_time(recovery: ClientRecovery, failure: Failure) -> bool:
    """Whether the recovery began during the failure, up to a second before it, or up to FOLLOWS_NS after it."""
    start = recovery.failing_since_ns
    return start >= failure.start_ns - SECOND and (failure.end_ns is None or start <= failure.end_ns + FOLLOWS_NS)


def _outlasts(recovery: ClientRecovery, failure: Failure) -> bool:
    """Whether a client never succeeded, although the failure had been over for longer than anything follows from it: a
    coordinator that does not finish loading, or a partition that has no leader although its broker is back, has a
    cause of its own."""
    if recovery.first_error_name not in MAY_OUTLAST or failure.end_ns is None or not is_stuck(recovery):
        return False
    return recovery.last_failed_ns - failure.end_ns > FOLLOWS_NS


def _is_of_misuse(recovery: ClientRecovery, failure: Failure, misuse: Misuse) -> bool:
    """Whether the recovery is of a client that no listener accepts, or of a client at the listener that does not fit
    its settings."""
    client = recovery.client_instance_id
    at_it = recovery.resource_kind == "authentication" or recovery.resource in misuse.servers
    return client in failure.client_instance_ids or (at_it and client in misuse.client_instance_ids)


def _is_too_early(recovery: ClientRecovery, failure: Failure) -> bool:
    """Whether a client that lost its coordinator with the broker sent a request to the next coordinator too early:
    other brokers report it as soon as the controller has chosen it, before it knows that it is the coordinator.
    failure: failure of a broker that the client's host saw, too."""
    goes_on = failure.end_ns is None or recovery.failing_since_ns <= failure.end_ns
    return goes_on and _is_of_time(recovery, failure) and recovery.first_error_name in _TOO_EARLY


def _is_kept_out(recovery: ClientRecovery, failure: Failure) -> bool:
    """Whether the client lost a connection to a server that let its host have none at that time."""
    is_refused = recovery.resource in failure.servers and recovery.client_ip in failure.kept_out
    return recovery.resource_kind == "connection" and is_refused and _is_of_time(recovery, failure)


def _is_at(recovery: ClientRecovery, failure: Failure) -> bool:
    """Whether the recovery is from an error of the failed broker itself. A restarted broker knows no topic at first, so
    unknown-topic errors count only if the client recovered; a topic that stays unknown is missing."""
    if _is_kept_out(recovery, failure):
        return True
    error = recovery.first_error_name
    if recovery.old_node_id != failure.node_id or error not in _AT_NODE[_way_of_failing(failure)]:
        return False
    return error in AT_NODE or failure.kind.by_session or recovery.outcome == "recovered"
