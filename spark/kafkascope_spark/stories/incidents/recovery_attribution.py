"""To which failure a recovery belongs: that from whose error, or from whose consequences elsewhere, the client had to
recover."""

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
from kafkascope_spark.stories.incidents.client_failures import AFTER_SILENCE
from kafkascope_spark.stories.incidents.failure import FOLLOWS_NS, SECOND, Failure
from kafkascope_spark.stories.incidents.failure_index import Failures, Key, followed_until_ns
from kafkascope_spark.stories.incidents.misuse import Misuse
from kafkascope_spark.stories.recoveries.client_recovery import ClientRecovery

MOVED = errors_about("leader", "coordinator")
"""Errors by which a broker says that it does not lead or coordinate any longer, or not yet."""
NOT_LET_IN = errors_about("connection", "authentication")
"""What a client meets whose settings do not fit a listener."""
UNKNOWN_AFTER_START = frozenset({"UNKNOWN_TOPIC_OR_PARTITION", "UNKNOWN_TOPIC_ID"})
"""Errors by which a broker says that it has no metadata of the topic."""
_TOO_EARLY = COORDINATOR_MOVED & LED_ELSEWHERE
"""What a broker answers that does not know yet that it is the coordinator."""
_OVERTAKEN = frozenset({"OUT_OF_ORDER_SEQUENCE_NUMBER"})
"""What an idempotent producer gets that had several batches on the way to a broker which failed: the next leader may
have those behind first, and refuses them until it has the others."""
_OF_ALL: Key = ("broker", None)
"""Key of the failures of brokers, from which errors follow elsewhere."""
_AT_NODE: dict[str, frozenset[str]] = {
    "zookeeper": MOVED,
    "down": AT_NODE | UNKNOWN_AFTER_START,
    "other": AT_NODE,
}
"""Errors that a failed broker itself may return, by how it failed. One that lost its ZooKeeper session goes on serving,
and says that it leads no longer. One that restarts knows no topic until its controller has named them."""


def failures_by_resource(failures: Iterable[Failure]) -> Failures:
    """The failures from which recoveries may follow, as attribute_recoveries looks them up."""
    return Failures(failures, _keys, followed_until_ns)


def attribute_recoveries(recoveries: Iterable[ClientRecovery], known: Failures) -> list[ClientRecovery]:
    """Gives each recovery to the failure from which it follows: of several to that of its own broker, else to the
    latest. Returns those that follow from none. known: failures_by_resource."""
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
    """What a failure concerns, of what recoveries are about."""
    yield from (("client", silence.client_instance_id) for silence in failure.silences)
    if failure.misuse is not None:
        yield from (("client", client) for client in failure.misuse.client_instance_ids)
    elif failure.kind.between_brokers:
        yield from (("replica", state.node_id) for state in failure.states)
    elif failure.kind.of_listener:
        yield from (("server", server) for server in failure.servers)
    elif not failure.silences:
        yield _way_of_failing(failure), failure.node_id
    if failure.kind.holds_replicas:
        yield _OF_ALL
    if failure.is_of_broker:
        yield _OF_ALL
        yield from (("host", state.host) for state in failure.states)


def _way_of_failing(failure: Failure) -> str:
    """A key of _AT_NODE."""
    if failure.kind.by_session:
        return "zookeeper"
    return "down" if failure.kind.restarts else "other"


def _following(recovery: ClientRecovery, known: Failures) -> Iterator[Failure]:
    """The failures from which a recovery follows: of those that concern the same, the last to begin. Of failed paths
    between brokers all: which of them is at the recovery's own broker, their keys do not say."""
    error, start = recovery.first_error_name, recovery.failing_since_ns
    keys: list[Key] = [(way, recovery.old_node_id) for way, errors in _AT_NODE.items() if error in errors]
    keys += [("client", recovery.client_instance_id), ("server", recovery.resource)]
    keys += [_OF_ALL] if _may_follow(recovery) else []
    for key in keys:
        yield from islice(_those_that(_follows, recovery, known.latest(key, start, start + SECOND)), 1)
    if error in _TOO_EARLY:
        lost = known.latest(("host", recovery.client_ip), start, start + SECOND)
        yield from islice(_those_that(_is_too_early, recovery, lost), 1)
    if error in FOLLOWS:
        paths = known.latest(("replica", recovery.old_node_id), start, start + SECOND)
        yield from _those_that(_follows, recovery, paths)


def _those_that(
    follows: Callable[[ClientRecovery, Failure], bool], recovery: ClientRecovery, failures: Iterable[Failure]
) -> Iterator[Failure]:
    return (failure for failure in failures if follows(recovery, failure))


def _follows(recovery: ClientRecovery, failure: Failure) -> bool:
    """Whether the recovery, which is about something that the failure concerns, is that of a client from the failed
    broker, or from what it brought about elsewhere. Brokers that do not reach each other let their clients wait for the
    other's replicas."""
    error, start = recovery.first_error_name, recovery.failing_since_ns
    if failure.silences:
        ended = failure.end_ns is None or start <= failure.end_ns + FOLLOWS_NS
        return ended and start >= failure.start_ns and error in AFTER_SILENCE
    if failure.misuse is not None:
        return error in NOT_LET_IN and _is_of_misuse(recovery, failure, failure.misuse)
    if not _is_of_time(recovery, failure):
        return False
    if failure.kind.between_brokers:
        return error in FOLLOWS
    if not failure.reaches(recovery.client_ip):
        return False
    is_of_broker = failure.is_of_broker or failure.kind.holds_replicas
    follows = is_of_broker and _may_follow(recovery)
    return failure.kind.of_listener or _is_at(recovery, failure) or follows


def _may_follow(recovery: ClientRecovery) -> bool:
    """Whether the error may be what a failed broker brings about at others."""
    error = recovery.first_error_name
    is_overtaken = error in _OVERTAKEN and recovery.outcome == "recovered"
    return is_overtaken or error in FOLLOWS | FOLLOWS_FOR_THE_SAME


def _is_of_time(recovery: ClientRecovery, failure: Failure) -> bool:
    """Whether the recovery began while the failure lasted, or shortly before or after."""
    start = recovery.failing_since_ns
    return start >= failure.start_ns - SECOND and (failure.end_ns is None or start <= failure.end_ns + FOLLOWS_NS)


def _is_of_misuse(recovery: ClientRecovery, failure: Failure, misuse: Misuse) -> bool:
    """Whether the recovery is that of a client which is not let in anywhere, or that of a client from the listener
    which its settings do not fit."""
    client = recovery.client_instance_id
    at_it = recovery.resource_kind == "authentication" or recovery.resource in misuse.servers
    return client in failure.client_instance_ids or (at_it and client in misuse.client_instance_ids)


def _is_too_early(recovery: ClientRecovery, failure: Failure) -> bool:
    """Whether a client that lost its coordinator with the broker asked the next one before that knew that it is the
    coordinator: another broker names it as soon as the controller has chosen it. failure: of a broker, as the client's
    host saw it too."""
    goes_on = failure.end_ns is None or recovery.failing_since_ns <= failure.end_ns
    return goes_on and _is_of_time(recovery, failure) and recovery.first_error_name in COORDINATOR_MOVED & LED_ELSEWHERE


def _is_at(recovery: ClientRecovery, failure: Failure) -> bool:
    """Whether the recovery is that from an error of the failed broker itself. One that restarts knows no topic until
    its controller has named them; a topic that stays unknown is missing."""
    error = recovery.first_error_name
    if recovery.old_node_id != failure.node_id or error not in _AT_NODE[_way_of_failing(failure)]:
        return False
    return error in AT_NODE or failure.kind.by_session or recovery.outcome == "recovered"
