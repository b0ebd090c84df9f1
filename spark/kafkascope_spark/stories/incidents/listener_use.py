"""How the connections of one client address used each listener: what they spoke there, and whether they were served.

A client whose own settings do not fit a listener is closed or refused there again and again, before its first request
is served. A client that speaks TLS sends no Kafka request that could be read: then the address stands for the client.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import pairwise

from kafkascope_analyzer.dataset.row_types import values_of
from kafkascope_parsers import api_keys
from kafkascope_spark.stories.clients.identity.instances import Instance
from kafkascope_spark.stories.model import Connection
from kafkascope_spark.stories.recoveries.failures import CLOSED_BY_SERVER
from kafkascope_spark.stories.stage_rows import StageRow

TLS, HTTP = "TLS", "HTTP"
MOST_EVIDENCE = 20
PATIENCE_NS = 3_000_000_000
"""A client that tries again does so within seconds, or within some times its longest pause until then."""
_PAUSES = 3


@dataclass(frozen=True, slots=True)
class Outcome(StageRow):
    """How a connection went: what it spoke, and whether it was served, refused with an error or closed.

    server: `address:port`; protocol: a security.protocol of Kafka; TLS where it could not be decrypted; HTTP.
    of_broker: it was served, and belongs to a broker; from_start: the capture has its first packets, so that it is
    known whether it uses SASL. error_name: with which SASL was refused; had_session: it had been accepted before, on
    the same connection; answered: the server answered ApiVersions before it closed; asked: the client asked for more
    than that.
    """

    server: str
    protocol: str
    mechanism: str | None
    served: bool
    of_broker: bool = False
    from_start: bool = True
    error_name: str | None = None
    had_session: bool = False
    answered: bool = False
    asked: bool = False


@dataclass(frozen=True, slots=True)
class ListenerUse(StageRow):
    """Connections of one client address to one server that went alike.

    client_instance_id, client_id: None where they were served, or where no request could be read. n: how many;
    first_ns, last_ns: of these, the first packet and the last; is_over: no further one was to be expected by the end of
    the capture; works_on: the client was served elsewhere afterwards, as far as its requests could be read; evidence:
    conn_ids. logged_in: the client had authenticated with SASL on an earlier connection, and was served there.
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

    @property
    def use_id(self) -> str:
        """What distinguishes it from any other."""
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
    """How one client address used listeners.

    connections: all of it; instances: conn_id -> client; refused: conn_id -> the error with which its SASL was refused;
    end_ns: end of the capture.
    """
    alike: dict[tuple[Outcome, str | None], list[Connection]] = defaultdict(list)
    served_until: dict[str, int] = defaultdict(int)
    logged_in_ns: dict[str, int] = {}
    for connection in connections:
        outcome = _outcome(connection, refused.get(connection.conn_id))
        if outcome is None:
            continue
        instance = instances.get(connection.conn_id)
        if outcome.served and instance is not None and instance.kind.kind == "broker":
            outcome = replace(outcome, of_broker=True)
        identity = None if instance is None else instance.instance_id
        alike[outcome, None if outcome.served else identity].append(connection)
        if outcome.served and identity is not None:
            served_until[identity] = max(served_until[identity], connection.last_request_ns or 0)
            if connection.sasl_mechanism is not None:
                logged_in_ns[identity] = min(logged_in_ns.get(identity, connection.begin_ns), connection.begin_ns)
    for (outcome, identity), mine in alike.items():
        mine.sort(key=lambda c: (c.begin_ns, c.conn_id))
        yield ListenerUse(
            client_ip=client_ip,
            client_instance_id=identity,
            client_id=None if identity is None else instances[mine[0].conn_id].client_id,
            outcome=outcome,
            n=len(mine),
            first_ns=mine[0].begin_ns,
            last_ns=max(c.last_ns for c in mine),
            is_over=_is_over(mine, end_ns),
            works_on=identity is not None and served_until[identity] > mine[-1].begin_ns,
            evidence=() if outcome.served else tuple(c.conn_id for c in mine[:MOST_EVIDENCE]),
            logged_in=logged_in_ns.get(identity or "", mine[0].begin_ns) < mine[0].begin_ns,
        )


def _outcome(connection: Connection, error_name: str | None) -> Outcome | None:
    """How the connection went; None where that says nothing about the settings of its client."""
    protocol = _protocol(connection)
    if protocol is None:
        return None
    spoke = connection.server, protocol, connection.sasl_mechanism
    if error_name is not None:
        had_session = connection.session_lifetime_ms is not None
        return Outcome(*spoke, served=False, error_name=error_name, had_session=had_session)
    if connection.server_bytes > 0 if protocol == TLS else connection.served:
        return Outcome(*spoke, served=True, from_start=connection.opened_in_capture)
    if protocol == HTTP:
        return Outcome(*spoke, served=False)
    if connection.close_kind not in CLOSED_BY_SERVER:
        return None
    if protocol == TLS:
        return Outcome(*spoke, served=False)
    is_answered = connection.n_responses > 0
    asked = bool(connection.apis - api_keys.HANDSHAKE_APIS)
    is_known = asked or (connection.n_requests > 0 and not is_answered)
    return Outcome(*spoke, served=False, answered=is_answered, asked=asked) if is_known else None


def _protocol(connection: Connection) -> str | None:
    """What the client spoke: a security.protocol of Kafka, TLS or HTTP; None for what is no protocol of a listener."""
    if connection.protocol == "kafka":
        is_sasl = connection.sasl_mechanism is not None
        return f"{'SASL_' if is_sasl else ''}{'SSL' if connection.tls else 'PLAINTEXT'}"
    return {"tls": TLS, "http": HTTP}.get(connection.protocol)


def _is_over(mine: list[Connection], end_ns: int) -> bool:
    """Whether the client had made its last attempt when the capture ended. mine: its attempts, in order of time."""
    longest_ns = max((later.begin_ns - one.begin_ns for one, later in pairwise(mine)), default=0)
    return end_ns - mine[-1].begin_ns > max(PATIENCE_NS, _PAUSES * longest_ns)
