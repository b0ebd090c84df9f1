"""When a client waited for a coordinator or for metadata: its requests failed, were slow or were not answered.

Five services: commit (of offsets), membership (a place in the group), transaction, metadata, admin (what the controller
decides). Each is served by an answer without error and waits from the first request that did not get one. What comes
before the first success is the client's start, but for admin. A refusal that is final (a fenced producer) is no wait;
what a rebalance delays is none either, nor what is refused for a moment in the protocol's normal course
(error_facts.BRIEFLY_NORMAL). A member keeps its place while it waits for the answer to a heartbeat: it waits since the
heartbeat only where the late answer is an error, because the coordinator had moved or had removed the member meanwhile;
and since the answer where that came in time. It also learns from a commit that it is out, and waits since then.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field

from kafkascope_analyzer.dataset.stall_limit import LEAST_STALL_MS
from kafkascope_analyzer.dataset.tables.event_kinds.requests import ErrorRun, Request
from kafkascope_parsers import api_keys
from kafkascope_parsers.error_facts import (
    BRIEF_NS,
    BRIEFLY_NORMAL,
    COORDINATOR_MOVED,
    MEMBER_REMOVED,
    PERMISSION_DENIED,
    STALE_MEMBER,
)
from kafkascope_spark.stories.clients.identity.instances import Instance
from kafkascope_spark.stories.stalls.apis import COMMIT, METADATA, TRANSACTION
from kafkascope_spark.stories.stalls.stall import MOST_EVIDENCE, StallLimits, Subject, Wait, stalls_of
from kafkascope_spark.stories.stalls.table import Stall, StallKind

LEAST_WAIT_NS = LEAST_STALL_MS * 1_000_000
"""A slower answer is a wait; one that is long enough is a stall."""
GIVE_UP_NS = 30_000_000_000
"""A request that is not repeated for as long was given up (request.timeout.ms of Kafka's clients)."""
_ROUND = frozenset({api_keys.JOIN_GROUP, api_keys.SYNC_GROUP})
"""APIs whose answers take as long as a rebalance, and say nothing about who has to wait."""
_HEARTBEATS = api_keys.GROUP_HEARTBEATS | {api_keys.HEARTBEAT}
_MEMBERSHIP = _ROUND | _HEARTBEATS
_RETRIED = (
    COORDINATOR_MOVED
    | PERMISSION_DENIED
    | {
        "COORDINATOR_LOAD_IN_PROGRESS",
        "COORDINATOR_NOT_AVAILABLE",
        "LEADER_NOT_AVAILABLE",
        "NETWORK_EXCEPTION",
        "REQUEST_TIMED_OUT",
        "CONCURRENT_TRANSACTIONS",
        "KAFKA_STORAGE_ERROR",
        "UNKNOWN_LEADER_EPOCH",
    }
)
"""Errors after which a client asks again for the same. Few libraries do so by themselves where a permission is missing;
an application that does waits until somebody grants it."""
_OUT = MEMBER_REMOVED | STALE_MEMBER
"""Errors by which a member learns that it has no place in the group."""
_KINDS: tuple[StallKind, ...] = ("commit", "membership", "transaction", "metadata", "admin")
_Service = tuple[StallKind, str | None]
"""Kind, and the group or transactional id."""


@dataclass(slots=True)
class _Open:
    """A wait that goes on. last_ns: its last attempt, or the answer to it."""

    from_ns: int
    node_id: int | None
    last_ns: int
    n_attempts: int = 0
    errors: set[str] = field(default_factory=set)
    requests: list[tuple[int, str]] = field(default_factory=list)

    def attempt(self, request: Request, at: int) -> None:
        """Another request for the same; at: its answer, or when it was sent."""
        self.last_ns = max(self.last_ns, at)
        self.n_attempts += 1
        if len(self.requests) < MOST_EVIDENCE:
            self.requests.append((request.ts_ns, request.request_id))


class Calls:
    """Follows the calls of one client. Requests and answers come in order of time (timeline)."""

    def __init__(self, instance: Instance, limits: StallLimits) -> None:
        self._instance = instance
        self._limits = limits
        began_before = any(not c.opened_in_capture for c in instance.connections)
        self._has_worked: set[str] = set(_KINDS) if began_before else {"admin"}
        self._open: dict[_Service, _Open] = {}
        self._served_ns: dict[_Service, int] = {}
        """Service -> time of its last answer without error."""
        self._waits: dict[_Service, list[Wait]] = {}

    def on_request(self, request: Request) -> None:
        """A request was sent; what becomes of it is known where it is never answered."""
        service = _service_of(request)
        if service is not None and request.status == "unanswered" and not _keeps_place(request):
            self._attempt(service, request, request.ts_ns)

    def on_answer(self, request: Request, failures: list[ErrorRun]) -> None:
        """An answer arrived, with these error codes."""
        service = _service_of(request)
        if service is None or request.response_ns is None:
            return
        errors = {failure.error_name for failure in failures}
        blocking = errors & self._blocking(service, request)
        if blocking:
            wait = self._attempt(service, request, request.response_ns)
            if wait is not None:
                wait.errors |= blocking
        elif service[0] == "commit" and errors & _OUT and request.member_id:
            self._learn_that_it_is_out(service[1], request, errors & _OUT)
        elif not errors or request.partly_ok or "REBALANCE_IN_PROGRESS" in errors:
            self._serve(service, request)
            if service[0] == "commit" and ("membership", service[1]) in self._open and request.member_id:
                self._serve(("membership", service[1]), request)

    def _learn_that_it_is_out(self, group_id: str | None, request: Request, errors: set[str]) -> None:
        """A commit was refused because the member has no place in the group (any longer)."""
        assert request.response_ns is not None
        service: _Service = "membership", group_id
        if service[0] not in self._has_worked:
            return
        wait = self._open.setdefault(service, _Open(request.response_ns, request.node_id, request.response_ns))
        wait.attempt(request, request.response_ns)
        wait.errors |= errors

    def on_error_run(self, run: ErrorRun, request: Request) -> None:
        """The same error came again and again; request: the first that met it."""
        service = _service_of(request)
        if service is not None and run.error_name in self._blocking(service, request):
            wait = self._attempt(service, request, run.last_ns)
            if wait is not None:
                wait.n_attempts += run.n - 1
                wait.errors.add(run.error_name)

    def _attempt(self, service: _Service, request: Request, at: int) -> _Open | None:
        """A request that did not get what it wanted."""
        if service[0] not in self._has_worked:
            return None
        wait = self._going_on(service, request)
        from_ns = at if _keeps_place(request) and not self._was_waited_for(service, request) else request.ts_ns
        if wait is None:
            wait = self._open[service] = _Open(from_ns, request.node_id, at)
        wait.from_ns = min(wait.from_ns, from_ns)
        wait.attempt(request, at)
        return wait

    def _blocking(self, service: _Service, request: Request) -> frozenset[str]:
        """The errors after which a client still wants what it asked for. A member whose coordinator moved has its place
        at the next one: it goes on without a wait where it learns of that in time."""
        if service[0] != "membership":
            return _RETRIED
        is_in = _keeps_place(request) and not self._was_waited_for(service, request)
        return _OUT if is_in else _RETRIED | _OUT

    def _was_waited_for(self, service: _Service, request: Request) -> bool:
        """Whether the answer took long, and the service was not had in another way meanwhile."""
        return _is_late(request) and self._served_ns.get(service, 0) <= request.ts_ns

    def _going_on(self, service: _Service, request: Request) -> _Open | None:
        """The wait that the request belongs to; None where the client had given up before."""
        wait = self._open.get(service)
        if wait is not None and request.ts_ns - wait.last_ns > GIVE_UP_NS:
            self._close(service, wait.last_ns, served=False)
            return None
        return wait

    def _serve(self, service: _Service, request: Request) -> None:
        """An answer without error. JoinGroup only begins a round."""
        assert request.response_ns is not None
        if request.api_key == api_keys.JOIN_GROUP:
            return
        wait = self._going_on(service, request)
        is_slow = _is_late(request) and service[0] != "membership"
        if wait is None and is_slow and not request.throttle_ms and service[0] in self._has_worked:
            wait = self._open[service] = _Open(request.ts_ns, request.node_id, request.response_ns)
        if wait is not None:
            wait.attempt(request, request.response_ns)
            self._close(service, request.response_ns)
        self._has_worked.add(service[0])
        self._served_ns[service] = request.response_ns

    def _close(self, service: _Service, to_ns: int | None, *, served: bool = True) -> None:
        wait = self._open.pop(service)
        brief_ns = min(BRIEF_NS, self._limits.least_ns)
        is_brief = to_ns is not None and to_ns - wait.from_ns < brief_ns
        if is_brief and wait.errors and BRIEFLY_NORMAL.issuperset(wait.errors):
            return
        self._waits.setdefault(service, []).append(
            Wait(
                wait.from_ns,
                to_ns,
                self._instance.instance_id,
                wait.node_id,
                wait.n_attempts,
                frozenset(wait.errors),
                tuple(wait.requests),
                served=served,
            )
        )

    def finish(self, left_ns: int | None) -> Iterator[Stall]:
        """The stalls, without incident_id. left_ns: when the client ended, None while it lives."""
        for service, wait in list(self._open.items()):
            is_given_up = (left_ns or self._limits.end_ns) - wait.last_ns > GIVE_UP_NS
            self._close(service, wait.last_ns if is_given_up else left_ns, served=False)
        clients = {self._instance.instance_id: self._instance}
        for (kind, name), waits in self._waits.items():
            group_id = name if kind in ("commit", "membership") else None
            transactional_id = name if kind == "transaction" else None
            owner = f"{self._instance.instance_id} {name or ''}"
            subject = Subject(kind, owner, group_id, transactional_id)
            yield from stalls_of(subject, waits, clients, self._limits)


def _service_of(request: Request) -> _Service | None:
    """The service that a request asks for."""
    key = request.api_key
    if key in COMMIT and request.group_id:
        return "commit", request.group_id
    if key in _MEMBERSHIP and request.group_id:
        return "membership", request.group_id
    if key in TRANSACTION and request.transactional_id:
        return "transaction", request.transactional_id
    if key in api_keys.CONTROLLER_APIS:
        return "admin", None
    return ("metadata", None) if key in METADATA else None


def _keeps_place(request: Request) -> bool:
    """Whether it is a heartbeat of a member: until the session times out it has its place."""
    return request.api_key in _HEARTBEATS and (request.generation_or_epoch or 0) > 0


def _is_late(request: Request) -> bool:
    """Whether the answer took so long that the client had to wait for it."""
    return request.response_ns is not None and request.response_ns - request.ts_ns >= LEAST_WAIT_NS
