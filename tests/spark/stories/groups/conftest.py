"""Traces of a group: the requests of its members and the responses, one line each, in milliseconds."""

import struct
from collections.abc import Callable
from itertools import chain
from typing import Any

import pytest

from kafkascope_analyzer.dataset.row_types import column_fields
from kafkascope_analyzer.dataset.tables.event_kinds.event import WHOLE
from kafkascope_analyzer.dataset.tables.event_kinds.groups import GroupRequestBody, GroupResponseBody
from kafkascope_analyzer.dataset.tables.events import EVENT_CLASSES, RANKS
from kafkascope_parsers import api_keys
from kafkascope_spark.stories.groups.stories import Group
from kafkascope_spark.stories.groups.table import RebalanceRow
from kafkascope_spark.stories.keyed import Origin
from kafkascope_spark.stories.stalls.clients import ServiceClient
from kafkascope_spark.stories.stalls.machine import FETCH_RUN
from kafkascope_spark.stories.stalls.stall import StallLimits

MS = 1_000_000
TOPIC = "t"
EPOCH_APIS = {
    "consumer": api_keys.CONSUMER_GROUP_HEARTBEAT,
    "share": api_keys.SHARE_GROUP_HEARTBEAT,
    "streams": api_keys.STREAMS_GROUP_HEARTBEAT,
}
Row = dict[str, Any]
_NO_REQUEST, _NO_RESPONSE = (dict.fromkeys(column_fields(body)) for body in (GroupRequestBody, GroupResponseBody))


def assignment(*partitions: int) -> bytes:
    """ConsumerProtocolAssignment version 0, by hand, of partitions of the one topic."""
    topics = struct.pack(f">hh1si{len(partitions)}i", 0, 1, TOPIC.encode(), len(partitions), *partitions)[2:]
    return struct.pack(">hi", 0, 1) + topics + struct.pack(">i", -1) if partitions else struct.pack(">hii", 0, 0, -1)


def subscription(*topics: str, owned: tuple[int, ...] = ()) -> bytes:
    """ConsumerProtocolSubscription version 1."""
    named = b"".join(struct.pack(">h", len(t)) + t.encode() for t in topics)
    own = struct.pack(f">ih1si{len(owned)}i", 1, 1, TOPIC.encode(), len(owned), *owned) if owned else bytes(4)
    return struct.pack(">hi", 1, len(topics)) + named + struct.pack(">i", -1) + own


def items(*partitions: int) -> tuple[str, ...]:
    return tuple(f"{TOPIC}-{p}" for p in partitions)


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
            "generation_or_epoch": more.pop("generation", None),
            "client_id": client,
            "node_id": more.pop("node", 1),
        }
        closed = more.pop("closed", None)
        request |= {"close_ns": None if closed is None else closed * MS}
        request |= {"close_kind": None if closed is None else "rst_client"}
        body, response = more.pop("body", {}), more.pop("response", {})
        request |= {"request": _NO_REQUEST | body, "response": _NO_RESPONSE | response}
        assert not more, more
        self._event(at, client, "group_request", request)

    def _event(self, at: int, client: str, kind: str, body: Any) -> None:
        keys = {"key": "g", "ts_ns": at * MS, "packet_no": 0, "conn_id": f"conn-{client}", "seq": len(self.rows)}
        keys |= {"section": section_of(kind), "rank": RANKS.get(kind, 0)}
        self.rows.append(keys | {"kind": kind, "client_instance_id": f"ci-{client}", kind: body})

    def join(self, at: int, answered: int | None, who: str, generation: int = 0, **more: Any) -> "Trace":
        """A JoinGroup. asks: the member id that it asks with (its own); members: those listed for the leader."""
        named = more.pop("members", ())
        listed = [{"member_id": m, "group_instance_id": None} for m in named]
        instances = more.pop("instances", {})
        for one in listed:
            one["group_instance_id"] = instances.get(one["member_id"])
        body = {
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
        body["protocols"][0]["name"] = assignor
        response: Row = {"member_id": who, "generation_id": -1}
        if more.get("error") is None:
            response |= {"generation_id": generation, "protocol_name": assignor, "leader": "a", "members": listed}
        self.add(api_keys.JOIN_GROUP, at, answered, who, body=body, response=response, **more)
        return self

    def asks_first(self, at: int, who: str) -> "Trace":
        """A JoinGroup without a member id, answered with one (KIP-394)."""
        return self.join(at, at + 1, who, asks="", error="MEMBER_ID_REQUIRED")

    def sync(self, at: int, answered: int | None, who: str, generation: int, *has: int, **more: Any) -> "Trace":
        """A SyncGroup; gives: what the leader assigns, by member."""
        gives = [{"member_id": m, "assignment": assignment(*p)} for m, p in more.pop("gives", {}).items()]
        body, response = {"member_id": who, "assignments": gives}, {"assignment": assignment(*has)}
        self.add(api_keys.SYNC_GROUP, at, answered, who, generation=generation, body=body, response=response, **more)
        return self

    def leave(self, at: int, who: str, why: str | None = None, **more: Any) -> "Trace":
        """A LeaveGroup that is accepted."""
        body = {"leaving_members": [{"member_id": who, "group_instance_id": None, "reason": why}]}
        self.add(api_keys.LEAVE_GROUP, at, at + 1, who, body=body, **more)
        return self

    def beat(self, at: int, who: str, generation: int, error: str, **more: Any) -> "Trace":
        """A Heartbeat that is refused."""
        self.add(api_keys.HEARTBEAT, at, at + 1, who, generation=generation, error=error, **more)
        return self

    def commit(self, at: int, who: str, generation: int, error: str) -> "Trace":
        """An OffsetCommit that is refused."""
        self.add(api_keys.OFFSET_COMMIT, at, at + 1, who, generation=generation, error=error)
        return self

    def keep(self, at: int, until: int, who: str, generation: int, api: int = api_keys.HEARTBEAT) -> "Trace":
        """Heartbeats that went well, rolled up."""
        client = who.split("#")[0]
        activity = {
            "api_key": api,
            "member_id": who,
            "group_instance_id": None,
            "generation_or_epoch": generation,
            "last_ns": until * MS,
            "n": 1 + (until - at) // 3_000,
            "request_id": f"heartbeat-{who}-{at}",
            "client_id": client,
            "node_id": 1,
        }
        self._event(at, client, "group_member", activity)
        return self

    def lag(self, at: int, generation: int, partition: int, committed: int, high_watermark: int) -> "Trace":
        """The last commit of a generation for a partition, and a high watermark that was known by then."""
        lag = {"generation_or_epoch": generation, "topic": TOPIC, "partition": partition}
        self._event(at, "a", "group_lag", lag | {"committed_offset": committed, "high_watermark": high_watermark})
        return self

    def consumer(self, who: str, left: int | None = None, *, closed: bool = False) -> "Trace":
        """A client that reads in the group, until it leaves."""
        left_ns = None if left is None else left * MS
        client = ServiceClient(f"ci-{who}", "10.0.0.1", who, "g", 0, None, left_ns, None, left_ns, closed)
        self._event(0, who, "service_client", client)
        return self

    def reads(self, at: int, until: int, who: str, offsets: tuple[int, int], **more: Any) -> "Trace":
        """Responses to Fetch that brought the records from the first offset up to the second. more: partition, and when
        the next record was accepted."""
        accepted = more.pop("accepted", None)
        run = {"topic": TOPIC, "partition": more.pop("partition", 0), "node_id": 1, "n": 1, "n_records": 1}
        run |= {"first_ns": at * MS, "last_ns": until * MS, "first_offset": offsets[0], "next_offset": offsets[1]}
        run |= {"next_accepted_ns": None if accepted is None else accepted * MS}
        run |= {"last_answer_offset": None, "last_answer_accepted_ns": None, "before_last_ns": 0}
        run |= {"request_id": f"fetch-{who}-{at}", "last_request_id": f"fetch-{who}-{until}"}
        assert not more, more
        self._event(at, who, FETCH_RUN, run)
        return self

    def epoch(
        self, at: int, who: str, asks: int, epoch: int, has: tuple[int, ...] | None = None, **more: Any
    ) -> "Trace":
        """A heartbeat with an epoch, answered after 5 ms; has: the assignment that the answer carries."""
        api = EPOCH_APIS[more.pop("protocol", "consumer")]
        body = {"member_id": who, "member_epoch": asks, "subscribed_topics": more.pop("topics", None)}
        response: Row = {"member_id": who, "member_epoch": epoch, "heartbeat_interval_ms": 1_000}
        response["has_assignment"] = has is not None
        if api == api_keys.STREAMS_GROUP_HEARTBEAT and has is not None:
            response["active_tasks"] = [{"subtopology_id": "0", "partitions": list(has)}]
        elif has:
            response["assigned_topics"] = [{"topic": TOPIC, "partitions": list(has)}]
        self.add(api, at, at + 5, who, generation=asks, body=body, response=response, **more)
        return self

    def events(self) -> list[Row]:
        """The events, in the order in which the machines read them."""
        return sorted(self.rows, key=event_order)

    def rebalances(self) -> list[RebalanceRow]:
        """The rows of the table, in order of time."""
        return self.tables()["rebalances"]

    def tables(self) -> dict[str, list[Any]]:
        """The rows of the tables rebalances and stalls."""
        group = Group("g", StallLimits(self.end * MS, 1_000 * MS))
        found: dict[str, list[Any]] = {"rebalances": [], "stalls": []}
        for row in (*chain.from_iterable(group.take(*event_of(row)) for row in self.events()), *group.finish()):
            found[row.TABLE.name].append(row)
        return found


def event_of(row: Row) -> tuple[Any, Origin]:
    """The event, and when and where it was."""
    kind, body = row["kind"], row[row["kind"]]
    event = EVENT_CLASSES[kind].of(body) if kind in EVENT_CLASSES else body
    return event, Origin(*(row.get(name) for name in Origin._fields))


@pytest.fixture
def trace() -> Callable[..., Trace]:
    """A new trace."""
    return Trace


def section_of(kind: str) -> int:
    """What members read comes before what they asked of their coordinator."""
    return EVENT_CLASSES[kind].KIND.section if kind in EVENT_CLASSES and kind != FETCH_RUN else WHOLE


def event_order(row: Row) -> tuple[Any, ...]:
    kind = row["kind"]
    moment = (row["key"], section_of(kind), row["ts_ns"], RANKS.get(kind, 0))
    return (*moment, row["packet_no"], row["conn_id"], row["seq"])


def named(row: RebalanceRow, name: str) -> dict[str, Any]:
    """A column of the members, by member id."""
    return {m.member_id: getattr(m, name) for m in row.members}


@pytest.fixture
def of_members() -> Callable[[RebalanceRow, str], dict[str, Any]]:
    """A column of the members, by member id."""
    return named


@pytest.fixture
def tp() -> Callable[..., tuple[str, ...]]:
    """Partitions of the one topic, as the table names them."""
    return items
