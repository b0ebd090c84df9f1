"""Rebalances of groups, and transactions."""

from dataclasses import dataclass
from typing import ClassVar

from kafkascope_analyzer.report.model.unread_partitions import Member, Rebalance
from kafkascope_analyzer.report.page_model.drawn.part import Part
from kafkascope_analyzer.report.page_model.story_lists import (
    PageGroup,
    PageTransactionalId,
    PlacedRebalances,
    PlacedTransactions,
    WordedTransaction,
)
from kafkascope_spark.stories.groups.table import DepartedMember, ReassignedPartition


@dataclass(frozen=True, slots=True)
class PageMember(Part):
    """A member of a group."""

    SOURCE: ClassVar[type] = Member
    member_id: str | None
    client_instance_id: str | None
    joined_ns: int | None
    synced_ns: int | None


@dataclass(frozen=True, slots=True)
class PageReassignedPartition(Part):
    """A topic-partition that changed its owner or was unread around a rebalance."""

    SOURCE: ClassVar[type] = ReassignedPartition
    owner_before: str | None
    owner_after: str | None
    unread_from_ns: int | None
    unread_to_ns: int | None


@dataclass(frozen=True, slots=True)
class PageDepartedMember(Part):
    """A member that left."""

    SOURCE: ClassVar[type] = DepartedMember
    member_id: str | None
    client_instance_id: str | None
    client_id: str | None
    how: str | None
    silent_ms: int | None


@dataclass(frozen=True, slots=True)
class PageRebalance(Part):
    """A row of stories/rebalances."""

    SOURCE: ClassVar[type] = Rebalance
    group_id: str | None
    node_id: int | None
    generation: int | None
    trigger: str | None
    trigger_why: str | None
    start_ns: int | None
    end_ns: int | None
    duration_ms: int | None
    n_members: int | None
    members: tuple[PageMember, ...]
    last_joiner: str | None
    unread_ms: int | None
    partitions: tuple[PageReassignedPartition, ...]
    departed: tuple[PageDepartedMember, ...]
    evidence: tuple[str, ...]
    unread_text: str


@dataclass(frozen=True, slots=True)
class PageRebalances(Part):
    """Rebalances by time."""

    SOURCE: ClassVar[type] = PlacedRebalances
    present: bool
    n: int
    listed: tuple[PageRebalance, ...]
    groups: tuple[PageGroup, ...]


@dataclass(frozen=True, slots=True)
class PageTransaction(Part):
    """A transaction with its duration, the name of the client that fenced it, and the readers that it blocked."""

    SOURCE: ClassVar[type] = WordedTransaction
    transactional_id: str | None
    producer_id: int | None
    producer_epoch: int | None
    begin_ns: int | None
    end_ns: int | None
    outcome: str | None
    partitions: tuple[str, ...]
    n_records: int | None
    end_kind: str | None
    evidence: tuple[str, ...]
    took: str
    fenced_by_name: str
    held_back_text: str


@dataclass(frozen=True, slots=True)
class PageTransactions(Part):
    """Transactions by time."""

    SOURCE: ClassVar[type] = PlacedTransactions
    present: bool
    n: int
    listed: tuple[PageTransaction, ...]
    ids: tuple[PageTransactionalId, ...]
    outcomes: dict[str, int]
