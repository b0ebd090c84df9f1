"""Groups that nobody read because a member asked for a topic that does not exist, as after a deployment with a wrong
name: the group rebalances when the member is back with the right one, and that rebalance is not the cause."""

from collections import defaultdict
from collections.abc import Iterable, Mapping

from kafkascope_spark.stories.incidents.failures.failure import Failure
from kafkascope_spark.stories.incidents.kinds.missing_topic import MISSING_TOPIC
from kafkascope_spark.stories.stalls.table import Stall


def without_other_subscriptions(members: Iterable[Failure], errors: Iterable[Failure]) -> list[Failure]:
    """Gives the stalls of a failure of members to the missing topic for which the clients asked meanwhile. Returns the
    other failures of members. errors: failures that errors show."""
    missed: dict[str, list[Failure]] = defaultdict(list)
    for failure in errors:
        if failure.kind is MISSING_TOPIC:
            for client in failure.client_instance_ids:
                missed[client].append(failure)
    left = []
    for member in members:
        topic = _missing_topic(member, missed)
        if topic is None:
            left.append(member)
        else:
            topic.stalls.extend(member.stalls)
    return left


def _missing_topic(member: Failure, missed: Mapping[str, list[Failure]]) -> Failure | None:
    """Returns the missing topic that explains all stalls; None if there is none, or if the group removed a member."""
    if any(row.lost for row in member.rebalances):
        return None
    rebalanced_ns = min((row.start_ns or 0 for row in member.rebalances), default=0)
    of_stalls = {
        _explaining(stall, rebalanced_ns, missed.get(stall.client_instance_id or "", [])) for stall in member.stalls
    }
    return of_stalls.pop() if len(of_stalls) == 1 else None


def _explaining(stall: Stall, rebalanced_ns: int, missed: Iterable[Failure]) -> Failure | None:
    """Returns the first of the missing topics that lasted for most of the stall until the group rebalanced, if that was
    when most of the stall was over."""
    waited_ns = rebalanced_ns - stall.from_ns
    if 2 * waited_ns < stall.waited_ms * 1_000_000:
        return None
    return next((each for each in missed if 2 * each.overlap_ns(stall.from_ns, rebalanced_ns) >= waited_ns), None)
