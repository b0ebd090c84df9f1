"""What the events of a client instance mean for its episodes: which are errors, reactions, successes."""

from collections.abc import Iterator

from kafkascope_spark import api_keys
from kafkascope_spark.error_codes import NORMAL_ERRORS, SERVER_CLOSED, errors_about
from kafkascope_spark.identity.instances import Instance
from kafkascope_spark.model import Connection, ErrorRun, PartitionAccess, Request, Row
from kafkascope_spark.recoveries.episodes import Episodes
from kafkascope_spark.recoveries.failures import failure_of_end, given_up, late_since, overdue
from kafkascope_spark.recoveries.journal import EpisodeStep
from kafkascope_spark.recoveries.outcomes import open_outcome
from kafkascope_spark.recoveries.resources import AUTHENTICATION, Resource, proven_by, resource_of, retry_key
from kafkascope_spark.recoveries.states import Trigger

STEP_OF_API = {
    api_keys.METADATA: "metadata",
    api_keys.FIND_COORDINATOR: "find_coordinator",
    api_keys.API_VERSIONS: "api_versions",
    api_keys.SASL_HANDSHAKE: "authenticate",
    api_keys.SASL_AUTHENTICATE: "authenticate",
    api_keys.JOIN_GROUP: "join_group",
    api_keys.SYNC_GROUP: "sync_group",
    api_keys.HEARTBEAT: "heartbeat",
    api_keys.CONSUMER_GROUP_HEARTBEAT: "heartbeat",
    api_keys.SHARE_GROUP_HEARTBEAT: "heartbeat",
    api_keys.STREAMS_GROUP_HEARTBEAT: "heartbeat",
    api_keys.INIT_PRODUCER_ID: "init_producer_id",
    api_keys.LIST_OFFSETS: "list_offsets",
    api_keys.OFFSET_FOR_LEADER_EPOCH: "offset_for_leader_epoch",
    api_keys.END_TXN: "end_txn",
}
_BY_ANSWER = frozenset({"metadata", "find_coordinator"})
"""Steps whose time is that of the answer: what the client learned."""
SESSION_ERRORS = errors_about("fetch session") & NORMAL_ERRORS
"""A fetch session that a broker lost with its memory."""
LONG_THROTTLE_MS = 1_000
"""A quota that silences a client for so long looks like an outage."""
MAX_UNANSWERED_PARTITIONS = 10_000
"""Topic-partitions kept of a connection's unanswered requests: as many as episodes may be open."""
MAX_UNANSWERED_REQUESTS = 100
"""Unanswered requests kept of a connection: the oldest show since when it was silent."""


class Recoveries:
    """Feeds the episodes of one instance. Events come in order of time."""

    def __init__(self, instance: Instance, capture_ns: tuple[int, int]) -> None:
        self._instance = instance
        self._capture_ns = capture_ns
        self._episodes = Episodes(instance)
        self._connections = {c.conn_id: c for c in instance.connections}
        self._last_activity_ns = instance.last_activity_ns
        self._unanswered: dict[str, list[Request]] = {}
        mechanism = next((c.sasl_mechanism for c in instance.connections if c.sasl_mechanism), None)
        self._authentication: Resource = ("authentication", mechanism or AUTHENTICATION[1])
        self._hints: list[PartitionAccess] = []
        self._unanswered_partitions: dict[str, list[PartitionAccess]] = {}
        self._quotas: set[int] = set()
        """APIs whose answers silence the client."""
        self._worked: set[str] = set()
        """Connections that answered more than the handshake."""
        self._shallow: set[str] = set()
        """Servers whose last failed connection got no further than the handshake: another one proves nothing."""
        self._denied: set[str] = set()
        """Connections that were not let in: the broker closes them."""
        self._ended: set[str] = set()
        """Connections that the client gave up before their end was seen."""
        self._silent_until: dict[str, int] = {}
        """Servers that answered late -> when they did."""

    def on_open(self, connection: Connection) -> None:
        """A connection is tried: a retry of its server."""
        if self._unanswered:
            self._give_up(connection)
        if self._episodes:
            step = EpisodeStep("retry", connection.begin_ns, connection.conn_id, connection.node_id)
            self._episodes.react(Trigger.OPENED, step._replace(name="open", is_reported=False))
            self._episodes.retry(("connection", connection.server), step)

    def _give_up(self, opened: Connection) -> None:
        """A client that opens another connection to a server that owes it an answer for long has closed the one before.
        Its FIN waits behind what TCP could not deliver: the capture may show no end, or one by the server much later.
        It has one connection at a time to produce to a server, so that one more of them tells sooner.
        """
        at = opened.begin_ns
        waited_for = given_up if api_keys.PRODUCE in opened.apis else overdue
        for conn_id in list(self._unanswered):
            old = self._connections.get(conn_id)
            if old is None or old.server != opened.server or (old.last_request_ns or 0) >= at:
                continue
            late = waited_for(self._unanswered[conn_id], at)
            if late:
                del self._unanswered[conn_id]
                error = _step_of("error", late[0], at - 1, "REQUEST_UNANSWERED")._replace(since_ns=late[0].ts_ns)
                self._episodes.error(("connection", old.server), error)
                self._lose_partitions(_of_requests(self._unanswered_partitions.pop(conn_id, []), late), error)
                self._ended.add(conn_id)

    def on_up(self, connection: Connection) -> None:
        """A connection stands."""
        if self._episodes and connection.up_ns is not None:
            took = (connection.up_ns - connection.begin_ns) // 1000
            step = EpisodeStep("reconnect", connection.up_ns, connection.conn_id, connection.node_id, None, took)
            self._episodes.react(Trigger.UP, step)

    def on_request(self, request: Request) -> None:
        """A request was sent."""
        if request.status == "unanswered":
            waiting = self._unanswered.setdefault(request.conn_id, [])
            if len(waiting) < MAX_UNANSWERED_REQUESTS:
                waiting.append(request)
        if not self._episodes:
            return
        step_name = STEP_OF_API.get(request.api_key)
        if step_name:
            joins = step_name == "heartbeat" and request.generation_or_epoch == 0
            step = _step_of("heartbeat_join" if joins else step_name, request, request.ts_ns)
            greets = request.api_key in api_keys.HANDSHAKE_APIS
            trigger = Trigger.GREETED if greets else Trigger.ASKED
            self._episodes.react(trigger, step._replace(is_reported=step_name not in _BY_ANSWER))
        for resource in proven_by(request):
            if resource[0] == "found":
                resource = ("coordinator", resource[1])
                self._episodes.catch_up(resource)
                if not self._asks_again(resource):
                    continue
            if self._episodes.get(resource) is not None:
                step = _step_of("retry", request, request.ts_ns, None, retry_key(resource, request))
                self._episodes.retry(resource, step)

    def _asks_again(self, resource: Resource) -> bool:
        """Whether FindCoordinator is a retry there, and not a step towards one."""
        episode = self._episodes.get(resource)
        return episode is not None and episode.api_key == api_keys.FIND_COORDINATOR

    def on_access(self, access: PartitionAccess) -> None:
        """A topic-partition was named: a retry in a request, a success in an answer."""
        if access.unanswered:
            waiting = self._unanswered_partitions.setdefault(access.conn_id, [])
            if len(waiting) < MAX_UNANSWERED_PARTITIONS:
                waiting.append(access)
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
            if episode is not None and (access.leader_id or -1) >= 0 and name is names[0]:
                episode.leader_id = access.leader_id
            if not self._counts(resource, access):
                continue
            node = self._node(access.conn_id)
            step_name = "success" if access.answered else "retry"
            step = EpisodeStep(step_name, access.ts_ns, access.conn_id, node, access.request_id, retry_key=node)
            if access.answered:
                self._episodes.success(resource, step, access.api_key)
            elif access.api_key != api_keys.METADATA:
                self._episodes.retry(resource, step)

    def _counts(self, resource: Resource, access: PartitionAccess) -> bool:
        """Metadata proves a topic-partition only where Metadata had denied it; ListOffsets and the like only what
        they asked."""
        episode = self._episodes.get(resource)
        if episode is None:
            return False
        return (
            access.api_key in (api_keys.PRODUCE, api_keys.FETCH, api_keys.SHARE_FETCH)
            or episode.api_key == access.api_key
        )

    def on_answer(self, request: Request, failures: list[ErrorRun]) -> None:
        """An answer arrived, with these error codes."""
        at = request.response_ns
        assert at is not None
        if request.api_key not in api_keys.HANDSHAKE_APIS:
            self._worked.add(request.conn_id)
        due_ns = late_since(request)
        if due_ns is not None:
            self._came_late(request, due_ns, at)
        step_name = STEP_OF_API.get(request.api_key)
        if self._episodes and step_name and request.ok:
            self._episodes.react(
                Trigger.ANSWERED, _step_of(step_name, request, at)._replace(is_reported=step_name in _BY_ANSWER)
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
            step = _step_of("error", request, at, failure.error_name, retry_key(resource, request))
            self._episodes.error(resource, step, failure.api_key)
        if self._hints:
            self._hinted(request)
        if self._quotas or request.throttle_ms:
            self._throttled(request, at)
        if self._episodes:
            self._report_success(request, at, broken)

    def on_late_answer(self, request: Request, at: int, failures: list[ErrorRun]) -> None:
        """An answer to what the client had given up arrived: its errors are a step of the lost connection's story."""
        connection = self._connections.get(request.conn_id)
        if connection is None:
            return
        for failure in failures:
            if self._is_worth(failure):
                step = _step_of("error", request, at, failure.error_name)
                self._episodes.late_error(("connection", connection.server), step)

    def _came_late(self, request: Request, due_ns: int, at: int) -> None:
        """The server was silent, and is not any more; of several answers that it owed the first tells. What a quota
        holds back is not late."""
        connection = self._connections.get(request.conn_id)
        if connection is None or self._quotas or (request.throttle_ms or 0) >= LONG_THROTTLE_MS:
            return
        resource = ("connection", connection.server)
        if due_ns <= self._silent_until.get(connection.server, 0):
            return
        self._silent_until[connection.server] = at
        if self._episodes.get(resource) is None:
            error = _step_of("error", request, due_ns, "RESPONSE_LATE")
            self._episodes.error(resource, error._replace(duration_us=None, since_ns=request.ts_ns))
        self._episodes.success(resource, _step_of("success", request, at))

    def on_error_run(self, run: ErrorRun, request: Request) -> None:
        """The same error came again and again; request: the first that met it."""
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
        )
        self._episodes.error_run(resource, step, run)

    def _hinted(self, request: Request) -> None:
        """The errors of the answer that name the leader; their mentions come just before the answer."""
        for access in self._hints:
            if access.request_id == request.request_id and access.leader_id is not None:
                step = EpisodeStep("hint", access.ts_ns, access.conn_id, access.leader_id, access.request_id)
                self._episodes.hint(("partition", f"{access.topic}-{access.partition}"), step, access.leader_id)
        self._hints = [t for t in self._hints if t.request_id != request.request_id and t.ts_ns >= request.ts_ns]

    def _note(self, failure: ErrorRun, request: Request, at: int) -> None:
        """A fetch session that a broker lost with its memory is a step of its return, not an episode."""
        if failure.error_name in SESSION_ERRORS and self._episodes:
            self._episodes.note(_step_of("error", request, at, failure.error_name))

    def _throttled(self, request: Request, at: int) -> None:
        """A quota that silences the client; over with the next answer to that API that does not."""
        resource = ("connection", f"quota: {request.api_name}")
        if (request.throttle_ms or 0) >= LONG_THROTTLE_MS:
            self._quotas.add(request.api_key)
            self._episodes.error(resource, _step_of("error", request, at, "THROTTLED"), request.api_key)
        elif request.api_key in self._quotas:
            self._quotas.remove(request.api_key)
            self._episodes.success(resource, _step_of("success", request, at), request.api_key)

    def _is_worth(self, failure: ErrorRun) -> bool:
        """An administrator's question about what is not there is no episode; a refusal is."""
        return self._instance.kind.kind != "admin" or "AUTHORIZATION" in failure.error_name

    def _report_success(self, request: Request, at: int, broken: set[Resource]) -> None:
        step = _step_of("success", request, at)
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
        """Whether it is a Heartbeat that proves nothing: a coordinator that is loading answers it without looking
        (GroupCoordinatorService.heartbeat)."""
        if kind != "coordinator" or request.api_key != api_keys.HEARTBEAT:
            return False
        episode = self._episodes.get((kind, name))
        return episode is not None and episode.last_error == "COORDINATOR_LOAD_IN_PROGRESS"

    def _report_found_coordinator(self, name: str, step: EpisodeStep) -> None:
        """FindCoordinator's answer ends an episode only when all its errors were FindCoordinator's own."""
        episode = self._episodes.get(("coordinator", name))
        if episode is not None and episode.api_key == api_keys.FIND_COORDINATOR:
            self._episodes.success(episode.resource, step, api_keys.FIND_COORDINATOR)

    def _report_answer_on(self, connection: Connection, step: EpisodeStep) -> None:
        """An answer on a connection opened after the failure proves its server."""
        if connection.server in self._shallow and connection.conn_id not in self._worked:
            return
        episode = self._episodes.get(("connection", connection.server))
        if episode is not None and connection.begin_ns > episode.first.ts_ns:
            self._episodes.success(episode.resource, step)

    def on_close(self, connection: Connection, at: int) -> None:
        """A connection ended."""
        if connection.conn_id in self._ended:
            return
        unanswered = self._unanswered.pop(connection.conn_id, [])
        unanswered_partitions = self._unanswered_partitions.pop(connection.conn_id, [])
        goes_on = self._last_activity_ns > at
        error = failure_of_end(connection, unanswered, goes_on)
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
        request = late[0] if error == "REQUEST_UNANSWERED" and late else unanswered[0] if unanswered else None
        since = connection.begin_ns if error == "CONNECTION_UNANSWERED" else request.ts_ns if request else None
        request_id = request.request_id if request else None
        step = EpisodeStep("error", at, connection.conn_id, connection.node_id, request_id, None, error, since_ns=since)
        if connection.first_request_ns is not None:
            shallow = connection.conn_id not in self._worked
            (self._shallow.add if shallow else self._shallow.discard)(connection.server)
        self._episodes.error(resource, step)
        if error != "AUTHENTICATION_CLOSED":
            lost = unanswered_partitions if error != "REQUEST_UNANSWERED" else _of_requests(unanswered_partitions, late)
            self._lose_partitions(lost, step)

    def _lose_partitions(self, unanswered_partitions: list[PartitionAccess], step: EpisodeStep) -> None:
        """What the client asked of a broker that it lost: an error on each topic-partition."""
        for access in unanswered_partitions:
            name = access.topic if access.partition is None else f"{access.topic}-{access.partition}"
            lost = step._replace(request_id=access.request_id, since_ns=access.ts_ns, retry_key=step.node_id)
            self._episodes.error(("partition", name), lost, access.api_key)

    def ready(self) -> list[tuple[str, Row]]:
        """Rows of the episodes that have ended."""
        return self._episodes.ready()

    def finish(self, left_ns: int | None = None) -> Iterator[tuple[str, Row]]:
        """End of the client or of the capture. left_ns: when the client left, after which it waits for nothing."""
        end = self._capture_ns[1]
        for conn_id, requests in sorted(self._unanswered.items()):
            late = overdue(requests, end)
            connection = self._connections.get(conn_id)
            if late and connection is not None and connection.close_ns is None:
                step = _step_of("error", late[0], end, "REQUEST_UNANSWERED")._replace(since_ns=late[0].ts_ns)
                self._episodes.error(("connection", connection.server), step)
        connections = list(self._connections.values())
        return self._episodes.finish(lambda episode: open_outcome(episode, connections, self._worked), left_ns or end)

    def _node(self, conn_id: str) -> int | None:
        connection = self._connections.get(conn_id)
        return connection.node_id if connection else None


def _of_requests(accesses: list[PartitionAccess], requests: list[Request]) -> list[PartitionAccess]:
    ids = {request.request_id for request in requests}
    return [access for access in accesses if access.request_id in ids]


def _step_of(
    name: str, request: Request, at: int, error_name: str | None = None, retry_key: object = None
) -> EpisodeStep:
    took = (request.response_ns - request.ts_ns) // 1000 if request.response_ns is not None else None
    return EpisodeStep(name, at, request.conn_id, request.node_id, request.request_id, took, error_name, retry_key)
