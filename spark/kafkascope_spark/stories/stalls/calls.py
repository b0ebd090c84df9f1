"""Waits of a client for a coordinator or for metadata: its requests failed, were slow or were not answered.

There are five services: commit (of offsets), membership (in a group), transaction, metadata, admin (requests to the
controller). A response without error serves the client; a wait begins with the first request that did not get one. Time
before the first success belongs to the client's start, except for admin. A final refusal (a fenced producer) is no
wait, nor is the delay of a rebalance, nor an error that is normal for a moment (error_facts.BRIEFLY_NORMAL). A member
is still in its group while it waits for the response to a heartbeat. Its wait begins with the heartbeat only if the
late response is an error, because the coordinator moved or removed the member; if the error came in time, the wait
begins with the response. An error to a commit can also show the member that it was removed; its wait begins then.
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
from kafkascope_spark.stories.stalls.apis import METADATA, TRANSACTION
from kafkascope_spark.stories.stalls.stall import MOST_EVIDENCE, StallLimits, Subject, Wait, stalls_of
from kafkascope_spark.stories.stalls.table import Stall, StallKind

LEAST_WAIT_NS = LEAST_STALL_MS * 1_000_000
"""A response that takes longer is a wait; a long enough wait is a stall."""
GIVE_UP_NS = 30_000_000_000
"""A request that is not repeated for this time was given up (request.timeout.ms of Kafka's clients)."""
_ROUND = frozenset({api_keys.JOIN_GROUP, api_keys.SYNC_GROUP})
"""APIs whose responses take as long as a rebalance, so that their time does not show a wait."""
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
"""Errors after which a client repeats the request. For a missing permission, few libraries do so by themselves; an
application that does waits until the permission is granted."""
_OUT = MEMBER_REMOVED | STALE_MEMBER
"""Errors that tell a member that it is not in the group."""
_KINDS: tuple[StallKind, ...] = ("commit", "membership", "transaction", "metadata", "admin")
_Service = tuple[StallKind, str | None]
"""Kind of stall, and the group or transactional id. A response to Metadata names no coordinator: who is refused that is
not served by it."""


@dataclass(slots=True)
class _Open:
    """A wait in progress. last_ns: time of its last attempt, or of the response to it."""

    from_ns: int
    node_id: int | None
    last_ns: int
    n_attempts: int = 0
    errors: set[str] = field(default_factory=set)
    requests: list[tuple[int, str]] = field(default_factory=list)

    def attempt(self, request: Request, at: int) -> None:
        """Adds another request for the same. at: time of its response, or when it was sent."""
        self.last_ns = max(self.last_ns, at)
        self.n_attempts += 1
        if len(self.requests) < MOST_EVIDENCE:
            self.requests.append((request.ts_ns, request.request_id))


class Calls:
    """Follows the calls of one client. Requests and responses come in order of time (timeline)."""

    def __init__(self, instance: Instance, limits: StallLimits) -> None:
        self._instance = instance
        self._limits = limits
        began_before = any(not c.opened_in_capture for c in instance.connections)
        self._has_worked: set[str] = set(_KINDS) if began_before else {"admin"}
        self._open: dict[_Service, _Open] = {}
        self._served_ns: dict[_Service, int] = {}
        """Service -> time of its last response without error."""
        self._waits: dict[_Service, list[Wait]] = {}

    def on_request(self, request: Request) -> None:
        """Handles a request that was sent. It is an attempt already if it will never be answered."""
        service = _service_of(request)
        if service is not None and request.status == "unanswered" and not _keeps_place(request):
            self._attempt(service, request, request.ts_ns)

    def on_answer(self, request: Request, failures: list[ErrorRun]) -> None:
        """Handles a response and its errors."""
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
        """Begins or extends a wait because a commit was refused to a client that is not a group member (any longer)."""
        assert request.response_ns is not None
        service: _Service = "membership", group_id
        if service[0] not in self._has_worked:
            return
        wait = self._open.setdefault(service, _Open(request.response_ns, request.node_id, request.response_ns))
        wait.attempt(request, request.response_ns)
        wait.errors |= errors

    def on_error_run(self, run: ErrorRun, request: Request) -> None:
        """Handles a run of repeated errors. request: the first request of the run."""
        service = _service_of(request)
        if service is not None and run.error_name in self._blocking(service, request):
            wait = self._attempt(service, request, run.last_ns)
            if wait is not None:
                wait.n_attempts += run.n - 1
                wait.errors.add(run.error_name)

    def _attempt(self, service: _Service, request: Request, at: int) -> _Open | None:
        """Begins or extends a wait by a request that did not succeed. Returns the wait; None if the client never
        succeeded before."""
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
        """Returns the errors that begin a wait. A member whose coordinator moved is still a member at the next one, so
        these errors count only if the response was late."""
        if service[0] != "membership":
            return _RETRIED
        is_in = _keeps_place(request) and not self._was_waited_for(service, request)
        return _OUT if is_in else _RETRIED | _OUT

    def _was_waited_for(self, service: _Service, request: Request) -> bool:
        """Whether the response took long, and no other request for the service succeeded in between."""
        return _is_late(request) and self._served_ns.get(service, 0) <= request.ts_ns

    def _going_on(self, service: _Service, request: Request) -> _Open | None:
        """Returns the wait to which the request belongs; None if there is none or the client had given up before."""
        wait = self._open.get(service)
        if wait is not None and request.ts_ns - wait.last_ns > GIVE_UP_NS:
            self._close(service, wait.last_ns, served=False)
            return None
        return wait

    def _serve(self, service: _Service, request: Request) -> None:
        """Ends a wait because of a response without error. A response to JoinGroup alone does not end it."""
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
        """Yields the stalls, without incident_id. left_ns: when the client ended, None if it did not."""
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
    """Returns the service of a request; None if it has none."""
    key = request.api_key
    if key in api_keys.COMMIT_APIS and request.group_id:
        return "commit", request.group_id
    if key in _MEMBERSHIP and request.group_id:
        return "membership", request.group_id
    if key in TRANSACTION and request.transactional_id:
        return "transaction", request.transactional_id
    if key in api_keys.CONTROLLER_APIS:
        return "admin", None
    return ("metadata", request.coordinator_key) if key in METADATA else None


def _keeps_place(request: Request) -> bool:
    """Whether the request is a heartbeat of a member, which is in the group until its session times out."""
    return request.api_key in _HEARTBEATS and (request.generation_or_epoch or 0) > 0


def _is_late(request: Request) -> bool:
    """Whether the response took so long that the client had to wait for it."""
    return request.response_ns is not None and request.response_ns - request.ts_ns >= LEAST_WAIT_NS
