"""The state machine over the events of one group whose coordinator assigns: consumer groups of KIP-848, share groups
(KIP-932), streams groups (KIP-1071).

A round is a group epoch. It begins with what is seen of its cause: a join, a leave, another subscription, else the
first answer that tells it, be it by the new epoch or by partitions to give up. Each member comes to it by itself, and
some pass over epochs; what the wire never shows has no row. A member that has not come to an epoch that others have,
and has been silent since, was evicted: the coordinator's session timeout is not on the wire.
"""

from collections.abc import Iterator

from kafkascope_spark.rebalances.epoch_row import Before, EpochRound, Move, row_of
from kafkascope_spark.rebalances.generation import MOST_EVIDENCE, Departure, Generation, Items, Member
from kafkascope_spark.rebalances.order import Event, Kind
from kafkascope_spark.rebalances.ownership import MOST_FREED
from kafkascope_spark.rebalances.triggers import Cause, called
from kafkascope_spark.rebalances.wire import COMMITS, FENCED_INSTANCE, REFUSALS, Exchange, Heard, Row

JOINS, LEAVES = 0, -1
"""Member epochs with which a member asks to join, and says that it leaves; -2 is a static member that will be back."""
DEFAULT_INTERVAL_MS = 5_000
"""group.consumer.heartbeat.interval.ms, where no answer tells it."""
SILENT_BEATS = 3
"""Heartbeats missed in a row after which a member is called silent: one or two may be late or lost."""
GONE = "UNKNOWN_MEMBER_ID"


class EpochGroup:
    """Events in, rows of `rebalances` out. protocol: consumer, share or streams."""

    def __init__(self, group_id: str, protocol: str, capture_end_ns: int) -> None:
        self.group_id = group_id
        self.protocol = protocol
        self._end_ns = capture_end_ns
        self._now: Generation | None = None
        self._signs: list[tuple[int, Cause]] = []
        """What was seen that makes an epoch which no answer has told yet."""
        self._made_by: list[tuple[int, Cause]] = []
        """What made the epoch that is told."""
        self._members: dict[str, Member] = {}
        self._epochs: dict[str, int] = {}
        self._moves: dict[str, Move] = {}
        self._owners: dict[str, str] = {}
        """What somebody has -> the member; not for share groups, whose members share partitions."""
        self._freed: dict[str, int] = {}
        """What nobody has -> since when."""
        self._before: Before | None = None
        self._last_number = 0
        self._was_empty = False
        self._interval_ms = DEFAULT_INTERVAL_MS

    def take(self, event: Event) -> Iterator[Row]:
        """Rows of the epochs that the event ends."""
        what = event.what
        if isinstance(what, Heard):
            yield from self._on_heard(what)
        elif what.api_key in COMMITS:
            if event.kind is Kind.ANSWER and self._now is not None and what.error in REFUSALS:
                self._now.refuse(what)
        elif "member_epoch" in what.asked and event.kind is Kind.REQUEST:
            self._on_asked(what)
        elif event.kind is Kind.ANSWER and what.ok:
            yield from self._on_told(what)
        elif event.kind is Kind.ANSWER:
            self._on_refused(what)

    def finish(self) -> Iterator[Row]:
        """The row of the last epoch."""
        if self._now is not None and not (self._now.number is None and self._all_silent()):
            yield from self._close(self._end_ns, last=True)

    def _all_silent(self) -> bool:
        return all(self._is_silent(m, self._end_ns) for m in self._members.values())

    def _is_silent(self, member: Member, at_ns: int) -> bool:
        return at_ns - (member.heard_ns or 0) > SILENT_BEATS * self._interval_ms * 1_000_000

    def _on_asked(self, x: Exchange) -> None:
        epoch, topics = x.asked["member_epoch"], _topics(x)
        member = self._members.get(x.member)
        if epoch == JOINS and x.error is None:
            self._sign(x, "member_joined", f"{x.client_id or x.member} joined")
        elif member is not None and epoch is not None and epoch > 0 and topics is not None:
            if member.topics is not None and topics != member.topics:
                self._sign(x, "subscription_changed", f"{called(member)} subscribes to {', '.join(topics)} now")
            member.topics = topics

    def _sign(self, x: Exchange, trigger: str, why: str) -> None:
        if len(self._signs) < MOST_EVIDENCE:
            self._signs.append((x.ts_ns, Cause(trigger, why, x.member, (x.request_id,))))

    def _on_told(self, x: Exchange) -> Iterator[Row]:
        epoch = x.told.get("member_epoch")
        asked = x.asked.get("member_epoch")
        self._interval_ms = x.told.get("heartbeat_interval_ms") or self._interval_ms
        if epoch is None:
            return
        if epoch < 0:
            if epoch == LEAVES or asked == LEAVES:
                yield from self._left(x)
            return
        yield from self._at_epoch(epoch, self._begin_of(x, epoch))
        if asked == JOINS:
            yield from self._admit(x, epoch)
        now = self._now
        assert now is not None
        now.node_id = x.node_id if x.node_id is not None else now.node_id
        now.assignor = x.asked.get("protocol_name") or now.assignor
        now.prove(x.request_id, x.ts_ns)
        member = self._member(x)
        if asked == JOINS:
            member.fresh, member.asked_ns, member.topics = True, x.ts_ns, _topics(x)
            member.rebalance_timeout_ms = x.asked.get("rebalance_timeout_ms") or member.rebalance_timeout_ms
            self._assign(member, (), x)
        self._reach(member, epoch, x.response_ns)
        if x.told.get("assigns"):
            yield from self._assigned(member, x)

    def _begin_of(self, x: Exchange, epoch: int) -> int | None:
        """Since when there is an epoch that an answer tells: None where it may be since before the capture."""
        if self._signs:
            return min(ts for ts, _ in self._signs)
        known = self._now is not None or self._was_empty
        return x.ts_ns if known or x.asked.get("member_epoch") != epoch else None

    def _at_epoch(self, epoch: int, start_ns: int | None) -> Iterator[Row]:
        """Some member is at the epoch."""
        now = self._now
        if now is not None and now.number is None:
            newer = epoch > self._last_number
        else:
            newer = now is None or epoch > (now.number or 0)
            if newer:
                yield from self._open(start_ns)
        if newer and self._now is not None:
            self._now.number = self._last_number = epoch
            self._made_by, self._signs = sorted(self._signs, key=lambda seen: seen[0]), []

    def _member(self, what: Exchange | Heard) -> Member:
        member_id = what.member_id or "" if isinstance(what, Heard) else what.member
        member = self._members.setdefault(member_id, Member(member_id))
        member.seen_in(what)
        if isinstance(what, Exchange) and what.response_ns is not None:
            member.heard_ns = max(member.heard_ns or 0, what.ts_ns)
        return member

    def _reach(self, member: Member, epoch: int, at_ns: int | None) -> None:
        self._epochs[member.member_id] = epoch
        if self._now is not None and epoch == self._now.number and member.joined_ns is None:
            member.joined_ns = at_ns
            member.synced_ns = max(member.synced_ns or 0, at_ns or 0) or None

    def _admit(self, x: Exchange, epoch: int) -> Iterator[Row]:
        """A member joins and is told the epoch that there is: a static one that comes back under a new id, or one for
        which the next epoch will be made."""
        now = self._now
        assert now is not None
        instance = x.group_instance_id
        old = [m for m in self._members.values() if instance and m.group_instance_id == instance]
        gone = next((m for m in old if m.member_id != x.member), None)
        answered = any(cause.request_ids == (x.request_id,) for _, cause in self._signs)
        if gone is None:
            if answered and now.number == epoch and x.member not in self._members:
                yield from self._open(x.ts_ns)
            return
        if answered and now.number == epoch:
            yield from self._open(x.ts_ns)
            assert self._now is not None
            self._now.number, self._now.took_over = epoch, gone.member_id
            self._signs = [(ts, cause) for ts, cause in self._signs if cause.request_ids != (x.request_id,)]
        self._depart(Departure(gone, "replaced", x.member, x.request_id), x.ts_ns)

    def _assigned(self, member: Member, x: Exchange) -> Iterator[Row]:
        """An answer carries an assignment."""
        now = self._now
        items, standby = _items(x)
        settled = now is not None and now.number is not None and member.joined_ns is not None
        gives_up = bool(set(member.assigned or ()) - set(items))
        if settled and gives_up and x.told.get("member_epoch") == x.asked.get("member_epoch"):
            yield from self._open(x.ts_ns)
        self._assign(member, items, x)
        member.standby = standby
        member.synced_ns = x.response_ns

    def _assign(self, member: Member, items: Items, x: Exchange) -> None:
        """What a member has from now on."""
        move = self._moves.setdefault(member.member_id, Move())
        old, new = frozenset(member.assigned or ()), frozenset(items)
        at_ns = x.response_ns or x.ts_ns
        self._free(member, old - new, at_ns)
        for item in new - old:
            since = self._taken_from(item, member)
            if since is not None and item not in move.lost:
                move.unread_ns = max(move.unread_ns or 0, at_ns - since)
                move.n_moved += 1
        move.gained = (move.gained | (new - old)) - (old - new)
        move.lost = (move.lost | (old - new)) - (new - old)
        member.assigned = tuple(sorted(new))

    def _free(self, member: Member, items: frozenset[str], at_ns: int | None) -> None:
        for item in items:
            if self._owners.get(item) == member.member_id:
                del self._owners[item]
                if at_ns is not None and len(self._freed) < MOST_FREED:
                    self._freed[item] = at_ns

    def _taken_from(self, item: str, member: Member) -> int | None:
        """Since when nobody reads what a member gains; None where nobody had it."""
        if self.protocol == "share":
            return None
        owner = self._members.get(self._owners.get(item, ""))
        self._owners[item] = member.member_id
        since = self._freed.pop(item, None)
        return owner.heard_ns if owner is not None and owner is not member else since

    def _left(self, x: Exchange) -> Iterator[Row]:
        member = self._members.get(x.member)
        if member is None:
            return
        member.seen_in(x)
        stay = [m for m in self._members if m != member.member_id]
        if not stay:
            if self._now is not None and self._now.number is not None:
                yield from self._close(x.ts_ns)
            self._empty()
            return
        self._sign(x, "member_left", f"{called(member)} left")
        if self._now is None or self._now.number is not None:
            yield from self._open(x.ts_ns)
        self._depart(Departure(member, "left", None, x.request_id, x.ts_ns), x.response_ns)

    def _empty(self) -> None:
        self._now, self._was_empty, self._before = None, True, None
        for known in (self._members, self._epochs, self._moves, self._freed, self._owners):
            known.clear()
        self._signs.clear()

    def _depart(self, departure: Departure, at_ns: int | None) -> None:
        """A member is in the round that is told no more."""
        member = departure.member
        self._members.pop(member.member_id, None)
        self._epochs.pop(member.member_id, None)
        self._moves.pop(member.member_id, None)
        self._free(member, frozenset(member.assigned or ()), at_ns)
        if self._now is not None:
            self._now.left[member.member_id] = departure

    def _on_refused(self, x: Exchange) -> None:
        if self._now is None:
            return
        if x.error in FENCED_INSTANCE:
            self._now.fence(x)
        member = self._members.get(x.member)
        if x.error == GONE and member is not None:
            self._now.prove(x.request_id, x.ts_ns)
            self._depart(self._evicted(member, x.ts_ns, x.request_id), member.heard_ns)

    def _evicted(self, member: Member, at_ns: int, request_id: str | None = None) -> Departure:
        start = self._now.start_ns if self._now is not None and self._now.start_ns is not None else at_ns
        silent = max(0, (start if start > (member.heard_ns or 0) else at_ns) - (member.heard_ns or start)) / 1e9
        why = f"{called(member)} was silent for {silent:.1f} s (heartbeats are due every {self._interval_ms} ms)"
        return Departure(member, "evicted", why, request_id)

    def _on_heard(self, heard: Heard) -> Iterator[Row]:
        known = heard.member_id in self._members
        if heard.generation <= 0 or (heard.api_key in COMMITS and not known):
            return
        if heard.api_key in COMMITS:
            member = self._members[heard.member_id]
            member.heard_ns = max(member.heard_ns or 0, heard.last_ns)
            return
        yield from self._at_epoch(heard.generation, heard.first_ns if self._now is not None else None)
        assert self._now is not None
        self._now.node_id = heard.node_id if self._now.node_id is None else self._now.node_id
        if self._now.start_ns is None:
            self._now.prove(heard.request_id, heard.first_ns)
        self._reach(self._member(heard), heard.generation, None if self._now.start_ns is None else heard.first_ns)

    def _open(self, start_ns: int | None) -> Iterator[Row]:
        if self._now is not None:
            yield from self._close(start_ns or 0)
        self._now = Generation(self.group_id, self.protocol, start_ns)
        self._moves, self._made_by = {}, []
        for member in self._members.values():
            member.asked_ns = member.joined_ns = member.synced_ns = None

    def _close(self, at_ns: int, *, last: bool = False) -> Iterator[Row]:
        now = self._now
        assert now is not None
        for member in list(self._members.values()):
            behind = now.number is not None and self._epochs.get(member.member_id, 0) < now.number
            if behind and now.start_ns is not None and self._is_silent(member, at_ns):
                self._depart(self._evicted(member, at_ns), member.heard_ns)
        now.members = dict(self._members)
        causes = tuple(cause for _, cause in self._made_by or (self._signs if now.number is None else ()))
        told = EpochRound(now, causes, self._before, self._was_empty, self._end_ns if last else None)
        yield row_of(told, self._moves)
        self._before = Before(frozenset(self._members), any(m.assigned for m in self._members.values()))
        self._was_empty = False


def _topics(x: Exchange) -> Items | None:
    """What a member subscribes to; None where the request does not say."""
    named, pattern = x.asked.get("topics"), x.asked.get("regex")
    if named is None and not pattern:
        return None
    return tuple(sorted([*(named or ()), *([f"/{pattern}/"] if pattern else [])]))


def _items(x: Exchange) -> tuple[Items, Items]:
    """Topic-partitions, or tasks and standby tasks, that an answer assigns."""
    given = [f"{g['topic']}-{p}" for g in x.told.get("given") or () for p in g["partitions"]]
    tasks = [_tasks(x.told.get(name)) for name in ("active", "standby")]
    return tuple(sorted([*given, *tasks[0]])), tuple(sorted(tasks[1]))


def _tasks(given: list[Row] | None) -> list[str]:
    return [f"{task['id']}_{p}" for task in given or () for p in task["partitions"]]
