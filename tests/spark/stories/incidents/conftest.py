"""Rows of broker_states, stalls, recoveries and rebalances, as short as a test can say them. Times are seconds."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any, TypeVar

import pytest

from kafkascope_analyzer.dataset.row_types import column_converters
from kafkascope_analyzer.dataset.tables.event_kinds.servers import HostKind
from kafkascope_spark.stories.groups.table import DepartedMember, RebalanceRow
from kafkascope_spark.stories.incidents.signals.affected_client import AffectedClient
from kafkascope_spark.stories.incidents.signals.listener_use import ListenerUse, Outcome
from kafkascope_spark.stories.incidents.signals.silent_client import SilentClient
from kafkascope_spark.stories.recoveries.client_recovery import ClientRecovery
from kafkascope_spark.stories.servers.table import BrokerState, StateName
from kafkascope_spark.stories.stalls.table import Stall, StallKind

T = TypeVar("T")
Row = dict[str, Any]
MakeRow = Callable[..., Any]
MakeStall = Callable[..., Stall]
MakeState = Callable[..., BrokerState]

NS = 1_000_000_000


def row_of(kind: type[T], **columns: Any) -> T:
    """An object of the class with these values; the other columns are null, or empty where they may not be."""
    return kind(**{name: columns.get(name, convert(None)) for name, convert in column_converters(kind).items()})


def ns(seconds: float | None) -> int | None:
    return None if seconds is None else int(seconds * NS)


@pytest.fixture
def state() -> MakeState:
    """A stretch in which a host (the last byte of its address) saw a broker in a state."""

    def make(
        node: int | None, host: int, name: StateName, start: float, end: float | None, kind: HostKind = "client"
    ) -> BrokerState:
        return BrokerState(
            node_id=node,
            server_ip=f"10.0.0.{node or 99}",
            server_port=9092,
            host=f"10.0.0.{host}",
            host_kind=kind,
            state=name,
            unacknowledged="host" if name == "silent" else None,
            from_ns=int(start * NS),
            to_ns=ns(end),
            before_ns=int(start * NS),
            shown_from_ns=int(start * NS),
            shown_to_ns=ns(end) or int(start * NS),
            after_ns=ns(end),
            times_usual=None,
            late_ms=None,
            n_waiting=1,
            packets=(1, 2),
            requests=(f"r{node}-{host}",),
        )

    return make


@pytest.fixture
def stall() -> MakeStall:
    """A stall of the client at a host, which waited on a broker first."""

    def make(kind: StallKind, host: int, node: int | None, start: float, end: float | None, **more: Any) -> Stall:
        made = Stall(
            stall_id=f"stall-{kind}-{host}-{start}",
            kind=kind,
            client_instance_id=f"ci-{host}",
            client_ip=f"10.0.0.{host}",
            client_id=f"client-{host}",
            group_id=None,
            transactional_id=None,
            topic="orders",
            partition=0,
            node_id=node,
            from_ns=int(start * NS),
            to_ns=ns(end),
            served=None if end is None else True,
            waited_ms=int(((60 if end is None else end) - start) * 1000),
            n_attempts=1,
            error_names=(),
            incident_id=None,
            evidence=(f"request-{host}-{start}",),
            claimed=False,
            n_records_late=0,
            n_records_failed=0,
        )
        return replace(made, **more)

    return make


@pytest.fixture
def recovery() -> MakeRow:
    """A recovery of the client at a host, whose first error came from a broker."""

    def make(error: str, host: int, node: int | None, start: float, end: float | None, **more: Any) -> ClientRecovery:
        row = {
            "recovery_id": f"rec-{host}-{start}",
            "client_instance_id": f"ci-{host}",
            "resource_kind": "partition",
            "resource": "orders-0",
            "first_error_name": error,
            "error_names": (error,),
            "first_api_key": 1,
            "outcome": "still_open" if end is None else "recovered",
            "start_ns": ns(start),
            "recovered_ns": ns(end),
            "old_node_id": node,
            "evidence": (f"failed-{host}-{start}",),
        }
        return replace(row_of(ClientRecovery, **row | more), client_ip=f"10.0.0.{host}")

    return make


@pytest.fixture
def client() -> Callable[..., AffectedClient]:
    """What advice needs to know of the client at a host."""

    def make(host: int, library: str = "java", **more: Any) -> AffectedClient:
        made = AffectedClient(
            client_instance_id=f"ci-{host}",
            client_id=f"client-{host}",
            client_ip=f"10.0.0.{host}",
            library=library,
            principal=None,
            kind="consumer",
            group_protocol="classic",
            end_state="open",
            died_ns=None,
            session_timeout_ms=None,
            rebalance_timeout_ms=None,
            servers=("10.0.0.1:9092",),
            secured_servers=(),
            advertised=(),
        )
        return replace(made, **more)

    return make


@pytest.fixture
def rebalance() -> Callable[..., RebalanceRow]:
    """A rebalance of the group orders-app; gone: client ids of members that went away silently, and when."""

    def make(start: float, end: float | None, gone: dict[str, float] | None = None) -> RebalanceRow:
        departed = (
            row_of(
                DepartedMember,
                client_id=name,
                client_instance_id=name.replace("client", "ci"),
                member_id=f"{name}-1",
                how="evicted",
                last_seen_ns=ns(at),
                silent_ms=12_300,
                session_timeout_ms=10_000,
            )
            for name, at in (gone or {}).items()
        )
        return row_of(
            RebalanceRow,
            rebalance_id=f"reb-{start}",
            group_id="orders-app",
            trigger="member_evicted" if gone else "member_joined",
            node_id=2,
            start_ns=ns(start),
            end_ns=ns(end),
            departed=tuple(departed),
        )

    return make


@pytest.fixture
def silent() -> Callable[..., SilentClient]:
    """A client at a host that stalled."""

    def make(host: int, start: float, end: float | None, **more: Any) -> SilentClient:
        made = SilentClient(
            client_instance_id=f"ci-{host}",
            client_id=f"client-{host}",
            client_ip=f"10.0.0.{host}",
            groups=("orders-app",),
            from_ns=int(start * NS),
            to_ns=ns(end),
            due_kind="heartbeat",
            due_ns=int((start + 3) * NS),
            shown_ns=int((start + 3) * NS),
            usual_ms=3_000,
            n_sent=0,
            n_connections=4,
            packets=(100, 200),
            requests=(f"silent-{host}",),
        )
        return replace(made, **more)

    return make


@pytest.fixture
def use() -> Callable[..., ListenerUse]:
    """How the client at a host used the listener of node 1. more: fields of the use or of its outcome; start, end."""

    def make(host: int | None, protocol: str, **more: Any) -> ListenerUse:
        start, end = more.pop("start", 5), more.pop("end", 20)
        outcome = {"server": "10.0.0.1:9093", "mechanism": None, "served": False}
        outcome |= {name: more.pop(name) for name in Outcome.__match_args__ if name in more}
        made = ListenerUse(
            client_ip=f"10.0.0.{host}",
            client_instance_id=f"ci-{host}",
            client_id=f"client-{host}",
            outcome=Outcome(
                **{"server": "10.0.0.1:9093", "mechanism": None, "served": False} | outcome, protocol=protocol
            ),
            n=7,
            first_ns=int(start * NS),
            last_ns=int(end * NS),
            is_over=True,
            works_on=False,
            evidence=(f"c{host}",),
        )
        return replace(made, **more)

    return make
