"""Groups of real clusters against what their brokers answered an administrator that is not in the capture."""

import gzip
import json
import pathlib
from itertools import chain, groupby
from operator import itemgetter
from typing import Any

import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from kafkascope_analyzer.dataset.dataset import Dataset
from kafkascope_analyzer.dataset.tables.events import EVENT_CLASSES, KINDS, RANKS
from kafkascope_analyzer.ingest.options import IngestOptions
from kafkascope_analyzer.ingest.run import ingest
from kafkascope_spark.stories.groups.stories import Group
from kafkascope_spark.stories.groups.table import RebalanceRow
from kafkascope_spark.stories.keyed import Origin
from kafkascope_spark.stories.stalls.stall import StallLimits
from kafkascope_spark.stories.stalls.table import Stall

GROUPS = pathlib.Path(__file__).parents[4] / "fixtures" / "groups"
RECORDED = sorted(GROUPS.glob("*.json.gz"))
Row = dict[str, Any]


def with_bytes(value: Any) -> Any:
    """JSON has no bytes: they are {"hex": ...}."""
    if isinstance(value, dict):
        if set(value) == {"hex"}:
            return bytes.fromhex(value["hex"])
        return {k: with_bytes(v) for k, v in value.items()}
    return [with_bytes(v) for v in value] if isinstance(value, list) else value


def load(path: pathlib.Path) -> Row:
    found: Row = json.loads(gzip.decompress(path.read_bytes()))
    found["events"] = [event(with_bytes(row)) for row in found["events"]]
    return found


def event(row: Row) -> Row:
    """The event with all fields of its struct."""
    kind = row["kind"]
    body: Row = {field.name: None for field in KINDS[kind]}
    body |= row[kind]
    for message, nested in (("request", "leaving_members"), ("response", "members")):
        if body.get(message) is not None:
            body[message] = {field.name: None for field in KINDS[kind].field(message).type} | body[message]
        if (body.get(message) or {}).get(nested):
            names = KINDS[kind].field(message).type.field(nested).type.value_type.names
            body[message][nested] = [{name: one.get(name) for name in names} for one in body[message][nested]]
    return {"client_instance_id": None} | row | {kind: body}


def event_of(row: Row) -> tuple[Any, Origin]:
    """The event as an object, and when and where it was."""
    kind = row["kind"]
    event = EVENT_CLASSES[kind].of(row[kind])
    return event, Origin(*(row.get(name) for name in Origin._fields))


def place(row: Row) -> tuple[Any, ...]:
    moment = (row["key"], EVENT_CLASSES[row["kind"]].KIND.section, row["ts_ns"], RANKS[row["kind"]])
    return (*moment, row["packet_no"], row["conn_id"], row["seq"])


def stories(recorded: Row) -> list[RebalanceRow]:
    return rebalances(recorded["events"], recorded["capture_ns"][1])


def rebalances(events: list[Row], last_ns: int) -> list[RebalanceRow]:
    """Of all groups, from their events in order."""
    found: list[RebalanceRow | Stall] = []
    for group_id, of_group in groupby(events, key=itemgetter("key")):
        group = Group(group_id, StallLimits(last_ns, 1_000_000_000))
        found += chain.from_iterable(group.take(*event_of(row)) for row in of_group)
        found += group.finish()
    return [row for row in found if isinstance(row, RebalanceRow)]


def has(row: RebalanceRow) -> dict[str, set[str]]:
    return {m.member_id: set(m.assigned or ()) for m in row.members}


@pytest.mark.parametrize("path", RECORDED, ids=[path.name.partition(".")[0] for path in RECORDED])
def test_each_membership_that_lasted_is_a_generation(path: pathlib.Path) -> None:
    """Members, partitions of each, and the group epoch where the protocol has one."""
    recorded = load(path)
    rows = stories(recorded)
    assert recorded["observed"]
    for seen in recorded["observed"]:
        mine = [r for r in rows if r.group_id == seen["group"] and set(has(r)) == set(seen["members"])]
        if seen["group_epoch"] is not None:
            mine = [r for r in mine if r.generation == seen["group_epoch"]]
        assert mine, seen
        same = [r for r in mine if all(p is None or has(r)[m] == set(p) for m, p in seen["members"].items())]
        assert same, (seen, [has(r) for r in mine])
        assert any((r.start_ns or 0) < seen["until_ns"] for r in same)


@pytest.mark.parametrize("path", RECORDED, ids=[path.name.partition(".")[0] for path in RECORDED])
def test_rows_hang_together(path: pathlib.Path) -> None:
    recorded = load(path)
    rows = stories(recorded)
    ids = {r[r["kind"]]["request_id"] for r in recorded["events"]}
    assert len({r.rebalance_id for r in rows}) == len(rows)
    for row in rows:
        assert set(row.evidence) <= ids
        assert row.trigger == "unknown" or row.trigger_why
        assert row.n_members == len(row.members)
        if row.end_ns is not None:
            assert row.start_ns is not None
            assert row.start_ns <= row.end_ns
            assert row.duration_ms == (row.end_ns - row.start_ns) // 1_000_000
        for member in row.members:
            assert not set(member.gained or ()) & set(member.lost or ())
            assert set(member.gained or ()) <= set(member.assigned or ())
        if row.group_protocol != "share":
            given = [item for member in row.members for item in member.assigned or ()]
            assert len(given) == len(set(given)), row.generation


def triggers(name: str, group: str) -> list[tuple[int | None, str, str | None]]:
    rows = [r for r in stories(load(GROUPS / f"{name}.json.gz")) if r.group_id.startswith(group)]
    clients = {m.member_id: m.client_id for r in rows for m in (*r.members, *r.departed)}
    return [(r.generation, r.trigger, clients.get(r.trigger_member or "")) for r in rows]


def test_what_made_each_generation_is_what_was_done() -> None:
    """By the lab's own events: who was started, stopped (SIGSTOP, SIGKILL) and closed, in this order."""
    assert triggers("kip848", "search-indexer") == [
        (2, "first", "loader-2"),
        (3, "member_joined", "worker-3"),
        (4, "member_joined", "worker-4"),
        (5, "member_evicted", "worker-3"),
        (6, "member_joined", "worker-3"),
        (7, "member_left", "worker-4"),
    ]
    assert triggers("rebalance_mixed", "search-indexer") == [
        (1, "first", "order-api-2"),
        (2, "member_joined", "worker-5"),
        (3, "partitions_revoked", "order-api-2"),
        (4, "member_evicted", "order-api-2"),
    ]
    assert triggers("rebalance_mixed", "fraud") == [
        (1, "first", "svc-b-3"),
        (2, "member_joined", "svc-a-6"),
        (3, "member_left", "svc-b-3"),
    ]
    assert triggers("coordinator_move", "reports")[-1] == (2, "coordinator_moved", "indexer-5")
    assert triggers("share", "search-indexer")[-2:] == [
        (5, "member_joined", "worker-4"),
        (6, "member_evicted", "worker-4"),
    ]
    assert [t for _, t, _ in triggers("streams", "mailer")] == ["first", "first", "member_joined", "member_left"]


def rows_of_capture(dataset: pathlib.Path) -> list[RebalanceRow]:
    """The rows of `rebalances` from the events of a dataset."""
    table = Dataset.open(dataset).read("events", filter=pc.field("key_kind") == "group")
    last_ns = pc.max(pq.read_table(dataset / "captures")["last_ns"]).as_py()
    events = [row | {"client_instance_id": None} for row in table.to_pylist()]
    rows = rebalances(sorted(events, key=place), last_ns)
    return sorted(rows, key=lambda r: (r.start_ns or 0, r.rebalance_id))


def test_from_packets_to_rows(tmp_path: pathlib.Path) -> None:
    """The capture through ingest and the state machines, against what the administrator saw and what the lab did."""
    ingest([GROUPS / "rebalance.pcap.zst"], tmp_path / "rebalance.kscope", IngestOptions(jobs=1))
    truth = json.loads((GROUPS / "rebalance.truth.json").read_text())
    rows = rows_of_capture(tmp_path / "rebalance.kscope")
    seen = [s for s in truth["state_changes"] if s["what"] == "group_members" and s["now"]]
    lasted = [s for s in seen if all(n["after_ns"] > s["seen_ns"] for n in seen if later(n, s))]
    assert len(lasted) >= 4
    for one in lasted:
        want = {m["member_id"]: set(m["assignment"]) for m in one["now"]}
        assert want in [has(r) for r in rows if r.group_id == one["group"]]
    dynamic, static = (
        [r for r in rows if r.group_id.startswith(name)] for name in ("fraud-rebala45", "reports-rebala82")
    )
    assert [r.trigger for r in dynamic] == [
        "first",
        "member_joined",
        "member_joined",
        "member_evicted",
        "member_joined",
        "member_left",
    ]
    paused = next(e["ts_ns"] for e in truth["events"] if e["kind"] == "client_paused")
    (evicted,) = dynamic[3].departed
    assert (evicted.client_id, evicted.how, evicted.session_timeout_ms) == ("loader-3", "evicted", 6_000)
    assert 0 <= paused - (evicted.last_seen_ns or 0) < 3_500_000_000
    assert [(r.generation, r.outcome, len(r.fenced)) for r in static][-1] == (2, "taken_over", 1)


def later(one: Row, other: Row) -> bool:
    return bool(one["group"] == other["group"] and one["seen_ns"] > other["seen_ns"])


def test_events_are_recorded_in_the_order_of_the_machines() -> None:
    for path in RECORDED:
        keys = [place(row) for row in load(path)["events"]]
        assert keys == sorted(keys)
