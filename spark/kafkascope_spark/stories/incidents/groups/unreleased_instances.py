"""Static members of KIP-848 groups that were refused because another member still held their group.instance.id. That
member had ended without leaving, and its group waited for its session timeout. The refusal follows from that
failure."""

from collections.abc import Iterable

from kafkascope_spark.stories.incidents.failures.failure import Failure

UNRELEASED = frozenset({"UNRELEASED_INSTANCE_ID"})


def give_unreleased(errors: Iterable[Failure], members: Iterable[Failure]) -> None:
    """Sets the failure of the earlier member as root of each failure of refused static members, if the capture shows
    it. errors: failures that errors show; members: failures of groups that lost members."""
    gone = [each for each in members if each.root is None and any(row.lost for row in each.rebalances)]
    for failure in errors:
        if failure.kind.is_replaced and failure.error_names == UNRELEASED and failure.root is None:
            groups = {row.resource for row in failure.recoveries if row.resource_kind == "group"}
            its = (each for each in gone if groups & {row.group_id for row in each.rebalances})
            causes = (each for each in its if each.overlap_ns(failure.start_ns, failure.end_ns) > 0)
            failure.root = min(causes, key=lambda each: each.start_ns, default=None)
