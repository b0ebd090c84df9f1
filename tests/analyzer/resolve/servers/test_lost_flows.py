"""Lost connections of a host: against plain Python on connections by chance, and a recorded middlebox that forgot."""

import json
from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from kafkascope_analyzer.dataset.dataset import Dataset
from kafkascope_analyzer.dataset.uncovered import NOTHING_UNCOVERED, Uncovered
from kafkascope_analyzer.resolve.servers.lost_flows import lost_flow_rows

PIECES = Path(__file__).parents[4] / "fixtures" / "captures" / "pieces"
S, MS = 1_000_000_000, 1_000_000
END_NS = 60 * S
Row = dict[str, Any]


def connections(n_pairs: int) -> list[Row]:
    """Connections of some pairs that begin and end at times by chance, most of them near seconds 20 and 40."""
    rng = np.random.default_rng(1)
    rows = []
    for _ in range(3 * n_pairs):
        begun = int(rng.choice([2, 20, 40]) * S + rng.integers(0, 2500) * MS)
        ended = min(int(rng.choice([0, 20, 40, 58]) * S + rng.integers(0, 2500) * MS), END_NS)
        ended = max(ended, begun + int(rng.integers(0, 3)) * S)
        kind = str(rng.choice(["open", "open", "rst_client", "rst_server", "fin_client"]))
        idle_ms = int(rng.integers(0, 40))
        rows.append(
            {
                "pair": int(rng.integers(0, n_pairs)),
                "first_ns": begun,
                "syn_ns": begun,
                "synack_ns": begun + MS if rng.random() < 0.9 else None,
                "last_ns": ended,
                "close_kind": kind,
                "close_ns": None if kind == "open" else ended,
                "idle_before_close_ms": None if kind == "open" else idle_ms,
                "payload_ns": begun + MS if rng.random() < 0.9 else np.iinfo(np.int64).max,
            }
        )
    return rows


def found(rows: list[Row], uncovered: Uncovered = NOTHING_UNCOVERED) -> list[tuple[int, ...]]:
    names = ("first_ns", "syn_ns", "synack_ns", "last_ns", "close_kind", "close_ns", "idle_before_close_ms")
    types = {"close_kind": pa.string()}
    columns = {name: pa.array([row[name] for row in rows], types.get(name, pa.int64())) for name in names}
    pair = np.array([row["pair"] for row in rows], np.int64)
    hosts: Any = SimpleNamespace(
        connections=pa.table(columns | {"conn_id": pa.array([str(n) for n in range(len(rows))])}),
        pair=pair,
        server=pair,
        host=np.zeros(len(rows), np.int64),
        hosts=["10.0.0.21"],
        keys=pa.array([str(number) for number in range(1000)]),
        first_row={},
    )
    payload = np.array([row["payload_ns"] for row in rows], np.int64)
    table = lost_flow_rows(hosts, payload, (0, END_NS), uncovered)
    columns_of = ("key", "first_ns", "last_ns", "before_ns", "n_connections", "n_reset")
    return sorted(tuple(int(row[name]) for name in columns_of) for row in table.to_pylist())


def one_by_one(rows: list[Row]) -> Iterator[tuple[int, ...]]:
    """The same in plain Python, connection by connection."""
    for row in rows:
        row["end_ns"] = row["last_ns"] - (row["idle_before_close_ms"] or 0) * MS
        row["in_use"] = row["payload_ns"] < 2**62 and row["end_ns"] - row["first_ns"] >= S
        is_abandoned = row["close_kind"] == "open" and row["last_ns"] + 5 * S <= END_NS
        row["lost"] = row["in_use"] and (is_abandoned or row["close_kind"].startswith("rst"))
    of_pairs: dict[int, list[tuple[int, Row]]] = defaultdict(list)
    for row in filter(lambda row: row["lost"], rows):
        mine = [other for other in rows if other["pair"] == row["pair"]]
        since = max(row["last_ns"] - S, row["first_ns"] + S)
        later = [other for other in mine if other["syn_ns"] >= since]
        following = min(later, key=lambda other: other["syn_ns"], default=None)
        if following is None or following["synack_ns"] is None or following["syn_ns"] > row["last_ns"] + 10 * S:
            continue
        syn = following["syn_ns"]
        used = [other for other in mine if other["in_use"]]
        goes_on = any(other["first_ns"] < syn and other["end_ns"] >= syn + S for other in used)
        closed = any(other["close_kind"] == "fin_client" and syn - S <= other["close_ns"] < syn + S for other in used)
        if not goes_on and not closed:
            of_pairs[row["pair"]].append((syn, row))
    for pair, lost in of_pairs.items():
        groups: list[list[tuple[int, Row]]] = []
        for syn, row in sorted(lost, key=lambda each: each[0]):
            if not groups or syn - groups[-1][-1][0] > 2 * S:
                groups.append([])
            groups[-1].append((syn, row))
        for group in groups:
            resets = [row["last_ns"] for _, row in group if row["close_kind"] != "open"]
            if len(resets) == len(group) and max(resets) - min(resets) < 50 * MS:
                continue
            signs = [*(syn for syn, _ in group), *resets]
            before = max(row["last_ns"] if row["close_kind"] == "open" else row["end_ns"] for _, row in group)
            yield pair, min(signs), max(signs), min(before, *signs), len(group), len(resets)


def test_connections_by_chance() -> None:
    rows = connections(300)
    expected = sorted(one_by_one(rows))
    assert found(rows) == expected
    assert len(expected) > 20


def lost_pair(*ends: tuple[str, float]) -> list[Row]:
    """Connections of one pair from second 2 on with their ends, and one that began in second 20."""
    rows = []
    for kind, ended in (*ends, ("fin_client", 59.0)):
        begun = 20 * S if ended == 59.0 else 2 * S
        close = None if kind == "open" else int(ended * S)
        rows.append(
            {
                "pair": 0,
                "first_ns": begun,
                "syn_ns": begun,
                "synack_ns": begun,
                "last_ns": int(ended * S),
                "close_kind": kind,
                "close_ns": close,
                "idle_before_close_ms": None if close is None else 1,
                "payload_ns": begun,
            }
        )
    return rows


@pytest.mark.parametrize(
    ("ends", "n"),
    [
        ((("open", 19.5), ("rst_client", 20.1)), 1),
        ((("open", 19.5),), 1),
        ((("rst_client", 19.5), ("rst_client", 19.501)), 0),
        ((("rst_client", 19.5), ("rst_client", 19.9)), 1),
        ((("open", 19.5), ("fin_client", 19.6)), 0),
        ((("open", 19.5), ("open", 40.0)), 0),
        ((("open", 5.0),), 0),
    ],
    ids=["lost", "abandoned", "killed", "reset one by one", "closed", "another goes on", "long before"],
)
def test_what_is_lost(ends: tuple[tuple[str, float], ...], n: int) -> None:
    assert len(found(lost_pair(*ends))) == n


def test_nothing_is_known_of_a_time_that_no_file_covers() -> None:
    rows = lost_pair(("open", 19.5))
    assert not found(rows, Uncovered(((19 * S + 500 * MS, 19 * S + 900 * MS),)))


def test_a_middlebox_that_forgot_all_connections_of_a_host(ingested: Callable[..., Path]) -> None:
    """Recorded: another host, whose connections went on, has no such row."""
    (event,) = json.loads((PIECES / "flows_reset.truth.json").read_text())["events"]
    rows = Dataset.open(ingested(PIECES / "flows_reset.pcap.zst")).read("events").to_pylist()
    lost = [row["lost_flows"] for row in rows if row["kind"] == "lost_flows"]
    assert len(lost) == 3
    assert {row["host"] for row in lost} == {event["detail"]["ip"]}
    assert all(row["before_ns"] - S < event["ts_ns"] < row["first_ns"] < event["ts_ns"] + S for row in lost)
    assert sum(row["n_reset"] for row in lost) == 2
