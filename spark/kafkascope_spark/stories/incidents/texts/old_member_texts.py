"""Texts about clients whose requests a group refuses because they are no longer members, or have an old member epoch
(kind member)."""

from collections.abc import Iterable

from kafkascope_parsers.api_keys import OFFSET_COMMIT
from kafkascope_spark.stories.findings.wording import listed
from kafkascope_spark.stories.findings.wording import times as times_of
from kafkascope_spark.stories.incidents.actions import Action, brokers, clients
from kafkascope_spark.stories.incidents.failures.failure import Failure, is_stuck
from kafkascope_spark.stories.incidents.failures.times import Times

OF_OLD_EPOCH = frozenset({"STALE_MEMBER_EPOCH"})
"""Error for a request with another member epoch than that of the member's last heartbeat (KIP-848)."""


def lost_places(failure: Failure, times: Times) -> str:
    """Returns which clients got errors that they are no longer members, and which of them continued without joining
    again."""
    who = sorted({row.who for row in failure.recoveries})
    was = "were" if len(who) > 1 else "was"
    lost = (
        f"{listed(who)} {was} no longer a member of {failure.subject} ({listed(sorted(failure.error_names))}) "
        f"{times.of(failure)}"
    )
    continuing = _did_not_join_again(failure)
    if failure.error_names == OF_OLD_EPOCH and _commits_with_old_epoch(failure):
        n = sum(row.n_errors for row in failure.recoveries)
        return (
            f"{listed(who)} kept committing offsets of {failure.subject} with an old member epoch "
            f"({listed(sorted(failure.error_names))}, {times_of(n)}) {times.of(failure)}: nothing was committed"
        )
    if failure.error_names == OF_OLD_EPOCH:
        return (
            f"{listed(who)} sent requests to {failure.subject} with an old member epoch "
            f"({listed(sorted(failure.error_names))}) {times.of(failure)}"
        )
    if _is_fenced_again(failure):
        n = sum(row.n_errors for row in failure.recoveries)
        return f"{lost}: it repeated its request {times_of(n)}, and the coordinator refused its member epoch each time"
    if not continuing:
        return lost
    return f"{lost}. {listed(continuing)} continued without joining again: nothing that it reads is committed"


def join_anew(failure: Failure) -> Iterable[Action]:
    """Yields the advice for such clients; nothing where they did what the errors ask for."""
    if failure.error_names == OF_OLD_EPOCH and _commits_with_old_epoch(failure):
        yield _COMMIT_ANEW
    elif failure.error_names == OF_OLD_EPOCH and not failure.rebalances:
        yield _ASK_AGAIN
    elif _is_fenced_again(failure):
        yield from _JOIN_ANEW
    elif continuing := _did_not_join_again(failure):
        yield clients(
            f"Restart {listed(continuing)}, and upgrade its library: after such an error a member has to join again "
            "(JoinGroup). Until then it reads what another member reads too, and its commits are refused."
        )


_ASK_AGAIN = clients(
    "Timeouts and polls need no change: it remained a member. After this error a client repeats the request with "
    "the epoch of its next heartbeat. A client that then begins anywhere else than at the committed offset (at the "
    "latest offset it skips records) has a bug: compare the offset of its first Fetch with what the group had "
    "committed (kafka-consumer-groups.sh --describe), and update its library."
)


_JOIN_ANEW = (
    clients(
        "Restart these clients: each gets another member id, and joins as a new member. After FENCED_MEMBER_EPOCH a "
        "member gives up its partitions and joins again with epoch 0 (KIP-848): where the packets show a later "
        "epoch again, its library does not do that, and has to be updated. Timeouts and pauses between polls are "
        "not the cause."
    ),
    brokers(
        "Where it did join with epoch 0: brokers refuse that to a member that they still know (KAFKA-19233). Update "
        "the brokers. Until then the session of the old member has to end first "
        "(group.consumer.session.timeout.ms)."
    ),
)


_COMMIT_ANEW = clients(
    "Update its library: a commit must carry the member epoch of the last heartbeat (KIP-848), and be repeated with "
    "it after this error. Until then restart the client when you can: it gets a new epoch, and reads again what it "
    "has read since its last commit. Timeouts and pauses between polls are not the cause."
)


def _commits_with_old_epoch(failure: Failure) -> bool:
    """Whether a client kept committing with an epoch that was no longer valid."""
    return any(is_stuck(row) and row.first_api_key == OFFSET_COMMIT for row in failure.recoveries)


def _is_fenced_again(failure: Failure) -> bool:
    """Whether a member repeatedly got the error that its epoch is no longer valid: it did not join again, or was
    refused."""
    return failure.error_names == {"FENCED_MEMBER_EPOCH"} and any(map(is_stuck, failure.recoveries))


def _did_not_join_again(failure: Failure) -> list[str]:
    """Returns the clients that continued with an old generation."""
    return sorted({row.who for row in failure.recoveries if row.outcome == "wrong_reaction"})
