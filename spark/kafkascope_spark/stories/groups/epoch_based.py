"""The state machine over the events of one group whose coordinator assigns: consumer groups of KIP-848, share groups
(KIP-932), streams groups (KIP-1071).

A round is a group epoch. It begins with its cause, if one is observed (a join, a leave, another subscription), else
with the first response that shows it by the new epoch or by partitions to give up. Each member reaches the epoch by
itself, and some skip epochs; epochs that no packet shows have no row. A member that did not reach an epoch that others
have, and was silent since, was evicted: the coordinator's session timeout is in no message.
"""

from collections.abc import Iterable, Iterator

from kafkascope_analyzer.dataset.tables.event_kinds.groups import AssignedTasks, GroupRequest, MemberActivity
from kafkascope_parsers.api_keys import COMMIT_APIS
from kafkascope_parsers.error_facts import FENCED_INSTANCE
from kafkascope_parsers.group_protocols import GroupProtocol
from kafkascope_spark.stories.findings.wording import duration
from kafkascope_spark.stories.groups.causes import Cause
from kafkascope_spark.stories.groups.epoch_round import Observed, epoch_row
from kafkascope_spark.stories.groups.epoch_states import EPOCH_TRANSITIONS, EpochEvent, EpochState
from kafkascope_spark.stories.groups.event_order import Phase
from kafkascope_spark.stories.groups.generation import MOST_EVIDENCE, Departure, Generation, Items, Member
from kafkascope_spark.stories.groups.ownership import Change, Ownership
from kafkascope_spark.stories.groups.protocol import GroupMachine
from kafkascope_spark.stories.groups.table import RebalanceRow

JOINS, LEAVES = 0, -1
"""Member epochs of requests to join and to leave; -2 is a static member that leaves temporarily."""
DEFAULT_INTERVAL_MS = 5_000
"""Default of group.consumer.heartbeat.interval.ms, used if no response has the interval."""
SILENT_HEARTBEATS = 3
"""Number of consecutive missed heartbeats after which a member counts as silent: one or two may be late or lost."""


class EpochGroup(GroupMachine[EpochState, EpochEvent]):
    """Makes rows of `rebalances` from the events of one group."""

    def __init__(self, group_id: str, protocol: GroupProtocol, capture_end_ns: int) -> None:
        super().__init__(group_id, protocol, capture_end_ns, EPOCH_TRANSITIONS)
        self._pending: list[tuple[int, Cause]] = []
        """Observed causes of an epoch that no response has shown yet, each with its time."""
        self._made_by: list[tuple[int, Cause]] = []
        """Causes of the current epoch."""
        self._members: dict[str, Member] = {}
        self._epochs: dict[str, int] = {}
        self._last_number = 0
        self._interval_ms = DEFAULT_INTERVAL_MS
        (heartbeat,) = protocol.keys
        self._handlers = {
            (Phase.REQUEST, heartbeat): self._heartbeat_sent,
            (Phase.RESPONSE, heartbeat): self._heartbeat_answered,
            **{(Phase.RESPONSE, api): self._commit_refused for api in COMMIT_APIS},
        }

    def finish(self) -> Iterator[RebalanceRow]:
        """Yields the row of the last epoch."""
        silent = all(self._is_silent(m, self._end_ns) for m in self._members.values())
        if self._now is not None and not (self.state is EpochState.ASSIGNING and silent):
            yield self._close(self._end_ns, last=True)

    def _is_silent(self, member: Member, at_ns: int) -> bool:
        return at_ns - (member.last_seen_ns or 0) > SILENT_HEARTBEATS * self._interval_ms * 1_000_000

    def _heartbeat_sent(self, x: GroupRequest) -> None:
        epoch, topics = x.request.member_epoch, _topics(x)
        member = self._members.get(x.member)
        if epoch == JOINS and x.error is None:
            self._observe(x, "member_joined", f"{x.client_id or x.member} joined")
        elif member is not None and epoch is not None and epoch > 0 and topics is not None:
            if member.topics is not None and topics != member.topics:
                self._observe(x, "subscription_changed", f"{member.name} subscribes to {', '.join(topics)} now")
            member.topics = topics

    def _observe(self, x: GroupRequest, trigger: str, why: str) -> None:
        if len(self._pending) < MOST_EVIDENCE:
            self._pending.append((x.ts_ns, Cause(trigger, why, x.member, (x.request_id,))))

    def _heartbeat_answered(self, x: GroupRequest) -> Iterator[RebalanceRow]:
        epoch, sent_epoch = x.response.member_epoch, x.request.member_epoch
        if not x.ok:
            self._refused(x)
            return
        self._interval_ms = x.response.heartbeat_interval_ms or self._interval_ms
        if epoch is not None and epoch >= 0:
            yield from self._accepted(x, epoch)
        elif epoch == LEAVES or (epoch is not None and sent_epoch == LEAVES):
            yield from self._left(x)

    def _accepted(self, x: GroupRequest, epoch: int) -> Iterator[RebalanceRow]:
        """Handles a response with the epoch of a member."""
        joins = x.request.member_epoch == JOINS
        yield from self._at_epoch(epoch, self._begin_of(x, epoch))
        if joins:
            yield from self._admit(x, epoch)
        now = self._current()
        now.node_id = x.node_id if x.node_id is not None else now.node_id
        now.assignor = x.request.protocol_name or now.assignor
        now.prove(x.request_id, x.ts_ns)
        member = self._member(x)
        if joins:
            member.fresh, member.join_sent_ns, member.topics = True, x.ts_ns, _topics(x)
            member.rebalance_timeout_ms = x.request.rebalance_timeout_ms or member.rebalance_timeout_ms
            self._assign(member, ())
        self._reach(member, epoch, x.response_ns)
        if x.response.has_assignment:
            yield from self._assigned(member, x)

    def _begin_of(self, x: GroupRequest, epoch: int) -> int | None:
        """Returns the begin of an epoch that a response shows; None if it may have begun before the capture."""
        if self._pending:
            return min(ts for ts, _ in self._pending)
        known = self.state is not EpochState.UNSEEN
        return x.ts_ns if known or x.request.member_epoch != epoch else None

    def _at_epoch(self, epoch: int, start_ns: int | None) -> Iterator[RebalanceRow]:
        """Handles that a member has reached the epoch."""
        if self.state is EpochState.ASSIGNING:
            newer = epoch > self._last_number
        else:
            newer = self._now is None or epoch > (self._now.number or 0)
            if newer:
                yield from self._open(start_ns)
        if newer:
            self._current().number = self._last_number = epoch
            self._on(EpochEvent.EPOCH)
            self._made_by, self._pending = sorted(self._pending, key=lambda observed: observed[0]), []

    def _member(self, subject: GroupRequest | MemberActivity) -> Member:
        member = self._members.setdefault(subject.member, Member(subject.member))
        member.observe(subject)
        return member

    def _reach(self, member: Member, epoch: int, at_ns: int | None) -> None:
        self._epochs[member.member_id] = epoch
        if epoch == self._current().number and member.joined_ns is None:
            member.joined_ns = member.entered_ns = member.sync_sent_ns = at_ns
            member.synced_ns = max(member.synced_ns or 0, at_ns or 0) or None

    def _admit(self, x: GroupRequest, epoch: int) -> Iterator[RebalanceRow]:
        """Handles a member that joins and gets the present epoch: a static member that comes back under a new id, or
        one for which the next epoch will be made."""
        instance = x.group_instance_id
        same = [m for m in self._members.values() if instance and m.group_instance_id == instance]
        replaced = next((m for m in same if m.member_id != x.member), None)
        pending = any(cause.request_ids == (x.request_id,) for _, cause in self._pending)
        at_current = pending and self._current().number == epoch
        if replaced is None:
            if at_current and x.member not in self._members:
                yield from self._open(x.ts_ns)
            return
        if at_current:
            yield from self._open(x.ts_ns)
            self._current().number, self._current().took_over = epoch, replaced.member_id
            self._on(EpochEvent.TAKE_OVER)
            self._pending = [(ts, cause) for ts, cause in self._pending if cause.request_ids != (x.request_id,)]
        self._depart(Departure(replaced, "replaced", x.member, x.request_id))

    def _assigned(self, member: Member, x: GroupRequest) -> Iterator[RebalanceRow]:
        """Handles a response with an assignment."""
        items, standby = _items(x)
        settled = self.state is EpochState.RECONCILING and member.joined_ns is not None
        gives_up = bool(set(member.assigned or ()) - set(items))
        if settled and gives_up and x.response.member_epoch == x.request.member_epoch:
            yield from self._open(x.ts_ns)
        self._assign(member, items)
        member.standby = standby
        member.synced_ns = x.response_ns

    def _assign(self, member: Member, items: Items) -> None:
        """Sets the assignment of a member."""
        self._ownership.assign(member.member_id, items)
        member.assigned = tuple(sorted(set(items)))

    def _left(self, x: GroupRequest) -> Iterator[RebalanceRow]:
        member = self._members.get(x.member)
        if member is None:
            return
        member.observe(x)
        if len(self._members) == 1:
            if self.state is EpochState.RECONCILING:
                yield self._close(x.ts_ns)
            self._empty()
            return
        self._observe(x, "member_left", f"{member.name} left")
        if self.state is not EpochState.ASSIGNING:
            yield from self._open(x.ts_ns)
        self._depart(Departure(member, "left", None, x.request_id, x.ts_ns))

    def _empty(self) -> None:
        self._on(EpochEvent.LAST_LEAVE)
        self._now, self._was_empty, self._before = None, True, None
        self._ownership = Ownership(exclusive=not self.protocol.shares_partitions)
        self._members.clear()
        self._epochs.clear()
        self._pending.clear()

    def _depart(self, departure: Departure) -> None:
        """Removes a member from the current round."""
        member_id = departure.member.member_id
        self._members.pop(member_id, None)
        self._epochs.pop(member_id, None)
        self._ownership.release(member_id)
        self._current().left[member_id] = departure

    def _refused(self, x: GroupRequest) -> None:
        now, member = self._now, self._members.get(x.member)
        if now is None:
            return
        if x.error in FENCED_INSTANCE:
            now.fence(x)
        if x.error == "UNKNOWN_MEMBER_ID" and member is not None:
            now.prove(x.request_id, x.ts_ns)
            self._depart(self._evicted(member, x.ts_ns, x.request_id))

    def _evicted(self, member: Member, at_ns: int, request_id: str | None = None) -> Departure:
        now = self._now
        start = now.start_ns if now is not None and now.start_ns is not None else at_ns
        last_seen = member.last_seen_ns or 0
        silent_ns = max(0, (start if start > last_seen else at_ns) - (member.last_seen_ns or start))
        why = f"{member.name} was silent for {duration(silent_ns)} (heartbeats are due every {self._interval_ms} ms)"
        return Departure(member, "evicted", why, request_id)

    def _on_activity(self, activity: MemberActivity) -> Iterator[RebalanceRow]:
        if activity.generation <= 0:
            return
        if activity.api_key in COMMIT_APIS:
            if activity.member_id in self._members:
                self._members[activity.member_id].see(activity.last_ns)
            return
        yield from self._at_epoch(activity.generation, activity.ts_ns if self._now is not None else None)
        now = self._current()
        now.served_by(activity.node_id)
        if now.start_ns is None:
            now.prove(activity.request_id, activity.ts_ns)
        reached_ns = None if now.start_ns is None else activity.ts_ns
        self._reach(self._member(activity), activity.generation, reached_ns)

    def _open(self, start_ns: int | None) -> Iterator[RebalanceRow]:
        if self._now is not None:
            yield self._close(start_ns or 0)
        self._now = Generation(self.group_id, self.protocol, start_ns)
        self._on(EpochEvent.CHANGE)
        self._ownership.begin_round()
        self._made_by = []
        for member in self._members.values():
            member.begin_round()

    def _close(self, at_ns: int, *, last: bool = False) -> RebalanceRow:
        now = self._current()
        for member in list(self._members.values()):
            behind = now.number is not None and self._epochs.get(member.member_id, 0) < now.number
            if behind and now.start_ns is not None and self._is_silent(member, at_ns):
                self._depart(self._evicted(member, at_ns))
        now.members = dict(self._members)
        now.settled = now.number is not None and all(m.joined_ns is not None for m in now.members.values())
        now.had_assignments = any(m.assigned for m in now.members.values())
        observed = self._made_by or (self._pending if now.number is None else [])
        changes = {m: self._ownership.changes.get(m, Change()) for m in now.members}
        past = (self._before, self._was_empty)
        causes = [cause for _, cause in observed]
        shown = Observed(causes, changes, self._ownership.take_moves())
        row = epoch_row(now, past, self._end_ns if last else None, shown)
        self._before, self._was_empty = now, False
        return row


def _topics(x: GroupRequest) -> Items | None:
    """Returns the subscription of a member; None if the request does not contain it."""
    named, pattern = x.request.subscribed_topics, x.request.subscribed_regex
    if named is None and not pattern:
        return None
    return tuple(sorted([*(named or ()), *([f"/{pattern}/"] if pattern else [])]))


def _items(x: GroupRequest) -> tuple[Items, Items]:
    """Returns the topic-partitions, or tasks, that a response assigns, and the standby tasks."""
    topics = [f"{given.topic}-{p}" for given in x.response.assigned_topics for p in given.partitions]
    tasks, standby = _tasks(x.response.active_tasks), _tasks(x.response.standby_tasks)
    return tuple(sorted([*topics, *tasks])), tuple(sorted(standby))


def _tasks(given: Iterable[AssignedTasks]) -> list[str]:
    return [f"{tasks.subtopology_id}_{p}" for tasks in given for p in tasks.partitions]
