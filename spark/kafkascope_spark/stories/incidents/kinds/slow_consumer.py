"""A consumer that processed for so long between two polls that records waited for it. If it takes longer than
max.poll.interval.ms, its library leaves the group and joins again.

Looks at members that left by themselves and joined again: Java clients give the reason in LeaveGroup; others do it
several times, or once after having been members for that interval at least; and at records that waited because no Fetch
was in flight for them. Could be confused with a paused process, which sends no heartbeats either and is removed by the
coordinator; proved by its heartbeats, and by its leaving.
"""

from collections.abc import Iterable

from kafkascope_spark.stories.findings.wording import listed
from kafkascope_spark.stories.findings.wording import times as times_of
from kafkascope_spark.stories.incidents.actions import Action, clients
from kafkascope_spark.stories.incidents.failures.failure import Failure, Kind
from kafkascope_spark.stories.incidents.failures.observed import Observed
from kafkascope_spark.stories.incidents.failures.times import Times
from kafkascope_spark.stories.incidents.texts.texts import fewer_at_once, slow_polls


def _sentence(failure: Failure, times: Times) -> str:
    others = f"; {listed(failure.late_members)} of that group fetched late, too" if failure.late_members else ""
    if not failure.rebalances:
        or_stopped = "" if failure.end_ns is not None else ", or its process is stopped"
        return (
            f"{failure.subject} fetched late {times.of(failure)}: for most of the time in which records waited, no "
            "Fetch for them was in flight, as when the application works for long between two "
            f"polls{or_stopped}{others}"
        )
    groups = listed(sorted({row.group_id for row in failure.rebalances}))
    n = len(failure.rebalances)
    again = "and joined it again" if failure.end_ns is not None else "and did not join it again"
    return (
        f"{failure.subject} took longer between two polls than max.poll.interval.ms or its equivalent allows, "
        f"{times.of(failure)}: it left group {groups}{'' if n == 1 else f' {n} times'} {again}, and "
        f"{'' if n == 1 else 'each time '}the group rebalanced{others}"
    )


def _advice(failure: Failure, observed: Observed) -> Iterable[Action]:
    own = [c for c in observed.clients if c.client_instance_id in failure.client_instance_ids]
    libraries = {client.library for client in own}
    if not failure.rebalances:
        yield clients(fewer_at_once(libraries))
        return
    allowed_ms = max((c.rebalance_timeout_ms for c in own if c.rebalance_timeout_ms is not None), default=None)
    yield clients(slow_polls(libraries, allowed_ms))
    yield clients(
        f"It left the group {times_of(len(failure.rebalances))} while it was working on records: the next owner of "
        "its partitions reads again what it had fetched and not committed."
    )


SLOW_CONSUMER = Kind(
    "slow_consumer",
    "consumer too slow to poll",
    plural="consumers too slow to poll",
    sentence=_sentence,
    advice=_advice,
    known="members that left their group and joined again, or times of Fetch requests",
    place="client",
    of_clients=True,
)
