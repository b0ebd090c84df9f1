"""`Recoveries`: classifies the events of a client instance as errors, reactions and successes of its episodes."""

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterator

from kafkascope_analyzer.dataset.tables.event_kinds.requests import LONG_THROTTLE_MS, ErrorRun, PartitionAccess, Request
from kafkascope_analyzer.dataset.uncovered import NOTHING_UNCOVERED, Uncovered
from kafkascope_parsers import api_keys
from kafkascope_parsers.error_facts import NORMAL_ERRORS, PERMISSION_DENIED, SERVER_CLOSED, errors_about
from kafkascope_spark.stories.clients.identity.instances import Instance
from kafkascope_spark.stories.model import Connection
from kafkascope_spark.stories.recoveries.client_recovery import LeaderReport, RecoveryRow
from kafkascope_spark.stories.recoveries.coordinators import Coordinators
from kafkascope_spark.stories.recoveries.episode import Episode
from kafkascope_spark.stories.recoveries.episodes import Episodes
from kafkascope_spark.stories.recoveries.failures import (
    SERVER_CLOSE_ERRORS,
    failure_of_end,
    given_up,
    late_since,
    overdue,
)
from kafkascope_spark.stories.recoveries.journal import EpisodeStep
from kafkascope_spark.stories.recoveries.outcomes import OpenOutcomes
from kafkascope_spark.stories.recoveries.request_steps import BY_ANSWER, STEP_OF_API, step_of
from kafkascope_spark.stories.recoveries.resources import AUTHENTICATION, Resource, proven_by, resource_of, retry_key
from kafkascope_spark.stories.recoveries.states import Trigger
from kafkascope_spark.stories.recoveries.waiting import Unanswered, WaitingRequests

SESSION_ERRORS = errors_about("fetch session") & NORMAL_ERRORS
"""Errors for a fetch session that a broker lost in a restart."""
_ABOUT_OFFSETS = errors_about("committed offsets")
_OF_ADMINISTRATORS = errors_about("leader", "coordinator") | PERMISSION_DENIED | {"OFFSET_NOT_AVAILABLE"}
"""Errors that begin an episode of an admin client: it was refused, or the broker cannot answer. A consumer that never
gets its start offset looks like an admin client."""
HANDSHAKE_EXCHANGES = 5
"""Largest number of requests of a handshake: ApiVersions twice, if the broker does not support the first version,
SaslHandshake, and two of SaslAuthenticate (SCRAM). An encrypted connection with more requests did more than the
handshake."""


class Recoveries:
    """Passes the events of one instance to its episodes. Events come in order of time. uncovered: times that no file
    covers."""

    def __init__(
        self, instance: Instance, capture_ns: tuple[int, int], uncovered: Uncovered = NOTHING_UNCOVERED
    ) -> None:
        self._instance = instance
        self._capture_ns = capture_ns
        self._episodes = Episodes(instance, uncovered)
        self._connections = {c.conn_id: c for c in instance.connections}
        self._last_activity_ns = instance.last_activity_ns
        self._waiting = WaitingRequests()
        mechanism = next((c.sasl_mechanism for c in instance.connections if c.sasl_mechanism), None)
        self._authentication: Resource = ("authentication", mechanism or AUTHENTICATION[1])
        self._hints: list[PartitionAccess] = []
        self._coordinators = Coordinators()
        self._begins: dict[str, list[int]] = defaultdict(list)
        """Begins of the connections to each server, in order of time."""
        for begin_ns, server in sorted((c.begin_ns, c.server) for c in instance.connections):
            self._begins[server].append(begin_ns)
        self._closed: dict[str, EpisodeStep] = {}
        """Connections that the server closed and that the client may still use -> the way they ended: a request on them
        is lost."""
        self._quotas: set[int] = set()
        """APIs whose responses throttle the client."""
        self._worked = {c.conn_id for c in instance.connections if (c.n_claimed or 0) > HANDSHAKE_EXCHANGES}
        """Connections with responses to more than the handshake."""
        self._shallow: set[str] = set()
        """Servers whose last failed connection got no further than the handshake: another handshake proves nothing."""
        self._denied: set[str] = set()
        """Connections whose authentication was refused: the broker closes them."""
        self._ended: set[str] = set()
        """Connections that the client gave up before their end was seen."""
        self._silent_until: dict[str, int] = {}
        """Servers that responded late -> time of the response."""

    def on_open(self, connection: Connection) -> None:
        """Handles a connection attempt: a retry of its server."""
        if self._waiting:
            self._give_up(connection)
        if self._episodes:
            step = EpisodeStep("retry", connection.begin_ns, connection.conn_id, connection.node_id)
            self._episodes.react(Trigger.OPENED, step._replace(name="open", is_reported=False))
            self._episodes.retry(("connection", connection.server), step)

    def _give_up(self, opened: Connection) -> None:
        """Handles a connection that the client gave up without a visible end. A client that opens another connection to
        a server with an overdue response has closed the previous one. Its FIN waits behind data that TCP could not
        deliver: the capture may show no end, or an end by the server much later. As a client has one connection at a
        time to produce to a server, a second one shows that even sooner.
        """
        at = opened.begin_ns
        waited_for = given_up if api_keys.PRODUCE in opened.apis else overdue
        for conn_id, waiting in self._waiting.of_connections():
            old = self._connections.get(conn_id)
            if old is None or old.server != opened.server or (old.last_request_ns or 0) >= at:
                continue
            late = waited_for(waiting.requests, at)
            if late:
                error = step_of("error", late[0], at - 1, "REQUEST_UNANSWERED")._replace(since_ns=late[0].ts_ns)
                self._episodes.error(("connection", old.server), error)
                self._lose(self._waiting.take(conn_id).only(late), error)
                self._ended.add(conn_id)

    def on_up(self, connection: Connection) -> None:
        """Handles an established connection."""
        if self._episodes and connection.up_ns is not None:
            took = (connection.up_ns - connection.begin_ns) // 1000
            step = EpisodeStep("reconnect", connection.up_ns, connection.conn_id, connection.node_id, None, took)
            self._episodes.react(Trigger.UP, step)

    def on_request(self, request: Request) -> None:
        """Handles a request."""
        if request.status == "unanswered":
            closed = self._closed.get(request.conn_id)
            if closed is None:
                self._waiting.add_request(request)
            else:
                self._lose_after_close(request, closed)
        for lost in self._coordinators.looked_for(request):
            if self._episodes.get(lost.resource) is None:
                self._episodes.error(lost.resource, lost.failure)
        if not self._episodes:
            return
        step_name = STEP_OF_API.get(request.api_key)
        if step_name:
            joins = step_name == "heartbeat" and request.generation_or_epoch == 0
            step = step_of("heartbeat_join" if joins else step_name, request, request.ts_ns)
            greets = request.api_key in api_keys.HANDSHAKE_APIS
            trigger = Trigger.GREETED if greets else Trigger.ASKED
            self._episodes.react(trigger, step._replace(is_reported=step_name not in BY_ANSWER))
        for resource in proven_by(request):
            if resource[0] == "found":
                resource = ("coordinator", resource[1])
                self._episodes.catch_up(resource)
                if not self._asks_again(resource):
                    continue
            if self._episodes.get(resource) is not None:
                step = step_of("retry", request, request.ts_ns, None, retry_key(resource, request))
                self._episodes.retry(resource, step)

    def _asks_again(self, resource: Resource) -> bool:
        """Whether FindCoordinator itself is the retry for the resource, and not a step before it."""
        episode = self._episodes.get(resource)
        return episode is not None and episode.api_key == api_keys.FIND_COORDINATOR

    def on_access(self, access: PartitionAccess) -> None:
        """Handles a topic-partition in a request (a retry) or in a response (a success)."""
        if access.unanswered:
            closed = self._closed.get(access.conn_id)
            if closed is None:
                self._waiting.add_partition(access)
            else:
                self._lose(Unanswered(partitions=[access]), closed._replace(ts_ns=access.ts_ns))
            return
        if access.hints:
            self._hints.append(access)
            return
        if not self._episodes:
            return
        names = [access.topic] if access.partition is None else [f"{access.topic}-{access.partition}", access.topic]
        for name in names:
            resource = ("partition", name)
            episode = self._episodes.get(resource)
            if episode is not None and name is names[0]:
                self._note_leader(episode, access)
            if not self._counts(resource, access):
                continue
            node = self._node(access.conn_id)
            step_name = "success" if access.answered else "retry"
            step = EpisodeStep(step_name, access.ts_ns, access.conn_id, node, access.request_id, retry_key=node)
            if access.answered:
                self._episodes.success(resource, step, access.api_key)
            elif access.api_key != api_keys.METADATA:
                self._episodes.retry(resource, step)

    def _note_leader(self, episode: Episode, access: PartitionAccess) -> None:
        """Records the leader of the topic-partition in a Metadata response, if it has one."""
        leader_id, connection = access.leader_id, self._connections.get(access.conn_id)
        if leader_id is not None and leader_id >= 0 and connection is not None:
            report = LeaderReport(connection.node_id, connection.server, leader_id, access.ts_ns, 1, access.ts_ns)
            episode.note_leader(report)

    def _counts(self, resource: Resource, access: PartitionAccess) -> bool:
        """Whether the response proves the topic-partition. Metadata does so only for errors of Metadata, ListOffsets
        and similar APIs only for their own errors."""
        episode = self._episodes.get(resource)
        if episode is None:
            return False
        return (
            access.api_key in (api_keys.PRODUCE, api_keys.FETCH, api_keys.SHARE_FETCH)
            or episode.api_key == access.api_key
        )

    def on_answer(self, request: Request, failures: list[ErrorRun]) -> None:
        """Handles a response and its errors."""
        at = request.response_ns
        assert at is not None
        if request.api_key not in api_keys.HANDSHAKE_APIS:
            self._worked.add(request.conn_id)
            self._coordinators.on_answer(request)
        due_ns = late_since(request)
        if due_ns is not None:
            self._came_late(request, due_ns, at)
        step_name = STEP_OF_API.get(request.api_key)
        if self._episodes and step_name and request.ok:
            self._episodes.react(
                Trigger.ANSWERED, step_of(step_name, request, at)._replace(is_reported=step_name in BY_ANSWER)
            )
        broken: set[Resource] = set()
        for failure in failures:
            resource = resource_of(failure, request)
            if resource is None or not self._is_worth(failure):
                self._note(failure, request, at)
                continue
            if resource == AUTHENTICATION:
                self._denied.add(request.conn_id)
                resource = self._authentication
            broken.add(resource)
            step = step_of("error", request, at, failure.error_name, retry_key(resource, request))
            self._episodes.error(resource, step._replace(of_topic=_is_of_topic(failure)), failure.api_key)
        if self._hints:
            self._hinted(request)
        if self._quotas or request.throttle_ms:
            self._throttled(request, at)
        if self._episodes:
            self._report_success(request, at, broken)

    def on_late_answer(self, request: Request, at: int, failures: list[ErrorRun]) -> None:
        """Handles a response to a request that the client had given up: its errors are steps of the lost connection's
        episode."""
        connection = self._connections.get(request.conn_id)
        if connection is None:
            return
        for failure in failures:
            if self._is_worth(failure):
                step = step_of("error", request, at, failure.error_name)
                self._episodes.late_error(("connection", connection.server), step)

    def _came_late(self, request: Request, due_ns: int, at: int) -> None:
        """Handles a late response: the server was silent and responds again. Of several late responses the first
        counts. Throttled responses are not late."""
        connection = self._connections.get(request.conn_id)
        if connection is None or self._quotas or (request.throttle_ms or 0) >= LONG_THROTTLE_MS:
            return
        resource = ("connection", connection.server)
        if due_ns <= self._silent_until.get(connection.server, 0):
            return
        self._silent_until[connection.server] = at
        if self._episodes.get(resource) is None:
            error = step_of("error", request, due_ns, "RESPONSE_LATE")
            self._episodes.error(resource, error._replace(duration_us=None, since_ns=request.ts_ns))
        self._episodes.success(resource, step_of("success", request, at))

    def on_error_run(self, run: ErrorRun, request: Request) -> None:
        """Handles a run of repeated errors. request: the first request of the run."""
        resource = resource_of(run, request)
        if resource is None or not self._is_worth(run):
            return
        step = EpisodeStep(
            "error",
            run.last_ns,
            request.conn_id,
            request.node_id,
            run.last_request_id,
            (run.last_ns - run.last_sent_ns) // 1000,
            run.error_name,
            retry_key(resource, request),
            of_topic=_is_of_topic(run),
        )
        self._episodes.error_run(resource, step, run)

    def _hinted(self, request: Request) -> None:
        """Handles the leaders in the errors of a response; their partition accesses come just before the response."""
        for access in self._hints:
            if access.request_id == request.request_id and access.leader_id is not None:
                step = EpisodeStep("hint", access.ts_ns, access.conn_id, access.leader_id, access.request_id)
                self._episodes.hint(("partition", f"{access.topic}-{access.partition}"), step, access.leader_id)
        self._hints = [t for t in self._hints if t.request_id != request.request_id and t.ts_ns >= request.ts_ns]

    def _note(self, failure: ErrorRun, request: Request, at: int) -> None:
        """Adds the loss of a fetch session as a step: it shows that a broker is back, and begins no episode."""
        if failure.error_name in SESSION_ERRORS and self._episodes:
            self._episodes.note(step_of("error", request, at, failure.error_name))

    def _throttled(self, request: Request, at: int) -> None:
        """Handles a long throttle time as an error; the next response of the API without one ends it."""
        resource = ("connection", f"quota: {request.api_name}")
        if (request.throttle_ms or 0) >= LONG_THROTTLE_MS:
            self._quotas.add(request.api_key)
            self._episodes.error(resource, step_of("error", request, at, "THROTTLED"), request.api_key)
        elif request.api_key in self._quotas:
            self._quotas.remove(request.api_key)
            self._episodes.success(resource, step_of("success", request, at), request.api_key)

    def _is_worth(self, failure: ErrorRun) -> bool:
        """Whether an error begins an episode. Requests of an admin client for missing things do not."""
        return self._instance.kind.kind != "admin" or failure.error_name in _OF_ADMINISTRATORS

    def _report_success(self, request: Request, at: int, broken: set[Resource]) -> None:
        step = step_of("success", request, at)
        connection = self._connections.get(request.conn_id)
        if connection is not None:
            self._report_answer_on(connection, step)
        if not request.ok:
            return
        if request.api_key not in api_keys.HANDSHAKE_APIS and request.conn_id not in self._denied:
            self._episodes.success(self._authentication, step)
        for kind, name in proven_by(request):
            if kind == "found":
                self._report_found_coordinator(name, step)
            elif (kind, name) not in broken and not self._is_blind(kind, name, request):
                self._episodes.success((kind, name), step, request.api_key)

    def _is_blind(self, kind: str, name: str, request: Request) -> bool:
        """Whether a success proves nothing: a coordinator that is loading responds to Heartbeat without a check
        (GroupCoordinatorService.heartbeat), and a member with successful heartbeats has not yet fetched or committed
        offsets."""
        episode = self._episodes.get((kind, name))
        if episode is None:
            return False
        if kind == "group":
            is_about_offsets = episode.last_error in _ABOUT_OFFSETS
            return request.api_key != episode.api_key if is_about_offsets else request.api_key == api_keys.OFFSET_FETCH
        is_heartbeat = kind == "coordinator" and request.api_key == api_keys.HEARTBEAT
        return is_heartbeat and episode.last_error == "COORDINATOR_LOAD_IN_PROGRESS"

    def _report_found_coordinator(self, name: str, step: EpisodeStep) -> None:
        """Handles a FindCoordinator response. It ends an episode only if all its errors were those of
        FindCoordinator."""
        episode = self._episodes.get(("coordinator", name))
        if episode is None:
            return
        if episode.api_key == api_keys.FIND_COORDINATOR:
            self._episodes.success(episode.resource, step, api_keys.FIND_COORDINATOR)
        else:
            episode.n_lookups += 1

    def _report_answer_on(self, connection: Connection, step: EpisodeStep) -> None:
        """Handles a response on a connection that was opened after the failure: it proves that the server works."""
        if connection.server in self._shallow and connection.conn_id not in self._worked:
            return
        episode = self._episodes.get(("connection", connection.server))
        if episode is not None and connection.begin_ns > episode.first.ts_ns:
            self._episodes.success(episode.resource, step)

    def on_close(self, connection: Connection, at: int) -> None:
        """Handles the end of a connection."""
        if connection.conn_id in self._ended:
            return
        waiting = self._waiting.take(connection.conn_id)
        unanswered = waiting.requests
        goes_on = self._last_activity_ns > at
        error = failure_of_end(connection, unanswered, goes_on)
        if connection.close_kind in SERVER_CLOSE_ERRORS and (connection.last_request_ns or 0) > at:
            how = SERVER_CLOSE_ERRORS[connection.close_kind]
            self._closed[connection.conn_id] = EpisodeStep(
                "error", at, connection.conn_id, connection.node_id, None, None, how, connection.node_id, closed_ns=at
            )
        if error is None or connection.conn_id in self._denied:
            return
        resource: Resource = ("connection", connection.server)
        if (
            error in SERVER_CLOSED
            and any(r.api_key in api_keys.SASL_APIS for r in unanswered)
            and not connection.refused_after
        ):
            error, resource = "AUTHENTICATION_CLOSED", self._authentication
        late = given_up(unanswered, at)
        closed_ns = at if connection.close_kind in SERVER_CLOSE_ERRORS else None
        request = late[0] if error == "REQUEST_UNANSWERED" and late else unanswered[0] if unanswered else None
        since = connection.begin_ns if error == "CONNECTION_UNANSWERED" else request.ts_ns if request else None
        step = EpisodeStep("error", at, connection.conn_id, connection.node_id, None, None, error, since_ns=since)
        step = step._replace(closed_ns=closed_ns, session_ms=_ended_session_ms(connection, closed_ns, request))
        if request is not None:
            step = step._replace(request_id=request.request_id, api_name=request.api_name)
        if connection.first_request_ns is not None:
            shallow = connection.conn_id not in self._worked
            (self._shallow.add if shallow else self._shallow.discard)(connection.server)
        self._episodes.error(resource, step)
        if error != "AUTHENTICATION_CLOSED":
            self._lose(waiting if error != "REQUEST_UNANSWERED" else waiting.only(late), step)
            self._coordinators.on_failure(step)

    def _lose(self, unanswered: Unanswered, step: EpisodeStep) -> None:
        """Adds an error for each topic-partition and each coordinator of the unanswered requests to a lost broker."""
        for access in unanswered.partitions:
            name = access.topic if access.partition is None else f"{access.topic}-{access.partition}"
            lost = step._replace(request_id=access.request_id, since_ns=access.ts_ns, retry_key=step.node_id)
            self._episodes.error(("partition", name), lost, access.api_key)
        for resource, request in unanswered.coordinators():
            lost = step._replace(request_id=request.request_id, since_ns=request.ts_ns, retry_key=step.node_id)
            self._episodes.error(resource, lost, request.api_key)

    def _lose_after_close(self, request: Request, closed: EpisodeStep) -> None:
        """Handles a request on a connection that the server had closed before, which the client had not noticed."""
        connection = self._connections[request.conn_id]
        step = closed._replace(
            ts_ns=request.ts_ns, request_id=request.request_id, since_ns=request.ts_ns, api_name=request.api_name
        )
        resource = ("connection", connection.server)
        if self._episodes.get(resource) is None and not self._is_replaced(connection, request.ts_ns):
            self._episodes.error(resource, step)
        self._lose(Unanswered([request]), step)

    def _is_replaced(self, connection: Connection, at: int) -> bool:
        """Whether the client has opened another connection to the server since then."""
        begins = self._begins[connection.server]
        return bisect_right(begins, at) > bisect_right(begins, connection.begin_ns)

    def ready(self) -> list[RecoveryRow]:
        """Returns the rows of the episodes that have ended."""
        return self._episodes.ready()

    def finish(self, left_ns: int | None = None) -> Iterator[RecoveryRow]:
        """Yields the remaining rows at the end of the client or of the capture. left_ns: when the client ended; it
        waits for nothing after that."""
        end = self._capture_ns[1]
        for conn_id, waiting in self._waiting.of_connections():
            late = overdue(waiting.requests, end)
            connection = self._connections.get(conn_id)
            if late and connection is not None and connection.close_ns is None:
                step = step_of("error", late[0], end, "REQUEST_UNANSWERED")._replace(since_ns=late[0].ts_ns)
                self._episodes.error(("connection", connection.server), step)
                self._lose(Unanswered(waiting.only(late).requests), step)
        outcomes = OpenOutcomes(self._connections.values(), self._worked, end)
        return self._episodes.finish(outcomes.outcome, left_ns or end)

    def _node(self, conn_id: str) -> int | None:
        connection = self._connections.get(conn_id)
        return connection.node_id if connection else None


def _is_of_topic(failure: ErrorRun) -> bool:
    return failure.topic is not None and failure.partition is None


def _ended_session_ms(connection: Connection, closed_ns: int | None, request: Request | None) -> int | None:
    """Returns the length in ms of a connection's SASL session, if the server closed the connection on a request after
    the end of that session (KIP-368); else None."""
    lifetime_ms = connection.session_lifetime_ms
    if not lifetime_ms or closed_ns is None or request is None:
        return None
    return lifetime_ms if closed_ns - connection.begin_ns >= lifetime_ms * 1_000_000 else None
