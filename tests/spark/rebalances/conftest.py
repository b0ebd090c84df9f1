"""Traces of a group: what its members send and are answered, one line each, in milliseconds."""

import struct
from collections.abc import Callable
from typing import Any

import pytest

from kafkascope_spark import wire
from kafkascope_spark.rebalances.group_stories import GroupStories

MS = 1_000_000
TOPIC = "t"
EPOCH_APIS = {
    "consumer": wire.CONSUMER_GROUP_HEARTBEAT,
    "share": wire.SHARE_GROUP_HEARTBEAT,
    "streams": wire.STREAMS_GROUP_HEARTBEAT,
}
Row = dict[str, Any]


def assignment(*partitions: int) -> bytes:
    """ConsumerProtocolAssignment version 0, by hand, of partitions of the one topic."""
    topics = struct.pack(f">hh1si{len(partitions)}i", 0, 1, TOPIC.encode(), len(partitions), *partitions)[2:]
    return struct.pack(">hi", 0, 1) + topics + struct.pack(">i", -1) if partitions else struct.pack(">hii", 0, 0, -1)


def subscription(*topics: str, owned: tuple[int, ...] = ()) -> bytes:
    """ConsumerProtocolSubscription version 1."""
    named = b"".join(struct.pack(">h", len(t)) + t.encode() for t in topics)
    own = struct.pack(f">ih1si{len(owned)}i", 1, 1, TOPIC.encode(), len(owned), *owned) if owned else bytes(4)
    return struct.pack(">hi", 1, len(topics)) + named + struct.pack(">i", -1) + own


def items(*partitions: int) -> list[str]:
    return [f"{TOPIC}-{p}" for p in partitions]


class Trace:
    """Requests of one group. `at` and `answered` in milliseconds; answered None: no answer in the capture."""

    def __init__(self, end: int = 100_000) -> None:
        self.end = end
        self.rows: list[Row] = []

    def add(self, api: int, at: int, answered: int | None, who: str, **more: Any) -> None:
        number = len(self.rows)
        client = more.pop("client", who.split("#")[0])
        request = {
            "request_id": f"{client}-{number}",
            "api_key": api,
            "response_ns": None if answered is None else answered * MS,
            "status": "unanswered" if answered is None else "ok",
            "error_name": more.pop("error", None),
            "member_id": who,
            "group_instance_id": more.pop("instance", None),
            "generation": more.pop("generation", None),
        }
        row = self._row(at, client, request["request_id"], more.pop("node", 1), more.pop("closed", None))
        row |= {"request": request, "asked": more.pop("asked", {}), "told": more.pop("told", {}), "given": []}
        row["given"] = more.pop("given", [])
        assert not more, more
        self.rows.append(row)

    @staticmethod
    def _row(at: int, client: str, tie: str, node: int, closed: int | None) -> Row:
        return {
            "group_id": "g",
            "ts_ns": at * MS,
            "packet_no": 0,
            "tie": tie,
            "conn_id": f"conn-{client}",
            "client_id": client,
            "client_instance_id": f"ci-{client}",
            "close_ns": None if closed is None else closed * MS,
            "close_kind": None if closed is None else "rst_client",
            "node_id": node,
            "heard": None,
            "request": None,
        }

    def join(self, at: int, answered: int | None, who: str, generation: int = 0, **more: Any) -> "Trace":
        """A JoinGroup. asks: the member id that it asks with (its own); members: whom the leader is told of."""
        named = more.pop("members", ())
        listed = [{"member_id": m, "group_instance_id": None} for m in named]
        instances = more.pop("instances", {})
        for one in listed:
            one["group_instance_id"] = instances.get(one["member_id"])
        asked = {
            "member_id": more.pop("asks", who),
            "session_timeout_ms": 10_000,
            "rebalance_timeout_ms": 60_000,
            "protocol_type": "consumer",
            "reason": more.pop("reason", None),
            "protocols": [
                {"name": "range", "metadata": subscription(*more.pop("topics", (TOPIC,)), owned=more.pop("owned", ()))}
            ],
        }
        assignor = more.pop("assignor", "range")
        asked["protocols"][0]["name"] = assignor
        told: Row = {"member_id": who, "generation_id": -1}
        if more.get("error") is None:
            told |= {"generation_id": generation, "protocol_name": assignor, "leader": "a", "members": listed}
        self.add(wire.JOIN_GROUP, at, answered, who, asked=asked, told=told, **more)
        return self

    def asks_first(self, at: int, who: str) -> "Trace":
        """A JoinGroup without a member id, answered with one (KIP-394)."""
        return self.join(at, at + 1, who, asks="", error="MEMBER_ID_REQUIRED")

    def sync(self, at: int, answered: int | None, who: str, generation: int, *has: int, **more: Any) -> "Trace":
        """A SyncGroup; gives: what the leader assigns, by member."""
        gives = [{"member_id": m, "assignment": assignment(*p)} for m, p in more.pop("gives", {}).items()]
        asked, told = {"member_id": who, "assignments": gives}, {"assignment": assignment(*has)}
        self.add(wire.SYNC_GROUP, at, answered, who, generation=generation, asked=asked, told=told, **more)
        return self

    def leave(self, at: int, who: str, why: str | None = None, **more: Any) -> "Trace":
        """A LeaveGroup that is accepted."""
        asked = {"leavers": [{"member_id": who, "group_instance_id": None, "reason": why}]}
        self.add(wire.LEAVE_GROUP, at, at + 1, who, asked=asked, **more)
        return self

    def beat(self, at: int, who: str, generation: int, error: str, **more: Any) -> "Trace":
        """A Heartbeat that is refused."""
        self.add(wire.HEARTBEAT, at, at + 1, who, generation=generation, error=error, **more)
        return self

    def commit(self, at: int, who: str, generation: int, error: str) -> "Trace":
        """An OffsetCommit that is refused."""
        self.add(wire.OFFSET_COMMIT, at, at + 1, who, generation=generation, error=error)
        return self

    def heard(self, at: int, until: int, who: str, generation: int, api: int = wire.HEARTBEAT) -> "Trace":
        """Heartbeats that went well, rolled up."""
        row = self._row(at, who.split("#")[0], f"{who}|{api}", 1, None)
        row["heard"] = {
            "api_key": api,
            "member_id": who,
            "group_instance_id": None,
            "generation": generation,
            "last_ns": until * MS,
            "n": 1 + (until - at) // 3_000,
            "request_id": f"heard-{who}-{at}",
        }
        self.rows.append(row)
        return self

    def epoch(
        self, at: int, who: str, asks: int, epoch: int, has: tuple[int, ...] | None = None, **more: Any
    ) -> "Trace":
        """A heartbeat with an epoch, answered after 5 ms; has: the assignment that the answer carries."""
        api = EPOCH_APIS[more.pop("protocol", "consumer")]
        asked = {"member_id": who, "member_epoch": asks, "topics": more.pop("topics", None), "regex": None}
        told = {"member_id": who, "member_epoch": epoch, "heartbeat_interval_ms": 1_000, "assigns": has is not None}
        given: list[Row] = []
        if api == wire.STREAMS_GROUP_HEARTBEAT and has is not None:
            told["active"] = [{"id": "0", "partitions": list(has)}]
        elif has:
            given = [{"topic": TOPIC, "partitions": list(has)}]
        self.add(api, at, at + 5, who, generation=asks, asked=asked, told=told, given=given, **more)
        return self

    def tell(self) -> list[Row]:
        """The rows of the table, in order of time."""
        stories = GroupStories((0, self.end * MS))
        rows = sorted(self.rows, key=lambda r: (r["group_id"], r["ts_ns"], r["packet_no"], r["tie"]))
        return [*stories.feed(rows), *stories.finish()]


@pytest.fixture
def trace() -> Callable[..., Trace]:
    """A new trace."""
    return Trace


def named(row: Row, name: str) -> dict[str, Any]:
    """A column of the members, by member id."""
    return {m["member_id"]: m[name] for m in row["members"]}


@pytest.fixture
def of_members() -> Callable[[Row, str], dict[str, Any]]:
    """A column of the members, by member id."""
    return named


@pytest.fixture
def tp() -> Callable[..., list[str]]:
    """Partitions of the one topic, as the table names them."""
    return items
