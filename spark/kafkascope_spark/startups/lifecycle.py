"""The starts of a client instance, from the first SYN to ready (or to what kept it from that), to the first
heartbeat and commit after it. A name looked up before the first SYN is a step of the start, and no part of its total:
the answer may come from a cache, and the client object need not exist yet.

The life is the table of `states`. A start is `cut` when the capture begins or ends inside it: no start is made up
for a client that was there before the capture. Memory is bounded by MAX_STEPS per start.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

from kafkascope_spark import wire
from kafkascope_spark.identity.instances import Instance
from kafkascope_spark.startups.libraries import library_of
from kafkascope_spark.startups.lookups import BEFORE_NS, Asked, dns_step
from kafkascope_spark.startups.outcomes import LAST_STEPS, has_failed, is_fatal
from kafkascope_spark.startups.rows import Ended, rows_of
from kafkascope_spark.startups.states import BEGINS, TELLS, TRANSITIONS, Happening, State
from kafkascope_spark.startups.steps import (
    ONCE,
    ONCE_A_CONNECTION,
    OPENING,
    Step,
    awaited_after_ready,
    is_ready_answer,
    produce_steps,
    step_of,
    tcp_connect,
    tls_handshake,
)
from kafkascope_spark.wire import Connection, ErrorRun, Request, Row

MAX_STEPS = 2_000
"""Steps kept of one start: a client that retries for hours in vain tells nothing new after these."""
SILENCE_NS = 30_000_000_000
"""A client with nothing in flight for so long at the end of the capture went silent (three default heartbeat
sessions of 10 s)."""
LINGER_NS = 1_000_000_000
"""How long after ready the other connections of the start may still be opening."""
SETTLE_NS = 30_000_000_000
"""How long after ready its first heartbeat (3 s, KIP-848 5 s) and commit (5 s) are awaited."""
MAX_FIRST_ID = 16
"""A client that starts sends its first request with the id 0 or 1; Java takes a few ids for requests that wait for
their connection."""


@dataclass(slots=True)
class Start:
    """A start in progress."""

    start_ns: int
    seen_whole: bool
    steps: list[Step] = field(default_factory=list)
    conn_ids: set[str] = field(default_factory=set)
    told_ns: int | None = None
    """First Metadata answer: the end of the bootstrap phase."""
    ready: Request | None = None
    done: set[str] = field(default_factory=set)
    done_on: set[tuple[str, str]] = field(default_factory=set)


class Startups:
    """The starts of one instance. Feed it events in order; finish gives what is still open."""

    def __init__(self, instance: Instance, capture_ns: tuple[int, int]) -> None:
        self._instance = instance
        self._capture_ns = capture_ns
        self._library = library_of(instance.connections)
        self._servers = {c.conn_id: c.server for c in instance.connections}
        self._state = State.ABSENT
        self._start: Start | None = None
        self._number = 0
        self._open: set[str] = set()
        self._last_ns = 0
        self._rows: list[tuple[str, Row]] = []
        self.lookups: list[Asked] = []
        """Its questions to name servers, by time; to be filled before the first event."""
        self._lacks_beginning = _lacks_beginning(instance)

    def on_open(self, connection: Connection) -> None:
        """A connection was opened, or first seen."""
        at = connection.begin_ns
        self._settle(at)
        late = not self._open and at - self._last_ns > SILENCE_NS
        self._move(Happening.OPENED_LATE if late else Happening.OPENED, connection)
        self._open.add(connection.conn_id)
        self._last_ns = max(self._last_ns, at)
        if self._start is not None:
            self._start.conn_ids.add(connection.conn_id)
            if connection.syn_ns is not None:
                self._add(tcp_connect(connection))
                secured = tls_handshake(connection)
                if secured is not None:
                    self._add(secured)

    def on_request(self, request: Request) -> None:
        """A request was sent."""
        self._settle(request.ts_ns)
        self._last_ns = max(self._last_ns, request.ts_ns)
        if self._start is not None:
            for step in self._steps(self._start, request):
                self._add(step)

    def on_answer(self, request: Request, failures: Sequence[ErrorRun] = ()) -> None:
        """An answer arrived, with these errors: perhaps the one that makes the client ready. What comes late to a
        connection of an earlier start says nothing of this one."""
        start, at = self._start, request.response_ns
        if start is None or at is None or request.conn_id not in start.conn_ids:
            return
        self._last_ns = max(self._last_ns, at)
        if failures and not request.error_code:
            _mark_failed(start, request, failures[0].error_name)
        if request.api_key == wire.METADATA and start.told_ns is None and request.ok:
            start.told_ns = at
        self._perhaps_ready(start, request)

    def on_sent_unasked(self, request: Request) -> None:
        """A Produce with acks=0 was sent: nobody acknowledges it, the client is as ready as it gets."""
        if self._start is not None:
            self._perhaps_ready(self._start, request)

    def on_close(self, connection: Connection, at: int) -> None:
        """A connection ended."""
        self._settle(at)
        self._open.discard(connection.conn_id)
        if not self._open:
            self._move(Happening.ALL_GONE)

    def finish(self) -> list[tuple[str, Row]]:
        """End of the capture or of the client: the rows of all starts."""
        self._settle(self._capture_ns[1])
        self._move(Happening.ENDED)
        return self._rows

    def _move(self, what: Happening, connection: Connection | None = None) -> None:
        """Go where the table says."""
        before = self._state
        after = TRANSITIONS.get((before, what))
        if after is None:
            return
        if (before, what) in TELLS:
            self._tell()
        if (before, what) in BEGINS and connection is not None:
            whole = connection.opened_in_capture and not (self._number == 0 and self._lacks_beginning)
            self._start = Start(connection.begin_ns, whole)
        self._state = after

    def _perhaps_ready(self, start: Start, request: Request) -> None:
        if start.ready is None and is_ready_answer(request, self._instance.kind):
            start.ready = request
            self._move(Happening.READY)

    def _settle(self, now: int) -> None:
        """Once the steps after ready are done or their time is up, the start is over."""
        start = self._start
        if start is None or start.ready is None:
            return
        since = now - _ready_ns(start.ready)
        awaited = awaited_after_ready(self._instance.kind) - start.done
        if since > SETTLE_NS or (since > LINGER_NS and not awaited):
            self._move(Happening.SETTLED)

    def _outcome(self, start: Start) -> str:
        if not start.seen_whole:
            return "cut"
        if start.ready is not None:
            return "ready"
        if any(is_fatal(s) for s in start.steps):
            return "failed"
        if self._open and self._capture_ns[1] - self._last_ns < SILENCE_NS:
            return "cut"
        return "failed" if any(has_failed(s) for s in start.steps[-LAST_STEPS:]) else "gave_up"

    def _steps(self, start: Start, request: Request) -> list[Step]:
        name = step_of(request, self._instance.kind)
        if name is None or (name in ONCE and name in start.done):
            return []
        if name in ONCE_A_CONNECTION and request.ok and (request.conn_id, name) in start.done_on:
            return []
        after = start.ready is not None and request.ts_ns >= _ready_ns(start.ready)
        if after and not self._belongs_after_ready(start, request, name):
            return []
        server = self._servers.get(request.conn_id)
        return produce_steps(request, server) if name == "first_produce" else [Step.of(name, request, server)]

    def _belongs_after_ready(self, start: Start, request: Request, name: str) -> bool:
        """Whether a step that begins after ready is still part of the start: it was awaited, or its connection was
        opened before."""
        if name in awaited_after_ready(self._instance.kind):
            return True
        if name == "first_fetch" and (request.conn_id, "first_records") in start.done_on:
            return False
        opening = name in OPENING or name in ONCE_A_CONNECTION
        return opening and request.conn_id in start.conn_ids and (request.conn_id, name) not in start.done_on

    def _add(self, step: Step) -> None:
        start = self._start
        if start is None or len(start.steps) >= MAX_STEPS:
            return
        if not step.failed:
            start.done.add(step.name)
            start.done_on.add((step.conn_id, step.name))
        start.steps.append(step)

    def _tell(self) -> None:
        start = self._start
        if start is None:
            return
        self._number += 1
        self._start = None
        self._take_lookups(start)
        outcome = self._outcome(start)
        ready = start.ready if outcome == "ready" else None
        ended = Ended(
            instance=self._instance,
            library=self._library,
            number=self._number,
            start_ns=start.start_ns,
            outcome=outcome,
            ready_ns=_ready_ns(ready) if ready is not None else None,
            ready_request_id=ready.request_id if ready is not None else None,
            told_ns=start.told_ns,
            conn_ids=frozenset(start.conn_ids),
            asks_acks=start.ready is None or start.ready.response_ns is not None,
        )
        self._rows += rows_of(ended, start.steps)

    def _take_lookups(self, start: Start) -> None:
        """Add the look-ups from shortly before the start until it was ready; earlier ones are of no start."""
        until = _ready_ns(start.ready) if start.ready is not None else self._capture_ns[1]
        mine = [a for a in self.lookups if a.lookup.ts_ns <= until]
        del self.lookups[: len(mine)]
        start.steps += [dns_step(a) for a in mine if a.lookup.ts_ns >= start.start_ns - BEFORE_NS]


def _mark_failed(start: Start, request: Request, error_name: str) -> None:
    """The step's answer has an error in a field that is not named error_code (AddPartitionsToTxn)."""
    for step in reversed(start.steps):
        if step.request_ids == [request.request_id]:
            step.outcome, step.error_name = "error", error_name
            return


def _lacks_beginning(instance: Instance) -> bool:
    """Whether the instance ran before the capture: a connection whose opening is not in it, or a counter that is
    already far."""
    spoken = [c for c in instance.connections if c.n_requests]
    if any(not c.opened_in_capture for c in spoken):
        return True
    firsts = [c.ids[0][1] for c in spoken if c.ids]
    return bool(firsts) and min(firsts) > MAX_FIRST_ID


def _ready_ns(request: Request) -> int:
    answered = request.answered_ns
    return answered if answered is not None else request.request_last_ns
