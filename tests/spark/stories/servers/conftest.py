"""The events of one server, one line each, in seconds."""

from dataclasses import dataclass, field
from typing import Any

import pytest

from kafkascope_analyzer.dataset.tables.events import EVENT_CLASSES, RANKS
from kafkascope_spark.stories.keyed import Origin
from kafkascope_spark.stories.servers.machine import Server
from kafkascope_spark.stories.servers.record import ServerRecord
from kafkascope_spark.stories.servers.table import BrokerState

S = 1_000_000_000
KEY = "10.0.0.1:9092"
Row = dict[str, Any]


@dataclass
class Trace:
    """Events of a server with node id 1; packets are numbered by tenths of a second."""

    end: float = 60.0
    covered: list[tuple[int, int]] | None = None
    rows: list[Row] = field(default_factory=list)

    def host(self, host: str, kind: str = "client", first: float | None = 0.1, last: float = 59.0, **more: Any) -> None:
        """A host that talked to the server."""
        body = {"server_ip": "10.0.0.1", "server_port": 9092, "node_id": 1, "host": host, "host_kind": kind}
        heard = {"first_ns": None, "last_ns": None} if first is None else _span(first, last)
        body |= {"served": first is not None, "is_client": False, **heard, **more}
        self._add("server_host", host, first or 0.0, first or 0.0, body)

    def signs(self, *runs: tuple[float, float], host: str | None = None, scope: str = "host", layer: str = "") -> None:
        """When the server was heard from; at both layers, unless one is named."""
        for one in [layer] if layer else ["packet", "payload"]:
            for first, last in runs:
                body = {"host": host, "scope": scope, "layer": one, **_span(first, last)}
                self._add("life_sign", host or "", first, first, body)

    def payload(self, *runs: tuple[float, float]) -> None:
        """When the server sent payload to anybody, and its process nothing else."""
        for scope in ("server", "listeners", "process"):
            self.signs(*runs, scope=scope, layer="payload")
        self.signs(*runs, scope="process", layer="packet")

    def wait(self, host: str, asked: float, until: float | None, layer: str = "packet", **more: Any) -> None:
        """Somebody waited; `last`: when it asked last, half a second later if not given; `conn`: its connection, one of
        its own if not given."""
        conn_id = more.pop("conn", None)
        body = {
            "host": host,
            "layer": layer,
            "request_id": None,
            "is_proof": False,
            "is_new": False,
            "is_slow": False,
            "ended_by": "ack",
        }
        body |= {**_span(asked, more.pop("last", asked + 0.5)), "due_ns": int(asked * S)}
        body |= {"until_ns": None if until is None else int(until * S), "until_packet_no": None}
        if until is not None:
            body["until_packet_no"] = int(until * 10)
        self._add("server_wait", host, asked, asked, body | more, conn_id)

    def lost(self, host: str, kind: str, began: float, ended: float, **more: Any) -> None:
        """A connection that the server ended or did not accept."""
        body = {"host": host, "close_kind": kind, "served": kind.endswith("server"), "idle_ms": 100}
        body |= {"accepted_ns": None, "accepted_packet_no": None, **_span(began, ended)}
        self._add("server_connection", host, ended, ended, body | more)

    def _add(self, kind: str, host: str, at: float, packet: float, body: Row, conn_id: str | None = None) -> None:
        section = 0 if kind == "server_host" else 1
        keys = {
            "key": KEY,
            "section": section,
            "ts_ns": int(at * S),
            "rank": RANKS[kind],
            "packet_no": int(packet * 10),
        }
        event = EVENT_CLASSES[kind].of(body)
        self.rows.append({**keys, "conn_id": conn_id or f"c{len(self.rows):03}", "seq": 0, "kind": kind, kind: event})

    def states(self) -> list[tuple[str, str, float, float | None]]:
        """(host, state, from, to) of the server's rows."""
        return [
            (row.host, row.state, row.from_ns / S, None if row.to_ns is None else row.to_ns / S) for row in self.table()
        ]

    def table(self) -> list[BrokerState]:
        """The server's rows."""
        machine = Server(self.covered or [(0, int(self.end * S))])
        for row in self._in_order():
            machine.take(*event_of(row))
        return list(machine.finish())

    def record(self) -> ServerRecord:
        """What the detectors of the states are asked about."""
        record = ServerRecord((0, int(self.end * S)))
        for row in self._in_order():
            record.take(row["packet_no"], row["conn_id"], row[row["kind"]])
        return record

    def _in_order(self) -> list[Row]:
        order = ("section", "ts_ns", "rank", "packet_no", "conn_id", "seq")
        return sorted(self.rows, key=lambda row: [row[name] for name in order])


def _span(first: float, last: float) -> Row:
    return {
        "first_ns": int(first * S),
        "first_packet_no": int(first * 10),
        "last_ns": int(last * S),
        "last_packet_no": int(last * 10),
    }


def event_of(row: Row) -> tuple[Any, Origin]:
    """The event, and when and where it was."""
    return row[row["kind"]], Origin(*(row.get(name) for name in Origin._fields))


@pytest.fixture
def trace() -> Trace:
    return Trace()
