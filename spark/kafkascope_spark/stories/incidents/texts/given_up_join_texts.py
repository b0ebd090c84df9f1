"""Texts about members that do not wait for their group: they give up JoinGroup and join again (kind member)."""

from collections.abc import Iterable
from statistics import median

from kafkascope_spark.stories.findings.wording import client, duration, listed
from kafkascope_spark.stories.findings.wording import times as times_of
from kafkascope_spark.stories.incidents.actions import Action, clients
from kafkascope_spark.stories.incidents.failures.failure import Failure
from kafkascope_spark.stories.incidents.failures.observed import Observed
from kafkascope_spark.stories.incidents.failures.times import Times
from kafkascope_spark.stories.incidents.texts.texts import named


def did_not_wait_for_others(failure: Failure, times: Times) -> str:
    """Returns a sentence about members that gave up JoinGroup and joined again."""
    rows = failure.members.given_up_joins
    who = listed(sorted({client(row.client_id, row.client_ip) for row in rows}))
    return (
        f"{named(failure)} rebalanced, and partitions were not read {times.of(failure)}: {who} stopped waiting for "
        f"the response to JoinGroup {times_of(len(rows))} from {times.at(rows[0].ts_ns)} on, each time after "
        f"{_patience(failure)} (median), while the coordinator waited for the other members; it closed the "
        "connection and joined again"
    )


def wait_longer(failure: Failure, observed: Observed) -> Iterable[Action]:
    """Yields advice for members that do not wait for their group."""
    limit_ms = max((c.rebalance_timeout_ms or c.session_timeout_ms or 0 for c in observed.clients), default=0)
    limit = f" ({limit_ms} ms here)" if limit_ms else ""
    yield clients(
        f"Let them wait for the response to JoinGroup for longer than the rebalance timeout{limit}, after which the "
        f"coordinator answers at the latest: they give up after {_patience(failure)}. Where the library has no "
        "timeout for JoinGroup, raise that of its connections or requests; Java clients wait long enough. Or lower "
        "the heartbeat interval: members learn of a rebalance from their next heartbeat, and the others wait until "
        "then."
    )
    yield clients(
        "Each abandoned attempt may leave a member without a process: it gets partitions, and keeps them until its "
        "session times out. The coordinator and the network are not the cause."
    )


def _patience(failure: Failure) -> str:
    """Returns the median time that clients waited for a response to JoinGroup before they gave up."""
    return duration(int(median(row.until_ns - row.ts_ns for row in failure.members.given_up_joins)))
