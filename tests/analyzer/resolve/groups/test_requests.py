"""Which requests form a group and which only keep a member in it: by hand, and rolled up against plain Python."""

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from tests.analyzer.resolve.by_hand import Row, requests

from kafkascope_analyzer.resolve.groups import requests as of_groups
from kafkascope_analyzer.resolve.groups.requests import MemberRollup, forming_requests, may_form, requests_of_groups
from kafkascope_parsers.schema import keys_by_name

KEYS = keys_by_name()
NO_IDS = pa.array([], pa.string())
LOOKUP = {"coordinator_type": "group", "coordinator_key": "k", "group_id": None}


def asked(api: str, **more: object) -> Row:
    return {"api_key": KEYS[api], "group_id": "g", "error_name": "NONE"} | more


def forming(*rows: Row, relevant: pa.Array = NO_IDS) -> list[tuple[str, str]]:
    found = forming_requests(requests_of_groups(requests(*rows)), relevant)
    return list(zip(found["request_id"].to_pylist(), found["group_id"].to_pylist(), strict=True))


@pytest.mark.parametrize(
    ("row", "group"),
    [
        (asked("JoinGroup"), "g"),
        (asked("SyncGroup", error_name="REBALANCE_IN_PROGRESS"), "g"),
        (asked("LeaveGroup", status="unanswered", error_name=None), "g"),
        (asked("JoinGroup", group_id=None), None),
        (asked("JoinGroup", status="orphan_response"), None),
        (asked("Heartbeat"), None),
        (asked("Heartbeat", error_name=None, status="unanswered"), None),
        (asked("Heartbeat", error_name="REBALANCE_IN_PROGRESS"), "g"),
        (asked("ConsumerGroupHeartbeat"), None),
        (asked("ConsumerGroupHeartbeat", error_name="FENCED_MEMBER_EPOCH"), "g"),
        (asked("OffsetCommit"), None),
        (asked("OffsetCommit", error_name="ILLEGAL_GENERATION"), "g"),
        (asked("TxnOffsetCommit", error_name="ILLEGAL_GENERATION"), "g"),
        (asked("OffsetCommit", error_name="OFFSET_METADATA_TOO_LARGE"), None),
        (asked("FindCoordinator", **LOOKUP), "k"),
        (asked("FindCoordinator", **LOOKUP | {"coordinator_type": "transaction"}), None),
        (asked("FindCoordinator", **LOOKUP, error_name="COORDINATOR_NOT_AVAILABLE"), "k"),
        (asked("FindCoordinator", **LOOKUP, status="unanswered"), None),
        (asked("FindCoordinator", **LOOKUP | {"coordinator_key": None}), None),
        (asked("Fetch"), None),
        (asked("OffsetFetch"), None),
    ],
)
def test_what_forms_a_group(row: Row, group: str | None) -> None:
    assert forming(row) == ([] if group is None else [("c0-0", group)])


def test_of_heartbeats_that_carry_the_protocol_the_relevant_ones_form_a_group() -> None:
    beats = [asked("ConsumerGroupHeartbeat"), asked("ShareGroupHeartbeat"), asked("ConsumerGroupHeartbeat")]
    assert forming(*beats, relevant=pa.array(["c0-1", "c0-9"])) == [("c0-1", "g")]


def test_what_may_form_a_group_whether_or_not_it_failed() -> None:
    names = ["JoinGroup", "SyncGroup", "LeaveGroup", "ConsumerGroupHeartbeat", "FindCoordinator", "Heartbeat", "Fetch"]
    others: list[Row] = [{"api_key": key} for key in (None, -(2**15), 2**15 - 1)]
    rows = requests(*map(asked, names), *others)
    assert may_form(rows).tolist() == [True] * 5 + [False] * 5


def test_a_packet_that_is_not_known_has_the_number_0() -> None:
    rows = requests_of_groups(requests(asked("JoinGroup"), asked("JoinGroup", request_packet_no=7)))
    assert rows["packet_no"].to_pylist() == [0, 7]


def beat(**more: object) -> Row:
    return asked("Heartbeat", member_id="m", generation_or_epoch=3, ts_ns=5) | more


@pytest.mark.parametrize(
    ("row", "keeps"),
    [
        (beat(), True),
        (beat(api_key=KEYS["OffsetCommit"]), True),
        (beat(api_key=KEYS["ShareGroupHeartbeat"]), True),
        (beat(generation_or_epoch=0), True),
        (beat(generation_or_epoch=2**31 - 1), True),
        (beat(generation_or_epoch=-1), False),
        (beat(generation_or_epoch=-(2**31)), False),
        (beat(generation_or_epoch=None), False),
        (beat(member_id=""), False),
        (beat(member_id=None), False),
        (beat(group_id=None), False),
        (beat(error_name="UNKNOWN_MEMBER_ID"), False),
        (beat(status="orphan_response"), False),
        (beat(api_key=KEYS["TxnOffsetCommit"]), False),
        (beat(api_key=KEYS["JoinGroup"]), False),
    ],
)
def test_what_keeps_a_member_in_its_group(row: Row, keeps: bool) -> None:
    rollup = MemberRollup()
    rollup.add(requests_of_groups(requests(row)))
    total = rollup.total()
    assert (total is not None) is keeps
    if total is not None:
        assert total["n"].to_pylist() == [1]


@pytest.mark.parametrize("most", [1, 1 << 16])
@pytest.mark.parametrize("seed", range(3))
def test_rolled_up_whatever_the_batches_and_appends(seed: int, most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(of_groups, "MERGED_ROWS", most)
    rng = np.random.default_rng(seed)
    rows = [
        beat(
            conn=int(rng.integers(0, 2)),
            number=number,
            member_id=str(rng.choice(["m", "n"])),
            generation_or_epoch=int(rng.integers(0, 2)),
            ts_ns=int(rng.integers(0, 60)),
            client_id=f"of {number}",
        )
        for number in range(120)
    ]
    rollup = MemberRollup()
    for begin in range(0, 120, 30):
        rollup.add(requests_of_groups(requests(*rows[begin : begin + 30])))
        if begin == 30:
            state, rollup = rollup.state(), MemberRollup()
            rollup.resume(state)
    members: dict[tuple[Any, ...], list[Row]] = {}
    for row in sorted(rows, key=lambda row: (row["ts_ns"], row["number"])):
        members.setdefault((f"c{row['conn']}", row["member_id"], row["generation_or_epoch"]), []).append(row)
    expected = {
        key: (mine[0]["ts_ns"], mine[0]["client_id"], mine[-1]["ts_ns"], len(mine)) for key, mine in members.items()
    }
    total = rollup.total()
    assert total is not None
    names = ("conn_id", "member_id", "generation_or_epoch", "ts_ns", "client_id", "last_ns", "n")
    found = {tuple(row[name] for name in names) for row in total.to_pylist()}
    assert found == {(*key, *values) for key, values in expected.items()}
    assert total.num_rows == len(expected)


def test_nothing_is_rolled_up_without_members() -> None:
    rollup = MemberRollup()
    rollup.resume(rollup.state())
    rollup.add(requests_of_groups(requests()))
    assert rollup.total() is None
