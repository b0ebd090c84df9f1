"""Rebalances of each group: how many, why, which member joined last, and for how long its partitions were unread."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Annotated

from kafkascope_analyzer.dataset.dataset import Dataset
from kafkascope_analyzer.dataset.table_rows import capture_span
from kafkascope_analyzer.report.model.client_names import client_ids
from kafkascope_analyzer.report.model.presence import Presence, presence
from kafkascope_analyzer.report.model.unread_partitions import Rebalance, member_names, most_unread_text, with_unread
from kafkascope_analyzer.report.rows import grouped, read
from kafkascope_spark.stories.tables import REBALANCES

MOST_GROUPS = 100
MOST_REBALANCES = 50
MOST_MEMBERS = 50
"""Most members in report.json; the table rebalances has all."""


@dataclass(frozen=True, slots=True)
class GroupRebalances:
    """The rebalances of a group."""

    group_id: Annotated[str, "group"]
    group_protocol: Annotated[str | None, "protocol"]
    n: Annotated[int, "its rebalances"]
    triggers: Annotated[dict[str, int], "rebalances by trigger"]
    unread_ms: Annotated[int | None, "longest time that a partition was unread; null where none was, milliseconds"]
    unread_text: Annotated[str, "that time in words; empty where no partition was unread"]
    longest_ms: Annotated[int, "longest rebalance, milliseconds"]
    first_ns: Annotated[int | None, "start of the first"]
    last_ns: Annotated[int | None, "end of the last"]
    listed: Annotated[tuple[Rebalance, ...], "the first 50 of them"]


@dataclass(frozen=True, slots=True)
class Rebalances(Presence):
    """The rebalances of all groups."""

    n: Annotated[int, "rebalances"]
    n_groups: Annotated[int, "groups that rebalanced"]
    groups: Annotated[
        tuple[GroupRebalances, ...], "groups, those whose partitions were unread longest first, at most 100"
    ]


def rebalances(dataset: Dataset) -> Rebalances:
    """Returns groups with their rebalances by time; where there are too many, those whose partitions were unread
    longest."""
    groups = grouped(read(dataset, Rebalance), lambda row: (row.group_id or "", row.group_protocol or ""))
    start_ns, _ = capture_span(dataset)
    found = [_group(of_group, start_ns) for of_group in groups.values()]
    found.sort(key=lambda group: (-(group.unread_ms or 0), -group.n, group.group_id, group.group_protocol or ""))
    chosen = found[:MOST_GROUPS]
    ids = {m.client_instance_id for group in chosen for row in group.listed for m in row.members}
    names = client_ids(dataset, ids)
    shown = [replace(group, listed=tuple(_named(row, names) for row in group.listed)) for group in chosen]
    here = presence(dataset, REBALANCES)
    return Rebalances(here.present, here.why_not, sum(group.n for group in found), len(found), tuple(shown))


def _group(of_group: list[Rebalance], start_ns: int) -> GroupRebalances:
    in_order = sorted(of_group, key=lambda row: (row.start_ns or 0, row.generation or 0, row.rebalance_id))
    names = member_names(in_order)
    unread_ms = max((row.unread_ms for row in in_order if row.unread_ms is not None), default=None)
    triggers = Counter(row.trigger or "unknown" for row in in_order)
    return GroupRebalances(
        group_id=in_order[0].group_id or "",
        group_protocol=in_order[0].group_protocol or None,
        n=len(in_order),
        triggers=dict(sorted(triggers.items())),
        unread_ms=unread_ms,
        unread_text=most_unread_text(unread_ms),
        longest_ms=max(row.duration_ms or 0 for row in in_order),
        first_ns=min((row.start_ns for row in in_order if row.start_ns is not None), default=None),
        last_ns=max((row.end_ns for row in in_order if row.end_ns is not None), default=None),
        listed=tuple(_listed(row, names, start_ns) for row in in_order[:MOST_REBALANCES]),
    )


def _listed(row: Rebalance, names: Mapping[str, str], start_ns: int) -> Rebalance:
    return replace(with_unread(row, names, start_ns), members=tuple(row.members_by_joining[:MOST_MEMBERS]))


def _named(row: Rebalance, names: Mapping[str, str | None]) -> Rebalance:
    """Returns the row in which members, and the last that joined, have the client id of their instance."""
    members = tuple(
        replace(member, client_id=member.client_id or names.get(member.client_instance_id or ""))
        for member in row.members
    )
    last = (m.client_id for m in members if row.last_joiner in (m.member_id, m.client_instance_id))
    return replace(row, members=members, last_joiner_client_id=next(last, None))
