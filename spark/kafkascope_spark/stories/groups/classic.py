"""The state machine over the events of one classic group (JoinGroup, SyncGroup, Heartbeat, LeaveGroup).

A round begins with the first observation of a rebalance. Its row is made when the next round begins or the events end:
by then its last member has its assignment, and its costs are known.
"""

from collections.abc import Iterator
from dataclasses import replace

from kafkascope_analyzer.dataset.tables.event_kinds.groups import GroupRequest, MemberActivity
from kafkascope_parsers import api_keys
from kafkascope_parsers.api_keys import COMMIT_APIS
from kafkascope_parsers.error_facts import FENCED_INSTANCE, STALE_MEMBER
from kafkascope_parsers.group_protocols import GroupProtocol
from kafkascope_spark.stories.groups.classic_round import classic_row
from kafkascope_spark.stories.groups.classic_states import (
    CLASSIC_TRANSITIONS,
    ClassicEvent,
    ClassicState,
    begins_a_round,
)
from kafkascope_spark.stories.groups.embedded_data import assign, join_reason, leaving_members, take_join
from kafkascope_spark.stories.groups.event_order import Phase
from kafkascope_spark.stories.groups.generation import MOST_EVIDENCE, Departure, Generation, RejoinRequest
from kafkascope_spark.stories.groups.ownership import Ownership
from kafkascope_spark.stories.groups.protocol import GroupMachine
from kafkascope_spark.stories.groups.table import RebalanceRow

SETTLED_HEARTBEATS = 2
"""Fewest heartbeats in one generation that show it to be stable if the capture lacks the responses to SyncGroup."""
MOST_NEW_IDS = 10_000
"""Largest number of member ids that are kept for clients that have not joined with them yet."""

MS = 1_000_000


class ClassicGroup(GroupMachine[ClassicState, ClassicEvent]):
    """Makes rows of `rebalances` from the events of one group."""

    def __init__(self, group_id: str, protocol: GroupProtocol, capture_end_ns: int) -> None:
        super().__init__(group_id, protocol, capture_end_ns, CLASSIC_TRANSITIONS)
        self._ending: Generation | None = None
        """The previous generation, while its members may still receive their assignments."""
        self._new_ids: dict[str, str] = {}
        """Member id from a MEMBER_ID_REQUIRED response -> the request."""
        self._prompted: set[str] = set()
        """Members that have to join again and have had no assignment since."""
        self._lookup: tuple[str, int] | None = None
        self._early_refusals: list[GroupRequest] = []
        """Commits that were refused because of a new generation that nothing else shows yet."""
        self._handlers = {
            (Phase.REQUEST, api_keys.JOIN_GROUP): self._join_sent,
            (Phase.REQUEST, api_keys.SYNC_GROUP): self._sync_sent,
            (Phase.REQUEST, api_keys.LEAVE_GROUP): self._leave_sent,
            (Phase.RESPONSE, api_keys.JOIN_GROUP): self._joined,
            (Phase.RESPONSE, api_keys.SYNC_GROUP): self._synced,
            (Phase.RESPONSE, api_keys.HEARTBEAT): self._heartbeat_refused,
            (Phase.RESPONSE, api_keys.FIND_COORDINATOR): self._coordinator_looked_up,
            **{(Phase.RESPONSE, api): self._commit_refused for api in COMMIT_APIS},
        }

    def finish(self) -> Iterator[RebalanceRow]:
        """Yields the rows of the last generations."""
        yield from self._end()
        if self._now is not None:
            self._take_early_refusals(self._now)
            if not self._concerns_nobody(self._now):
                yield self._row(self._now, last=True)

    def _concerns_nobody(self, now: Generation) -> bool:
        """Whether a round led to no generation, and the remaining members had been silent for longer than their session
        timeouts."""
        if now.number is not None or now.rejoin is not None or now.members or self._before is None:
            return False
        stay = [m for m in self._before.present.values() if m.member_id not in now.left]
        return all((m.last_seen_ns or 0) + (m.session_timeout_ms or 0) * MS < self._end_ns for m in stay)

    def _observe(self, event: ClassicEvent, start_ns: int | None) -> Iterator[RebalanceRow]:
        """Handles an event that may begin another round."""
        if begins_a_round(self.state, event) or self._now is None:
            yield from self._open(start_ns)
        self._on(event)

    def _open(self, start_ns: int | None) -> Iterator[RebalanceRow]:
        yield from self._end()
        self._ending = self._now
        self._now = Generation(self.group_id, self.protocol, start_ns, coordinator_lookup=self._lookup)
        self._lookup = None
        self._take_early_refusals(self._now)

    def _take_early_refusals(self, generation: Generation) -> None:
        for request in self._early_refusals:
            generation.refuse(request)
        self._early_refusals.clear()

    def _end(self) -> Iterator[RebalanceRow]:
        """Yields the row of the previous generation, to which no further event can belong."""
        ending, self._ending = self._ending, None
        if ending is not None:
            yield self._row(ending)
            if ending.number is not None:
                self._before, self._was_empty = ending, False
                self._forget_all_but({*ending.present, *(self._now.members if self._now is not None else ())})

    def _forget_all_but(self, member_ids: set[str]) -> None:
        """Forgets all other member ids. Needed because members get new ids each time, which would accumulate."""
        self._prompted &= member_ids

    def _row(self, generation: Generation, *, last: bool = False) -> RebalanceRow:
        before = (self._before, self._was_empty)
        return classic_row(generation, before, self._end_ns if last else None, self._ownership)

    @property
    def _previous(self) -> Generation | None:
        """The previous generation."""
        return self._ending or self._before

    def _join_sent(self, x: GroupRequest) -> Iterator[RebalanceRow]:
        now = self._now
        same = now is not None and x.ok and x.response.generation_id == now.number is not None
        settling = (ClassicState.STABLE, ClassicState.COMPLETING)
        if x.error is not None or (same and self.state in settling):
            return
        yield from self._observe(ClassicEvent.JOIN, x.ts_ns)
        self._note_join(x)

    def _note_join(self, x: GroupRequest) -> None:
        now = self._current()
        now.prove(x.request_id, x.ts_ns)
        if not x.member:
            return
        member = now.member(x.member)
        member.observe(x)
        if member.join_sent_ns is None:
            member.join_sent_ns = member.entered_ns = x.ts_ns
            member.fresh = not x.request.member_id or x.member in self._new_ids
            member.prompted = x.member in self._prompted
            member.reason = join_reason(x)
            if x.member in self._new_ids:
                now.prove(self._new_ids.pop(x.member), x.ts_ns)
        take_join(member, now, x)

    def _joined(self, x: GroupRequest) -> Iterator[RebalanceRow]:
        if not x.ok:
            self._refused(x)
            return
        number, now = x.response.generation_id, self._now
        if now is not None and now.number == number:
            replaced = _replaced_member(now, x)
            if replaced is not None:
                yield from self._take_over(replaced, x)
        else:
            if now is None or now.number is not None:
                yield from self._open(x.ts_ns)
            self._on(ClassicEvent.GENERATION)
        yield from self._end()
        self._note_join(x)
        self._note_generation(self._current(), x)

    def _note_generation(self, now: Generation, x: GroupRequest) -> None:
        """Records the facts about the generation in a response to JoinGroup."""
        now.number = x.response.generation_id
        now.node_id = x.node_id if x.node_id is not None else now.node_id
        now.protocol_type = x.response.protocol_type or now.protocol_type
        now.assignor = x.response.protocol_name or now.assignor
        now.leader = x.response.leader or now.leader
        now.member(x.member).joined_ns = x.response_ns
        listed = x.response.members
        if listed:
            now.listed = {m.member_id: m.group_instance_id for m in listed}
            for member_id, instance in now.listed.items():
                now.member(member_id).group_instance_id = instance

    def _take_over(self, replaced: str, x: GroupRequest) -> Iterator[RebalanceRow]:
        """Handles a static member that replaces its former member id: the generation stays the same."""
        old = self._current()
        yield from self._open(x.ts_ns)
        yield from self._end()
        now = self._current()
        now.took_over = replaced
        now.number, now.node_id, now.protocol_type = old.number, old.node_id, old.protocol_type
        now.assignor, now.leader = old.assignor, x.member if old.leader == replaced else old.leader
        now.listed = {x.member if m == replaced else m: i for m, i in (old.listed or {}).items()}
        now.members = {m: replace(old.members[m]) for m in now.listed if m in old.members}
        for member in now.members.values():
            member.begin_round()
            member.fresh, member.prompted, member.reason = False, True, None
        self._ownership.hand_over(replaced, x.member)
        self._on(ClassicEvent.TAKE_OVER)

    def _sync_sent(self, x: GroupRequest) -> Iterator[RebalanceRow]:
        if x.error is not None or x.generation is None:
            return
        yield from self._at_generation(x.generation)
        now = self._current()
        if now.number != x.generation:
            return
        now.prove(x.request_id, x.ts_ns)
        now.protocol_type = x.request.protocol_type or now.protocol_type
        now.assignor = x.request.protocol_name or now.assignor
        now.served_by(x.node_id)
        member = now.member(x.member)
        member.observe(x)
        member.sync_sent_ns = x.ts_ns
        assignments = x.request.assignments
        for given in assignments:
            assign(now.member(given.member_id), now, given.assignment)
        if assignments and now.listed is None:
            now.listed = {g.member_id: now.member(g.member_id).group_instance_id for g in assignments}

    def _at_generation(self, number: int) -> Iterator[RebalanceRow]:
        """Handles a request with a generation number."""
        now = self._now
        if now is None or (now.number is not None and number > now.number):
            yield from self._open(None)
        elif now.number is not None or (self._previous is not None and self._previous.number == number):
            return
        self._current().number = number
        self._on(ClassicEvent.GENERATION)

    def _synced(self, x: GroupRequest) -> Iterator[RebalanceRow]:
        if x.error == "REBALANCE_IN_PROGRESS":
            yield from self._rejoin_required(x)
        elif x.error is not None:
            self._refused(x)
        else:
            given = next((g for g in (self._now, self._ending) if g is not None and g.number == x.generation), None)
            if given is not None:
                self._settle(given, x)

    def _settle(self, given: Generation, x: GroupRequest) -> None:
        """Records that a member has its assignment of a generation."""
        member = given.member(x.member)
        if member.synced_ns is None:
            member.synced_ns = x.response_ns
        assign(member, given, x.response.assignment or b"")
        given.settled = True
        if given is self._now:
            self._prompted.discard(x.member)
            self._on(ClassicEvent.ASSIGNMENT)

    def _heartbeat_refused(self, x: GroupRequest) -> Iterator[RebalanceRow]:
        if x.error == "REBALANCE_IN_PROGRESS" and self.state is not ClassicState.COMPLETING:
            yield from self._rejoin_required(x)
        elif x.error is not None:
            self._refused(x)

    def _rejoin_required(self, x: GroupRequest) -> Iterator[RebalanceRow]:
        """Handles a response that the group is rebalancing."""
        self._prompted.add(x.member)
        now = self._now
        current = now is None or now.number is None or x.generation is None or now.number == x.generation
        if not current or x.response_ns is None:
            return
        yield from self._observe(ClassicEvent.REBALANCING, x.response_ns)
        now = self._current()
        now.prove(x.request_id, x.ts_ns)
        now.served_by(x.node_id)
        if now.rejoin is None:
            now.rejoin = RejoinRequest(x.response_ns, x.member, x.request_id)
        if self._previous is not None and x.member in self._previous.members:
            self._previous.members[x.member].observe(x)

    def _refused(self, x: GroupRequest) -> None:
        """Handles an error response to a member."""
        if x.error == "MEMBER_ID_REQUIRED":
            if len(self._new_ids) < MOST_NEW_IDS:
                self._new_ids[x.response.member_id or ""] = x.request_id
        elif x.error in STALE_MEMBER or x.error == "REBALANCE_IN_PROGRESS":
            self._prompted.add(x.member)
        elif x.error in FENCED_INSTANCE and self._now is not None:
            self._now.fence(x)

    def _commit_refused(self, x: GroupRequest) -> None:
        now = self._now
        stale = x.error in STALE_MEMBER and now is not None and x.generation == now.number
        if stale and self.state is ClassicState.STABLE and len(self._early_refusals) < MOST_EVIDENCE:
            self._early_refusals.append(x)
        else:
            super()._commit_refused(x)
        self._refused(x)

    def _leave_sent(self, x: GroupRequest) -> Iterator[RebalanceRow]:
        if x.error is not None or self._now is None:
            return
        preparing = self.state is ClassicState.PREPARING
        base = dict(self._now.present)
        if preparing and self._previous is not None:
            base = {**self._previous.present, **base}
        base = {m: member for m, member in base.items() if m not in self._now.left}
        gone = {m: why for m, why in leaving_members(x, base).items() if m in base}
        if gone and len(gone) == len(base):
            yield from self._last_left()
        elif gone:
            yield from self._observe(ClassicEvent.LEAVE, x.ts_ns)
            self._now.prove(x.request_id, x.ts_ns)
            for member_id, why in gone.items():
                if preparing:
                    self._now.members.pop(member_id, None)
                self._now.left[member_id] = Departure(base[member_id], "left", why, x.request_id, x.ts_ns)

    def _last_left(self) -> Iterator[RebalanceRow]:
        """Handles that the last member left: a round in progress ends without a generation."""
        yield from self._end()
        if self._now is not None and self._now.number is not None:
            yield self._row(self._now)
        self._on(ClassicEvent.LAST_LEAVE)
        self._now = self._before = None
        self._was_empty = True
        self._ownership = Ownership()
        self._prompted.clear()

    def _coordinator_looked_up(self, x: GroupRequest) -> None:
        if self._now is not None and self.state is ClassicState.PREPARING:
            self._now.coordinator_lookup = (x.request_id, x.ts_ns)
        else:
            self._lookup = (x.request_id, x.ts_ns)

    def _on_activity(self, activity: MemberActivity) -> Iterator[RebalanceRow]:
        """Handles heartbeats and other activity of a member in a generation."""
        commits = activity.api_key == api_keys.OFFSET_COMMIT
        if not commits:
            yield from self._at_generation(activity.generation)
        generations = (g for g in (self._now, self._ending, self._before) if g is not None)
        generation = next((g for g in generations if g.number == activity.generation), None)
        if generation is None:
            return
        if not commits or activity.member_id in generation.members:
            generation.member(activity.member_id).observe(activity)
        generation.served_by(activity.node_id)
        if generation is self._now and (generation.start_ns is None or activity.n >= SETTLED_HEARTBEATS):
            generation.settled = generation.settled or activity.api_key == api_keys.HEARTBEAT
            self._on(ClassicEvent.ASSIGNMENT)
        if generation.start_ns is None:
            generation.prove(activity.request_id, activity.ts_ns)


def _replaced_member(now: Generation, x: GroupRequest) -> str | None:
    """Returns the former member id of a static member that joined under a new id and got the present generation; None
    if it is not one."""
    instance = x.group_instance_id
    same = [m for m, i in (now.listed or {}).items() if i == instance] if instance else []
    return same[0] if same and x.member not in same else None
