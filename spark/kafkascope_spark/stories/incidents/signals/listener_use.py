"""`ListenerUse`: the connections of one client address to one listener: their protocol, and whether they were served.

If the settings of a client do not fit a listener, its connections are closed or refused there again and again, before a
request is served. The requests of a client that speaks TLS cannot be read: then the address stands for the client.
"""

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import pairwise

from kafkascope_analyzer.dataset.row_types import values_of
from kafkascope_analyzer.dataset.tables.connections import CLOSED_BY_CLIENT, CLOSED_BY_SERVER
from kafkascope_parsers import api_keys
from kafkascope_spark.stories.clients.identity.instances import Instance
from kafkascope_spark.stories.model import Connection, TlsGivenUp
from kafkascope_spark.stories.stage_rows import StageRow

TLS, HTTP, PROXY = "TLS", "HTTP", "PROXY protocol"
MOST_EVIDENCE = 20
_TLS_ALERT_BYTES = 7
"""Length of a TLS record with an alert that is not encrypted. A response of Kafka has 8 bytes or more."""
PATIENCE_NS = 3_000_000_000
"""A client has made its last attempt if it does not try again within this time and within _PAUSES times its longest
pause so far."""
_PAUSES = 3
_Name = tuple[str, str | None, str | None]
"""Address of the server, client id and SASL mechanism."""


@dataclass(frozen=True, slots=True)
class Outcome(StageRow):
    """Outcome of a connection: its protocol, and whether it was served, refused with an error or closed.

    server: `address:port`; protocol: a security.protocol of Kafka, TLS if it could not be decrypted, HTTP, or
    the PROXY protocol of load balancers.
    of_broker: whether it was served and belongs to a broker; from_start: whether the capture has its first packets, so
    that its use of SASL is known. error_name: error with which SASL was refused; had_session: whether SASL had been
    accepted earlier on the same connection; left_login: whether the client closed it during the login, without an
    error; closed_login: whether the server closed it then, without one; answered: whether the server answered
    ApiVersions before it closed; asked: whether the client sent other requests than the handshake. tls_given_up: which
    side gave up TLS, and why; tls_alerted: whether the server answered requests without TLS with a TLS alert.
    names_server: whether the client's TLS hello has a server name (SNI), None if unknown.
    """

    server: str
    protocol: str
    mechanism: str | None
    served: bool
    of_broker: bool = False
    from_start: bool = True
    error_name: str | None = None
    had_session: bool = False
    left_login: bool = False
    closed_login: bool = False
    answered: bool = False
    asked: bool = False
    tls_given_up: TlsGivenUp | None = None
    tls_alerted: bool = False
    names_server: bool | None = None

    @property
    def lost_session(self) -> bool:
        """Whether the client authenticated again in a way that the server does not take."""
        return self.error_name == "ILLEGAL_SASL_STATE" and self.had_session


@dataclass(frozen=True, slots=True)
class ListenerUse(StageRow):
    """Connections of one client address to one server that had the same outcome.

    client_instance_id, client_id: None if the connections were served, or if no request could be read. n: number of
    connections; first_ns, last_ns: their first and last packet; is_over: whether no further attempt was to be expected
    by the end of the capture; works_on: whether the client was served elsewhere afterwards, as far as its requests
    could be read; evidence: conn_ids. logged_in: whether the client had authenticated with SASL on an earlier
    connection and was served there; logs_in_later: whether it did so with the same mechanism on a later connection; if
    it had a session on these connections, a later login of a client with the same name and address counts. accepted_ns:
    when the server last accepted a connection of this address and client id with the same mechanism before these; None
    if it never did, or accepted one later. login_before_ns, login_after_ns: if SASL was refused, begin of the last such
    connection that the server accepted before the refusals, and of the first that it accepted after them; if a TLS
    alert came, last response to this address without TLS before it, and first request with a response after it.
    tls_before_ns, tls_after_ns: if TLS was given up, begin of the last connection with TLS of this address that the
    server served before these, and of the first after them; tls_meanwhile: whether one began in between.
    """

    client_ip: str
    client_instance_id: str | None
    client_id: str | None
    outcome: Outcome
    n: int
    first_ns: int
    last_ns: int
    is_over: bool
    works_on: bool
    evidence: tuple[str, ...]
    logged_in: bool = False
    logs_in_later: bool = False
    accepted_ns: int | None = None
    login_before_ns: int | None = None
    login_after_ns: int | None = None
    tls_before_ns: int | None = None
    tls_after_ns: int | None = None
    tls_meanwhile: bool = False

    @property
    def use_id(self) -> str:
        """Text that identifies this use among all uses."""
        return " ".join(map(str, (self.client_ip, self.client_instance_id, *values_of(self.outcome))))

    @property
    def server(self) -> str:
        """`address:port` of the server."""
        return self.outcome.server


def listener_uses(
    client_ip: str,
    connections: Iterable[Connection],
    instances: Mapping[str, Instance],
    refused: Mapping[str, str],
    end_ns: int,
) -> Iterator[ListenerUse]:
    """Yields the uses of listeners by one client address.

    connections: all connections of the address; instances: conn_id -> client; refused: conn_id -> the error with which
    its SASL was refused; end_ns: end of the capture.
    """
    address = _ClientAddress(client_ip, instances, end_ns)
    for connection in connections:
        outcome = _outcome(connection, refused.get(connection.conn_id))
        if outcome is not None:
            address.take(connection, outcome)
    yield from address.uses()


class _ClientAddress:
    """The connections of one client address by outcome, and when its clients were served and logged in. Keys are
    servers, client_instance_ids, or names of clients at servers."""

    def __init__(self, client_ip: str, instances: Mapping[str, Instance], end_ns: int) -> None:
        self._client_ip = client_ip
        self._instances = instances
        self._end_ns = end_ns
        self._alike: dict[tuple[Outcome, str | None], list[Connection]] = defaultdict(list)
        self._served_until: dict[str, int] = defaultdict(int)
        self._tls_until: dict[str, int] = defaultdict(int)
        self._tls_begins: dict[str, list[int]] = defaultdict(list)
        self._first_login_ns: dict[str, int] = {}
        self._last_login_ns: dict[tuple[str, str], int] = {}
        self._logins: dict[_Name, list[int]] = defaultdict(list)

    def take(self, connection: Connection, outcome: Outcome) -> None:
        """Takes a connection with its outcome."""
        instance = self._instances.get(connection.conn_id)
        if outcome.served and instance is not None and instance.kind.kind == "broker":
            outcome = replace(outcome, of_broker=True)
        identity = None if instance is None else instance.instance_id
        self._alike[outcome, None if outcome.served else identity].append(connection)
        if outcome.served and connection.tls:
            self._tls_until[outcome.server] = max(self._tls_until[outcome.server], connection.last_ns)
            self._tls_begins[outcome.server].append(connection.begin_ns)
        if identity is not None and _is_at_work(outcome, connection):
            self._note_work(identity, connection, outcome)
        if instance is not None and (outcome.served or outcome.had_session):
            # The server accepted the client, even if a later login on the connection failed.
            name = outcome.server, instance.client_id, connection.sasl_mechanism
            self._logins[name].append(connection.begin_ns)

    def _note_work(self, identity: str, connection: Connection, outcome: Outcome) -> None:
        self._served_until[identity] = max(self._served_until[identity], connection.last_request_ns or 0)
        if outcome.served and connection.sasl_mechanism is not None:
            begin_ns, login = connection.begin_ns, (identity, connection.sasl_mechanism)
            self._first_login_ns[identity] = min(self._first_login_ns.get(identity, begin_ns), begin_ns)
            self._last_login_ns[login] = max(self._last_login_ns.get(login, 0), begin_ns)

    def uses(self) -> Iterator[ListenerUse]:
        """Yields the uses, one for each outcome and client."""
        for (outcome, identity), mine in self._alike.items():
            mine.sort(key=lambda c: (c.begin_ns, c.conn_id))
            client_id = None if identity is None else self._instances[mine[0].conn_id].client_id
            name = outcome.server, client_id, outcome.mechanism
            logins = sorted(self._logins.get(name, [])) if identity is not None else []
            use = with_logins(self._use(outcome, identity, mine, logins), logins)
            tls_begins = sorted(self._tls_begins[outcome.server])
            yield _with_tls(_with_answers(use, self._alike), tls_begins, mine[-1].begin_ns)

    def _use(self, outcome: Outcome, identity: str | None, mine: list[Connection], logins: list[int]) -> ListenerUse:
        """Returns the use by the connections of one client. logins: when the server accepted clients of its name,
        sorted."""
        begin_ns, last_begin_ns, last_login_ns = mine[0].begin_ns, mine[-1].begin_ns, max(logins, default=0)
        who, server = identity or "", outcome.server
        logs_in_later = self._last_login_ns.get((who, outcome.mechanism or ""), 0) > last_begin_ns
        return ListenerUse(
            client_ip=self._client_ip,
            client_instance_id=identity,
            client_id=None if identity is None else self._instances[mine[0].conn_id].client_id,
            outcome=outcome,
            n=len(mine),
            first_ns=begin_ns,
            last_ns=max(c.last_ns for c in mine),
            is_over=_is_over(mine, self._end_ns),
            works_on=_works_on(outcome, self._served_until.get(who, 0), self._tls_until[server], mine),
            evidence=() if outcome.served else tuple(c.conn_id for c in mine[:MOST_EVIDENCE]),
            logged_in=self._first_login_ns.get(who, begin_ns) < begin_ns,
            logs_in_later=logs_in_later or (outcome.had_session and last_login_ns > last_begin_ns),
            accepted_ns=last_login_ns if logins and last_login_ns < begin_ns else None,
        )


def with_logins(use: ListenerUse, begins: list[int]) -> ListenerUse:
    """Returns the use with the times of the accepted connections before and after it, if SASL was refused. begins:
    begins of the accepted connections of the same client, server and mechanism, sorted. A session is refused at the end
    of its connection."""
    if use.outcome.error_name is None:
        return use
    before = bisect_left(begins, use.last_ns if use.outcome.had_session else use.first_ns)
    after = bisect_right(begins, use.last_ns)
    return replace(
        use,
        login_before_ns=begins[before - 1] if before else None,
        login_after_ns=begins[after] if after < len(begins) else None,
    )


def _with_tls(use: ListenerUse, begins: list[int], last_ns: int) -> ListenerUse:
    """Returns the use with the times of the served TLS connections before and after it, if TLS was given up. begins:
    begins of the TLS connections of the address that the server served, sorted; last_ns: begin of the last connection
    of the use."""
    if use.outcome.tls_given_up is None:
        return use
    before, after = bisect_left(begins, use.first_ns), bisect_right(begins, last_ns)
    return replace(
        use,
        tls_before_ns=begins[before - 1] if before else None,
        tls_after_ns=begins[after] if after < len(begins) else None,
        tls_meanwhile=before < after,
    )


def _with_answers(use: ListenerUse, alike: Mapping[tuple[Outcome, str | None], list[Connection]]) -> ListenerUse:
    """Returns the use with the times at which the server answered the address without TLS before and after it, if a TLS
    alert came. alike: the connections of the address by their outcome."""
    if not use.outcome.tls_alerted:
        return use
    plain = (mine for (outcome, _), mine in alike.items() if outcome.served and outcome.server == use.server)
    served = [connection for mine in plain for connection in mine if not connection.tls]
    answers = [c.last_answered_ns for c in served if c.last_answered_ns is not None]
    requests = [c.first_request_ns for c in served if c.first_request_ns is not None]
    return replace(
        use,
        login_before_ns=max((at_ns for at_ns in answers if at_ns < use.first_ns), default=None),
        login_after_ns=min((at_ns for at_ns in requests if at_ns > use.last_ns), default=None),
    )


def _is_at_work(outcome: Outcome, connection: Connection) -> bool:
    """Whether the client was served on the connection, even if it lost its session on it later."""
    return outcome.served or (outcome.lost_session and connection.served)


def _works_on(outcome: Outcome, served_ns: int, tls_ns: int, mine: list[Connection]) -> bool:
    """Whether the client was served after its last attempt. If TLS was given up, no client is known, and a later TLS
    connection of its address to the same server counts. A client that loses its session works on if it was served on a
    connection after the first one on which it lost it. served_ns: last request of the client that was served; tls_ns:
    end of the last such TLS connection; mine: the connections of the use, in order of time."""
    since_ns = mine[0].last_ns if outcome.lost_session else mine[-1].begin_ns
    return max(served_ns, tls_ns if outcome.tls_given_up is not None else 0) > since_ns


def _outcome(connection: Connection, error_name: str | None) -> Outcome | None:
    """Returns the outcome of the connection; None if it says nothing about the settings of its client."""
    protocol = _protocol(connection)
    if protocol is None:
        return None
    spoke = connection.server, protocol, connection.sasl_mechanism
    if error_name is not None:
        had_session = connection.session_lifetime_ms is not None
        return Outcome(*spoke, served=False, error_name=error_name, had_session=had_session)
    if protocol == TLS and connection.tls_given_up is not None and connection.first_request_ns is None:
        return Outcome(*spoke, served=False, tls_given_up=connection.tls_given_up)
    named = connection.names_server
    if connection.server_bytes > 0 if protocol == TLS else connection.served:
        return Outcome(*spoke, served=True, from_start=connection.opened_in_capture, names_server=named)
    if protocol == HTTP or (protocol == PROXY and connection.server_bytes == 0):
        return Outcome(*spoke, served=False)
    if protocol == PROXY:
        return None
    if protocol != TLS and not connection.tls and _is_tls_alert(connection):
        return Outcome(*spoke, served=False, tls_alerted=True)
    if connection.close_kind in CLOSED_BY_CLIENT and connection.sasl_mechanism is not None:
        is_login = connection.apis <= api_keys.HANDSHAKE_APIS
        return Outcome(*spoke, served=False, left_login=True) if is_login else None
    if connection.close_kind not in CLOSED_BY_SERVER:
        return None
    if protocol == TLS:
        return Outcome(*spoke, served=False, names_server=named)
    is_answered = connection.n_responses > 0
    if connection.sasl_mechanism is not None and is_answered and connection.apis <= api_keys.HANDSHAKE_APIS:
        return Outcome(*spoke, served=False, closed_login=True)
    asked = bool(connection.apis - api_keys.HANDSHAKE_APIS)
    is_known = asked or (connection.n_requests > 0 and not is_answered)
    return Outcome(*spoke, served=False, answered=is_answered, asked=asked) if is_known else None


def _is_tls_alert(connection: Connection) -> bool:
    """Whether all that came from the server after a request is as long as a TLS alert."""
    is_unanswered = connection.n_requests > 0 and connection.n_responses == 0
    return is_unanswered and connection.server_bytes == _TLS_ALERT_BYTES


def _protocol(connection: Connection) -> str | None:
    """Returns the protocol of the client: a security.protocol of Kafka, TLS, HTTP or PROXY; None if it is no protocol
    of a listener. TLS that was given up counts as TLS, even if keys to decrypt it are known."""
    if connection.tls_given_up is not None and connection.first_request_ns is None:
        return TLS
    if connection.protocol == "kafka":
        is_sasl = connection.sasl_mechanism is not None
        return f"{'SASL_' if is_sasl else ''}{'SSL' if connection.tls else 'PLAINTEXT'}"
    return {"tls": TLS, "http": HTTP, "proxy": PROXY}.get(connection.protocol)


def _is_over(mine: list[Connection], end_ns: int) -> bool:
    """Whether the client had made its last attempt when the capture ended. mine: its attempts, in order of time."""
    longest_ns = max((later.begin_ns - one.begin_ns for one, later in pairwise(mine)), default=0)
    return end_ns - mine[-1].begin_ns > max(PATIENCE_NS, _PAUSES * longest_ns)
