"""Subscriptions and assignments where the bytes are not a consumer's: written by Connect's and Streams' classes."""

import gzip
import json
import pathlib
import struct
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from kafkascope_analyzer.dataset.row_types import empty_row
from kafkascope_analyzer.dataset.tables.event_kinds.groups import (
    GroupRequest,
    GroupRequestBody,
    LeavingMember,
    OfferedProtocol,
)
from kafkascope_parsers.api_keys import JOIN_GROUP, LEAVE_GROUP
from kafkascope_parsers.group_protocols.classic import CLASSIC
from kafkascope_spark.stories.groups.embedded_data import join_reason, leaving_members, take_join
from kafkascope_spark.stories.groups.generation import Generation, Member

VECTORS = pathlib.Path(__file__).parents[4] / "fixtures" / "vectors" / "assignments.jsonl.gz"


def written(kind: str, assignor: str | None, holds: str) -> tuple[bytes, dict[str, Any]]:
    """The last such vector of which the list holds is not empty."""
    with gzip.open(VECTORS, "rt", encoding="utf-8") as lines:
        found = [v for v in map(json.loads, lines) if v["kind"] == kind and v["assignor"] == assignor and v.get(holds)]
    return bytes.fromhex(found[-1]["hex"]), found[-1]


def one_worker(t: Any, assignor: str, metadata: bytes, given: bytes, protocol_type: str) -> Any:
    """a joins with these bytes and is given those."""
    t.join(2, 300, "a", 1, members=["a"], assignor=assignor).sync(301, 305, "a", 1)
    join, sync = (row["group_request"] for row in t.rows[-2:])
    join["request"]["protocol_type"] = protocol_type
    join["request"]["protocols"][0]["metadata"] = metadata
    sync["response"]["assignment"] = given
    (row,) = t.rebalances()
    return row


def test_a_cooperative_worker_keeps_the_tasks_in_its_metadata(trace: Callable[..., Any]) -> None:
    """Connect's leader gives it only what is new, and says what it has to give up."""
    metadata, runs = written("metadata", None, "owned")
    assert runs["protocol_type"] == "connect"
    given, new = written("assignment", "sessioned", "items")
    row = one_worker(trace(), "sessioned", metadata.replace(b"source-a", b"source-b"), given, "connect")
    kept = {name.replace("source-a", "source-b") for name in runs["owned"]} - set(new["revoked"])
    assert set(row.members[0].assigned) == kept | set(new["items"])
    assert "source-b-1" in kept - set(new["items"])
    assert (row.protocol_type, row.mode) == ("connect", "cooperative")


def test_an_eager_worker_has_what_it_is_given(trace: Callable[..., Any]) -> None:
    given, new = written("assignment", "default", "items")
    row = one_worker(trace(), "default", b"\x00\x00\x00\x00" + bytes(8), given, "connect")
    assert row.members[0].assigned == tuple(sorted(new["items"]))
    assert row.mode == "eager"


def test_standby_tasks_of_streams(trace: Callable[..., Any]) -> None:
    given, new = written("assignment", "stream", "items")
    row = one_worker(trace(), "stream", b"", given, "consumer")
    (member,) = row.members
    assert (member.assigned, member.standby) == (tuple(sorted(new["items"])), tuple(sorted(new["standby"])))
    assert row.mode == "cooperative"


def test_a_group_of_another_kind_has_no_assignments(trace: Callable[..., Any]) -> None:
    """A schema registry's JSON."""
    row = one_worker(trace(), "v0", b'{"version":1}', b'{"error":0}', "sr")
    assert (row.protocol_type, row.members[0].assigned) == ("sr", None)


def request(api_key: int, **body: Any) -> GroupRequest:
    made = GroupRequest.of({"api_key": api_key, "status": "ok", "member_id": "app-1"})
    made.request = replace(empty_row(GroupRequestBody), **body)
    return made


def test_who_leaves_is_named_by_id_or_by_instance() -> None:
    """LeaveGroup v3 (KIP-345) names members; kafka-consumer-groups.sh removes static ones by instance alone. Older
    versions remove the member that sends them."""
    base = {"s-1": Member("s-1", group_instance_id="host-1"), "app-1": Member("app-1")}
    named = (
        LeavingMember("app-1", None, "the consumer is being closed"),
        LeavingMember("", "host-1", None),
        LeavingMember("", "host-9", None),
    )
    leaves = leaving_members(request(LEAVE_GROUP, leaving_members=named), base)
    assert leaves == {"app-1": "the consumer is being closed", "s-1": None, "": None}
    assert leaving_members(request(LEAVE_GROUP, leaving_members=()), base) == {"app-1": None}


def test_a_member_id_that_the_coordinator_gave_is_no_reason_to_join() -> None:
    """The Java client says "need to re-join with the given member-id: ..." (KIP-394, KIP-800)."""
    given = request(JOIN_GROUP, reason="need to re-join with the given member-id: app-1")
    assert join_reason(given) is None
    other = request(JOIN_GROUP, reason="need to revoke partitions and re-join")
    assert join_reason(other) == "need to revoke partitions and re-join"
    assert join_reason(request(JOIN_GROUP, reason="")) is None


def offer(name: str, topic: bytes) -> OfferedProtocol:
    """ConsumerProtocolSubscription version 0 of one topic, without user data."""
    return OfferedProtocol(name, struct.pack(f">hih{len(topic)}si", 0, 1, len(topic), topic, -1))


def test_the_subscription_is_that_of_the_assignor_that_was_chosen() -> None:
    """A member offers several, each with its own metadata; without a response the first counts. JoinGroup v0 has no
    rebalance timeout."""
    offers = (offer("range", b"of-range"), offer("sticky", b"of-sticky"))
    joins = request(JOIN_GROUP, protocols=offers, session_timeout_ms=9_000)
    for chosen, topics in (
        ("sticky", ("of-sticky",)),
        ("range", ("of-range",)),
        (None, ("of-range",)),
        ("other", None),
    ):
        joins.response.protocol_name = chosen
        member = Member("app-1", rebalance_timeout_ms=60_000)
        take_join(member, Generation("g", CLASSIC, 0), joins)
        assert member.topics == topics
        assert (member.session_timeout_ms, member.rebalance_timeout_ms) == (9_000, 60_000)
