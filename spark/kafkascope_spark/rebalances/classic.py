"""The state machine over the events of one classic group (JoinGroup, SyncGroup, Heartbeat, LeaveGroup).

A round begins with the first sign of a rebalance and is told when the next one begins or the events end: by then its
last member had its assignment, and what it cost is known. Memory is that of two generations: the one that is told and
the one before, with which it is compared.
"""

from collections.abc import Callable, Iterator

from kafkascope_spark import wire
from kafkascope_spark.rebalances.classic_row import Round, row_of
from kafkascope_spark.rebalances.generation import MOST_EVIDENCE, Departure, Generation, Member, Told
from kafkascope_spark.rebalances.lifecycle import Sign, State, after, begins_a_round
from kafkascope_spark.rebalances.order import Event, Kind
from kafkascope_spark.rebalances.ownership import Ownership
from kafkascope_spark.rebalances.said import assign, leavers, reason, take_terms
from kafkascope_spark.rebalances.wire import (
    COMMITS,
    FENCED_INSTANCE,
    REBALANCING,
    REFUSALS,
    STALE_MEMBER,
    Exchange,
    Heard,
    Row,
)

NEW_MEMBER = "MEMBER_ID_REQUIRED"
SETTLED_BEATS = 2
"""Heartbeats in one generation that show it to be stable where the answers to SyncGroup are not in the capture."""
MOST_FRESH = 10_000
"""Member ids given to clients that have not joined with them yet."""

MS = 1_000_000

Handler = Callable[["ClassicGroup", Exchange], Iterator[Row]]


class ClassicGroup:
    """Events in, rows of `rebalances` out. capture_end_ns: last packet of the capture."""

    def __init__(self, group_id: str, capture_end_ns: int) -> None:
        self.group_id = group_id
        self.state = State.UNSEEN
        self._end_ns = capture_end_ns
        self._now: Generation | None = None
        self._ending: Generation | None = None
        """The generation before the one that is told, while its members may still be given their assignments."""
        self._before: Generation | None = None
        self._was_empty = False
        self._ownership = Ownership()
        self._fresh: dict[str, str] = {}
        """Member id given by MEMBER_ID_REQUIRED -> the request that it was given for."""
        self._prompted: set[str] = set()
        """Members that were told to join again and have not had an assignment since."""
        self._stopped: dict[str, int] = {}
        """Members that joined again and have had no assignment since: when they first did."""
        self._sought: tuple[str, int] | None = None
        self._early: list[Exchange] = []
        """Commits refused because the group has moved on to a generation that nothing else tells of yet."""

    def take(self, event: Event) -> Iterator[Row]:
        """Rows of the generations that the event ends."""
        if isinstance(event.what, Heard):
            yield from self._on_heard(event.what)
            return
        handlers = _ON_REQUEST if event.kind is Kind.REQUEST else _ON_ANSWER
        handler = handlers.get(event.what.api_key)
        if handler is not None:
            yield from handler(self, event.what)

    def finish(self) -> Iterator[Row]:
        """The rows of the last generations."""
        yield from self._end()
        if self._now is not None:
            self._take_early(self._now)
        if self._now is not None and not self._is_void(self._now):
            yield self._tell(self._now, last=True)

    def _is_void(self, now: Generation) -> bool:
        """Whether a round that came to no generation concerns nobody: those who stayed were silent for too long."""
        if now.number is not None or now.told is not None or now.members or self._before is None:
            return False
        stay = [m for m in self._before.present.values() if m.member_id not in now.left]
        return all((m.heard_ns or 0) + (m.session_timeout_ms or 0) * MS < self._end_ns for m in stay)

    def _sign(self, sign: Sign, start_ns: int | None) -> Iterator[Row]:
        if begins_a_round(self.state, sign) or self._now is None:
            yield from self._open(start_ns)
        self._go(sign)

    def _go(self, sign: Sign) -> None:
        self.state = after(self.state, sign)

    def _open(self, start_ns: int | None) -> Iterator[Row]:
        yield from self._end()
        self._ending = self._now
        self._now = Generation(self.group_id, "classic", start_ns, sought=self._sought)
        self._sought = None
        self._take_early(self._now)

    def _take_early(self, generation: Generation) -> None:
        for exchange in self._early:
            generation.refuse(exchange)
        self._early.clear()

    def _end(self) -> Iterator[Row]:
        """Nothing of the generation before can come any more: tell it."""
        ending, self._ending = self._ending, None
        if ending is not None:
            yield self._tell(ending)
            if ending.number is not None:
                self._before, self._was_empty = ending, False
                self._forget_all_but({*ending.present, *(self._now.members if self._now is not None else ())})

    def _forget_all_but(self, member_ids: set[str]) -> None:
        """Member ids are new each time: those that are no member any more would add up."""
        self._prompted &= member_ids
        self._stopped = {m: at_ns for m, at_ns in self._stopped.items() if m in member_ids}

    def _tell(self, generation: Generation, *, last: bool = False) -> Row:
        told = Round(generation, self._before, self._was_empty, self._end_ns if last else None)
        return row_of(told, self._ownership)

    @property
    def _previous(self) -> Generation | None:
        """The generation before the one that is told."""
        return self._ending or self._before

    def _join_asked(self, x: Exchange) -> Iterator[Row]:
        now = self._now
        same = now is not None and x.ok and x.told.get("generation_id") == now.number is not None
        if x.error is not None or (same and self.state in (State.STABLE, State.COMPLETING)):
            return
        yield from self._sign(Sign.JOIN, x.ts_ns)
        self._note_join(x)

    def _note_join(self, x: Exchange) -> None:
        now = self._now
        assert now is not None
        now.prove(x.request_id, x.ts_ns)
        if not x.member:
            return
        known = x.member in now.members and now.members[x.member].asked_ns is not None
        member = now.member(x.member)
        member.seen_in(x)
        if not known:
            member.asked_ns = x.ts_ns
            member.fresh = not x.asked.get("member_id") or x.member in self._fresh
            member.prompted = x.member in self._prompted
            member.reason = reason(x)
            if x.member in self._fresh:
                now.prove(self._fresh.pop(x.member), x.ts_ns)
        self._stopped.setdefault(x.member, x.ts_ns)
        take_terms(member, now, x)

    def _joined(self, x: Exchange) -> Iterator[Row]:
        if not x.ok:
            self._refused(x)
            return
        number = x.told.get("generation_id")
        now = self._now
        if now is not None and now.number == number:
            if self._takes_over(now, x):
                yield from self._take_over(x)
        elif now is None or now.number is not None:
            yield from self._open(x.ts_ns)
            self.state = State.PREPARING
        yield from self._end()
        now = self._now
        assert now is not None
        self._note_join(x)
        now.number, now.node_id = number, x.node_id if x.node_id is not None else now.node_id
        now.protocol_type = x.told.get("protocol_type") or now.protocol_type
        now.assignor = x.told.get("protocol_name") or now.assignor
        now.leader = x.told.get("leader") or now.leader
        self._go(Sign.GENERATION)
        member = now.member(x.member)
        member.joined_ns = x.response_ns
        listed = x.told.get("members")
        if listed:
            now.listed = {m["member_id"]: m["group_instance_id"] for m in listed}
            for member_id, instance in now.listed.items():
                now.member(member_id).group_instance_id = instance

    @staticmethod
    def _takes_over(now: Generation, x: Exchange) -> bool:
        """Whether a static member comes under a new id and is told the generation that there is."""
        instance = x.group_instance_id
        mine = [m for m, i in (now.listed or {}).items() if i == instance] if instance else []
        return bool(mine) and x.member not in mine

    def _take_over(self, x: Exchange) -> Iterator[Row]:
        old = self._now
        assert old is not None
        listed = old.listed or {}
        mine = next(m for m, i in listed.items() if i == x.group_instance_id)
        yield from self._open(x.ts_ns)
        yield from self._end()
        now = self._now
        assert now is not None
        now.took_over = mine
        now.number, now.node_id, now.protocol_type = old.number, old.node_id, old.protocol_type
        now.assignor, now.leader = old.assignor, x.member if old.leader == mine else old.leader
        now.listed = {x.member if m == mine else m: i for m, i in listed.items()}
        for member_id in now.listed:
            kept = old.members.get(member_id)
            if kept is not None:
                now.members[member_id] = _same(kept)
        self._ownership.hand_over(mine, x.member)
        self.state = State.STABLE

    def _sync_asked(self, x: Exchange) -> Iterator[Row]:
        if x.error is not None or x.generation is None:
            return
        yield from self._at_generation(x.generation)
        now = self._now
        assert now is not None
        if now.number != x.generation:
            return
        now.prove(x.request_id, x.ts_ns)
        now.protocol_type = x.asked.get("protocol_type") or now.protocol_type
        now.assignor = x.asked.get("protocol_name") or now.assignor
        now.node_id = x.node_id if now.node_id is None else now.node_id
        member = now.member(x.member)
        member.seen_in(x)
        member.sync_asked_ns = x.ts_ns
        for given in x.asked.get("assignments") or ():
            assign(now.member(given["member_id"]), now, given["assignment"])
        if x.asked.get("assignments") and now.listed is None:
            now.listed = {g["member_id"]: now.member(g["member_id"]).group_instance_id for g in x.asked["assignments"]}

    def _at_generation(self, number: int) -> Iterator[Row]:
        """A request names a generation that its coordinator made."""
        now = self._now
        if now is not None and now.number is None:
            is_old = self._previous is not None and self._previous.number == number
            if not is_old:
                now.number = number
                self._go(Sign.GENERATION)
        elif now is None or number > (now.number or 0):
            yield from self._open(None)
            assert self._now is not None
            self._now.number = number
            self.state = State.COMPLETING

    def _synced(self, x: Exchange) -> Iterator[Row]:
        now = self._now
        if x.error == REBALANCING:
            yield from self._told_to_join(x)
        elif x.error is not None:
            self._refused(x)
        else:
            given = next((g for g in (now, self._ending) if g is not None and g.number == x.generation), None)
            if given is not None:
                self._settle(given, x)

    def _settle(self, given: Generation, x: Exchange) -> None:
        """A member has its assignment of a generation."""
        member = given.member(x.member)
        if member.synced_ns is None:
            member.synced_ns = x.response_ns
            member.stopped_ns = self._stopped.get(x.member, member.asked_ns)
        assign(member, given, x.told.get("assignment") or b"")
        self._stopped.pop(x.member, None)
        given.settled = True
        if given is self._now:
            self._prompted.discard(x.member)
            self._go(Sign.ASSIGNMENT)

    def _beat_refused(self, x: Exchange) -> Iterator[Row]:
        if x.error == REBALANCING and self.state is not State.COMPLETING:
            yield from self._told_to_join(x)
        elif x.error is not None:
            self._refused(x)

    def _told_to_join(self, x: Exchange) -> Iterator[Row]:
        """The coordinator says that the group is rebalancing."""
        self._prompted.add(x.member)
        now = self._now
        current = now is None or now.number is None or x.generation is None or now.number == x.generation
        if not current or x.response_ns is None:
            return
        yield from self._sign(Sign.REBALANCING, x.response_ns)
        now = self._now
        assert now is not None
        now.prove(x.request_id, x.ts_ns)
        now.node_id = x.node_id if now.node_id is None else now.node_id
        if now.told is None:
            now.told = Told(x.response_ns, x.member, x.request_id)
        if self._previous is not None and x.member in self._previous.members:
            self._previous.members[x.member].seen_in(x)

    def _refused(self, x: Exchange) -> None:
        """A member's request was answered with an error."""
        if x.error == NEW_MEMBER:
            if len(self._fresh) < MOST_FRESH:
                self._fresh[x.told.get("member_id") or ""] = x.request_id
        elif x.error in STALE_MEMBER or x.error == REBALANCING:
            self._prompted.add(x.member)
        elif x.error in FENCED_INSTANCE and self._now is not None:
            self._now.fence(x)

    def _commit_refused(self, x: Exchange) -> Iterator[Row]:
        now = self._now
        stale = x.error in STALE_MEMBER and now is not None and x.generation == now.number
        if stale and self.state is State.STABLE and len(self._early) < MOST_EVIDENCE:
            self._early.append(x)
        elif now is not None and x.error in REFUSALS:
            now.refuse(x)
        self._refused(x)
        yield from ()

    def _left(self, x: Exchange) -> Iterator[Row]:
        if x.error is not None or self._now is None:
            return
        preparing = self.state is State.PREPARING
        base = dict(self._now.present)
        if preparing and self._previous is not None:
            base = {**self._previous.present, **base}
        base = {m: member for m, member in base.items() if m not in self._now.left}
        gone = {m: why for m, why in leavers(x, base).items() if m in base}
        if not gone:
            return
        if len(gone) == len(base):
            yield from self._last_left()
            return
        yield from self._sign(Sign.LEAVE, x.ts_ns)
        self._now.prove(x.request_id, x.ts_ns)
        for member_id, why in gone.items():
            if preparing:
                self._now.members.pop(member_id, None)
            self._now.left[member_id] = Departure(base[member_id], "left", why, x.request_id, x.ts_ns)

    def _last_left(self) -> Iterator[Row]:
        """Nobody is left: a round that has begun comes to nothing."""
        yield from self._end()
        if self._now is not None and self._now.number is not None:
            yield self._tell(self._now)
        self._go(Sign.LAST_LEAVE)
        self._now = self._before = None
        self._was_empty = True
        self._ownership = Ownership()
        self._stopped.clear()
        self._prompted.clear()

    def _sought_coordinator(self, x: Exchange) -> Iterator[Row]:
        if self._now is not None and self.state is State.PREPARING:
            self._now.sought = (x.request_id, x.ts_ns)
        else:
            self._sought = (x.request_id, x.ts_ns)
        yield from ()

    def _on_heard(self, heard: Heard) -> Iterator[Row]:
        """A member keeps its place in a generation."""
        if heard.api_key != wire.OFFSET_COMMIT:
            yield from self._at_generation(heard.generation)
        for generation in (self._now, self._ending, self._before):
            if generation is None or generation.number != heard.generation:
                continue
            if heard.api_key != wire.OFFSET_COMMIT or heard.member_id in generation.members:
                generation.member(heard.member_id).seen_in(heard)
            if generation.node_id is None:
                generation.node_id = heard.node_id
            if generation is self._now and (generation.start_ns is None or heard.n >= SETTLED_BEATS):
                generation.settled = generation.settled or heard.api_key == wire.HEARTBEAT
                self._go(Sign.ASSIGNMENT)
            if generation.start_ns is None:
                generation.prove(heard.request_id, heard.first_ns)
            return


def _same(member: Member) -> Member:
    """A member that goes on as it is while another's place is taken over."""
    kept = Member(member.member_id, member.client_id, member.client_instance_id, member.conn_id)
    kept.group_instance_id, kept.heard_ns = member.group_instance_id, member.heard_ns
    kept.session_timeout_ms, kept.rebalance_timeout_ms = member.session_timeout_ms, member.rebalance_timeout_ms
    kept.topics, kept.assigned, kept.standby = member.topics, member.assigned, member.standby
    kept.close_ns, kept.close_kind, kept.owned = member.close_ns, member.close_kind, member.owned
    return kept


_ON_REQUEST: dict[int, Handler] = {
    wire.JOIN_GROUP: ClassicGroup._join_asked,
    wire.SYNC_GROUP: ClassicGroup._sync_asked,
    wire.LEAVE_GROUP: ClassicGroup._left,
}
_ON_ANSWER: dict[int, Handler] = {
    wire.JOIN_GROUP: ClassicGroup._joined,
    wire.SYNC_GROUP: ClassicGroup._synced,
    wire.HEARTBEAT: ClassicGroup._beat_refused,
    wire.FIND_COORDINATOR: ClassicGroup._sought_coordinator,
    **dict.fromkeys(COMMITS, ClassicGroup._commit_refused),
}
