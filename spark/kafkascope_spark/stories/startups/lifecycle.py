"""The starts of a client instance: from the first SYN until the client is ready (or fails), including its first
heartbeat and commit afterwards.

The states are the table of `states`. A start is `cut` when the capture begins or ends inside it, or a time that no file
covers begins; a client that ran
before the capture has no start of its own. A DNS look-up before the first SYN is a step of the start but not part of
its total: the response may come from a cache, and the client need not exist yet. Memory is bounded by MAX_STEPS per
start.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

from kafkascope_analyzer.dataset.tables.event_kinds.requests import ErrorRun, Request
from kafkascope_analyzer.dataset.uncovered import NOTHING_UNCOVERED, Uncovered
from kafkascope_parsers import api_keys
from kafkascope_spark.stories.clients.identity.instances import Instance
from kafkascope_spark.stories.model import Connection
from kafkascope_spark.stories.startups.lookups import BEFORE_NS, ClientLookup, dns_step
from kafkascope_spark.stories.startups.outcomes import LAST_STEPS, has_failed, is_fatal
from kafkascope_spark.stories.startups.startup_rows import EndedStart, rows_of
from kafkascope_spark.stories.startups.states import BEGINS, COMPLETES, TRANSITIONS, Happening, State
from kafkascope_spark.stories.startups.steps import (
    ASKS_OFFSETS,
    ONCE,
    ONCE_A_CONNECTION,
    OPENING,
    SENDS,
    Step,
    awaited_after_ready,
    is_producer,
    is_reader,
    makes_ready,
    produce_steps,
    step_of,
    tcp_connect,
    tls_handshake,
)
from kafkascope_spark.stories.startups.table import StartOutcome, StartupRow, StartupStepRow

MAX_STEPS = 2_000
"""Steps that are kept of one start: the steps of a client that retries for hours repeat themselves."""
SILENCE_NS = 30_000_000_000
"""A client that sends nothing for so long at the end of the capture has gone silent (three times the former default
session timeout of 10 s)."""
LINGER_NS = 1_000_000_000
"""Time after ready in which the other connections of the start may still be opened."""
SETTLE_NS = 30_000_000_000
"""Time after ready in which the first heartbeat (3 s, KIP-848 5 s) and commit (5 s) are expected."""
MAX_FIRST_ID = 16
"""A client that starts sends its first request with correlation id 0 or 1; the Java client takes a few ids for requests
that wait for their connection."""


@dataclass(slots=True)
class Start:
    """A start in progress."""

    start_ns: int
    seen_whole: bool
    is_hidden: bool = False
    """Whether it continued in a time that no file covers."""
    steps: list[Step] = field(default_factory=list)
    conn_ids: set[str] = field(default_factory=set)
    metadata_ns: int | None = None
    """Time of the first Metadata response: the end of the bootstrap phase."""
    ready: Request | None = None
    done: set[str] = field(default_factory=set)
    done_on: set[tuple[str, str]] = field(default_factory=set)
    poll_until: dict[str, int] = field(default_factory=dict)
    """Connection -> time until which the broker may hold its last unanswered Fetch (max_wait_ms)."""


class Startups:
    """The starts of one client instance. Takes its events in order of time; `finish` returns the rows. uncovered: times
    that no file covers."""

    def __init__(
        self, instance: Instance, capture_ns: tuple[int, int], uncovered: Uncovered = NOTHING_UNCOVERED
    ) -> None:
        self._instance = instance
        self._capture_ns = capture_ns
        self._uncovered = uncovered
        self._library = instance.library
        self._servers = {c.conn_id: c.server for c in instance.connections}
        self._state = State.ABSENT
        self._start: Start | None = None
        self._number = 0
        self._was_ready = False
        self._open: set[str] = set()
        self._last_ns = 0
        self._rows: list[StartupRow | StartupStepRow] = []
        self.lookups: list[ClientLookup] = []
        """The DNS look-ups of the instance, in order of time; set before the first event."""
        self._ran_before = _ran_before(instance)

    def on_open(self, connection: Connection) -> None:
        """Handles a connection that was opened, or first seen."""
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
        """Handles a request that was sent."""
        self._settle(request.ts_ns)
        self._last_ns = max(self._last_ns, request.ts_ns)
        if self._start is not None:
            for step in self._steps(self._start, request):
                self._add(step)
                if step.name == "first_fetch" and step.outcome == "unanswered":
                    self._start.poll_until[step.conn_id] = request.ts_ns + (request.max_wait_ms or 0) * 1_000_000

    def on_answer(self, request: Request, failures: Sequence[ErrorRun] = ()) -> None:
        """Handles a response and its errors: it may make the client ready. A late response on a connection of an
        earlier start does not count for this one."""
        at = request.response_ns
        if at is not None:
            self._hide(at)
        start = self._start
        if start is None or at is None or request.conn_id not in start.conn_ids:
            return
        self._last_ns = max(self._last_ns, at)
        if failures and not request.error_code:
            _mark_failed(start, request, failures[0].error_name)
        if request.api_key == api_keys.METADATA and start.metadata_ns is None and request.ok:
            start.metadata_ns = at
        self._check_ready(start, request)

    def on_request_without_response(self, request: Request) -> None:
        """Handles a Produce with acks=0: no response will come, so that the client is ready when it has sent it."""
        if self._start is not None:
            self._check_ready(self._start, request)

    def on_close(self, connection: Connection, at: int) -> None:
        """Handles the end of a connection."""
        self._settle(at)
        self._open.discard(connection.conn_id)
        if self._start is not None and self._start.poll_until.get(connection.conn_id, at) > at:
            self._start.done.add("first_fetch")
        if not self._open:
            self._move(Happening.ALL_GONE)

    def finish(self) -> list[StartupRow | StartupStepRow]:
        """The rows of all starts, at the end of the capture or of the client."""
        self._settle(self._capture_ns[1])
        self._move(Happening.ENDED)
        return self._rows

    def _move(self, what: Happening, connection: Connection | None = None) -> None:
        """Changes the state as the table of transitions says."""
        before = self._state
        after = TRANSITIONS.get((before, what))
        if after is None:
            return
        if (before, what) in COMPLETES:
            self._complete()
        if (before, what) in BEGINS and connection is not None:
            whole = connection.opened_in_capture and not (self._number == 0 and self._ran_before)
            self._start = Start(connection.begin_ns, whole)
        self._state = after

    def _check_ready(self, start: Start, request: Request) -> None:
        if start.ready is None and makes_ready(request, self._instance.kind):
            start.ready = request
            self._move(Happening.READY)

    def _settle(self, now: int) -> None:
        """Completes the start once the steps after ready were taken or their time has passed."""
        self._hide(now)
        start = self._start
        if start is None or start.ready is None:
            return
        since = now - _ready_ns(start.ready)
        awaited = awaited_after_ready(self._instance.kind) - start.done
        if since > SETTLE_NS or (since > LINGER_NS and not awaited):
            self._move(Happening.SETTLED)

    def _hide(self, now: int) -> None:
        """Completes the start where a time that no file covers lies between the event before and now."""
        if self._start is not None and self._uncovered and self._uncovered.first_in(self._last_ns, now) is not None:
            self._start.is_hidden = True
            self._move(Happening.HIDDEN)

    def _outcome(self, start: Start) -> StartOutcome:
        if not start.seen_whole:
            return "cut"
        if start.ready is not None:
            return "ready"
        if any(is_fatal(s) for s in start.steps):
            return "failed"
        if start.is_hidden or (self._open and self._capture_ns[1] - self._last_ns < SILENCE_NS):
            return "cut"
        if any(has_failed(s) for s in start.steps[-LAST_STEPS:]):
            return "failed"
        return "done" if self._did_its_work(start) else "gave_up"

    def _did_its_work(self, start: Start) -> bool:
        """Whether all requests of a client were served, and nothing shows that it had more to do: a consumer that
        fetched without records being available, whose first Fetch still waited for records when its connection ended,
        or that stayed in a group without a partition, so that it asked for no offset; a producer that got its producer
        id, or had been ready before, and had nothing to send; an administrator that got a response; a client that
        requested only metadata and got all responses; or an encrypted client that got a response."""
        kind = self._instance.kind
        if kind.claimed:
            return "first_exchange" in start.done
        if is_reader(kind):
            is_idle_member = "first_heartbeat" in start.done and ASKS_OFFSETS.isdisjoint(s.name for s in start.steps)
            return "first_fetch" in start.done or is_idle_member
        if any(has_failed(s) for s in start.steps):
            return False
        if kind.kind == "admin" and any(s.name == "admin_request" for s in start.steps):
            return True
        if "metadata" not in start.done:
            return False
        if is_producer(kind):
            has_id = self._was_ready or "init_producer_id" in start.done
            return has_id and SENDS.isdisjoint(s.name for s in start.steps)
        return kind.kind == "unknown"

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
        """Whether a step that begins after ready is still part of the start: it was expected, or its connection was
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

    def _complete(self) -> None:
        """Adds the rows of the start in progress."""
        start = self._start
        if start is None:
            return
        self._number += 1
        self._start = None
        self._add_lookups(start)
        outcome = self._outcome(start)
        self._was_ready |= outcome == "ready"
        ready = start.ready if outcome == "ready" else None
        ended = EndedStart(
            instance=self._instance,
            library=self._library,
            number=self._number,
            start_ns=start.start_ns,
            outcome=outcome,
            ready_ns=_ready_ns(ready) if ready is not None else None,
            ready_request_id=ready.request_id if ready is not None else None,
            metadata_ns=start.metadata_ns,
            conn_ids=frozenset(start.conn_ids),
            asks_acks=start.ready is None or start.ready.response_ns is not None,
        )
        self._rows += rows_of(ended, start.steps)

    def _add_lookups(self, start: Start) -> None:
        """Adds the look-ups from shortly before the start until it was ready; earlier ones belong to no start."""
        until = _ready_ns(start.ready) if start.ready is not None else self._capture_ns[1]
        mine = [a for a in self.lookups if a.lookup.ts_ns <= until]
        del self.lookups[: len(mine)]
        start.steps += [dns_step(a) for a in mine if a.lookup.ts_ns >= start.start_ns - BEFORE_NS]


def _mark_failed(start: Start, request: Request, error_name: str) -> None:
    """Sets the error of a step whose response has it in a field that is not named error_code (AddPartitionsToTxn)."""
    for step in reversed(start.steps):
        if step.request_ids == (request.request_id,):
            step.outcome, step.error_name = "error", error_name
            return


def _ran_before(instance: Instance) -> bool:
    """Whether the instance ran before the capture: a connection was open when it began, or the first correlation id is
    high."""
    used = [c for c in instance.connections if c.n_requests or c.is_encrypted]
    if any(not c.opened_in_capture for c in used):
        return True
    firsts = [c.ids[0][1] for c in used if c.ids]
    return bool(firsts) and min(firsts) > MAX_FIRST_ID


def _ready_ns(request: Request) -> int:
    answered = request.answered_ns
    return answered if answered is not None else request.request_last_ns
