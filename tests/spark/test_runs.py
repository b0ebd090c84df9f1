"""A stretch of the same failure is taken at once: the rows are those of the machine that takes each event by itself."""

import random
from collections.abc import Iterable, Iterator
from typing import Any

import pyarrow as pa
import pytest

from kafkascope_spark import events, usage, wire
from kafkascope_spark.batches import event_rows, single_rows
from kafkascope_spark.client_stories import ClientStories, TableRow
from kafkascope_spark.recoveries.episode import Episode
from kafkascope_spark.rows import KINDS, USED

MS = 1_000_000
BATCH_ROWS = 4_096
N = 5_000
FAILED = {
    **dict.fromkeys(events.REQUEST),
    "conn_id": "c1",
    "node_id": 1,
    "api_key": wire.PRODUCE,
    "api_name": "Produce",
    "api_version": 9,
    "error_code": 6,
    "error_name": "NOT_LEADER_OR_FOLLOWER",
    "status": "ok",
}
ASKED = FAILED | {"api_key": wire.METADATA, "api_name": "Metadata", "error_code": 0, "error_name": None}
FAILURE = dict.fromkeys(events.FAILURE) | {
    "api_key": wire.PRODUCE,
    "error_name": "NOT_LEADER_OR_FOLLOWER",
    "topic": "t",
    "partition": 0,
}
TOUCH = dict.fromkeys(events.TOUCH) | {"conn_id": "c1", "api_key": wire.PRODUCE, "topic": "t", "partition": 0}
Rows = list[tuple[tuple[int, int, int], dict[str, Any]]]


def known() -> Rows:
    """Two connections of a client, and what they were used for."""
    rows: Rows = []
    for conn_id, node, close_ns in (("c1", 1, None), ("c2", 2, 9_000 * MS)):
        columns = [*events.CONNECTION, *events.CONNECTION_LATER, "near_idle_ms", "refused_after"]
        connection = {"conn_id": conn_id, "server_ip": f"10.0.0.{node}", "server_port": 9092, "node_id": node}
        connection |= {"first_ns": 0, "syn_ns": 0, "synack_ns": 1, "client_port": node, "protocol": "kafka"}
        connection |= {"close_kind": "open" if close_ns is None else "rst_server", "close_ns": close_ns}
        rows.append(((0, 0, 0), {"connection": {**dict.fromkeys(columns), **connection}}))
        columns = [*usage.KEYS, *usage.FIRST, *events.LAST, "n", "first_no", "last_ns"]
        used = {"conn_id": conn_id, "client_id": "app", "api_key": wire.PRODUCE, "api_name": "Produce", "bad": True}
        used |= {"api_version": 9, "is_replica": False, "ts_ns": 5, "last_ns": N * MS, "status": "ok"}
        used |= {"software_name": "apache-kafka-java"}
        rows.append(((0, 5, USED), {"usage": {**dict.fromkeys(columns), **used}}))
    return rows


def asked(name: str, ts_ns: int, latency_ns: int, like: dict[str, Any] = FAILED) -> Rows:
    """A request."""
    at = {"ts_ns": ts_ns, "request_last_ns": ts_ns, "response_ns": ts_ns + latency_ns}
    return [((1, ts_ns, 0), {"request": like | at | {"request_id": name, "response_last_ns": ts_ns + latency_ns}})]


def failed(name: str, ts_ns: int, latency_ns: int, told: str, **error: Any) -> Rows:
    """A request that fails; told: whether a `try` and a `hint` are told of it."""
    at = ts_ns + latency_ns
    rows = [*asked(name, ts_ns, latency_ns), ((1, at, 1), {"failure": FAILURE | {"request_id": name} | error})]
    touch = TOUCH | {"request_id": name, "vain": False}
    if "try" in told:
        rows.append(((1, ts_ns, 2), {"touch": touch | {"ts_ns": ts_ns, "answered": False, "hints": False}}))
    if "hint" in told:
        hint = {"ts_ns": at, "answered": True, "hints": True, "leader_id": 2}
        rows.append(((1, at, 2), {"touch": touch | hint}))
    return rows


def storm(told: str, noise: str, seed: int) -> Rows:
    """A request that fails again and again, at most ten in flight; and now and then something else."""
    chance, rows, ts_ns = random.Random(seed), known(), 10 * MS
    hasty = chance.random() < 0.7
    for i in range(N):
        ts_ns += chance.randrange(1, 3 * MS)
        latency = chance.randrange(1_000, 9 * MS if hasty else 900_000)
        rows += failed(f"c1-{i}", ts_ns, latency, told if chance.random() < 0.9 or noise != "told" else "")
        if noise == "metadata" and chance.random() < 0.001:
            rows += asked(f"c1-m{i}", ts_ns + 7, 2 * MS, ASKED)
        if noise == "success" and i in (2_500, 4_700):
            name = {
                "request_id": f"c2-s{i}",
                "conn_id": "c2",
                "ts_ns": ts_ns + 9,
                "answered": True,
                "hints": False,
                "vain": False,
            }
            rows.append(((1, ts_ns + 9, 2), {"touch": TOUCH | name}))
        if noise == "other" and chance.random() < 0.001:
            rows += failed(f"c1-o{i}", ts_ns + 9, MS, told, partition=1)
        if noise == "elsewhere" and chance.random() < 0.001:
            rows += asked(f"c2-{i}", ts_ns + 3, 700 * MS, FAILED | {"conn_id": "c2", "node_id": 2, "error_code": 0})
        if noise == "pause" and i % 2_000 == 1_999:
            ts_ns += 5_000 * MS
    return sorted(rows, key=lambda row: row[0])


def batches(rows: Rows) -> Iterator[pa.RecordBatch]:
    """As Spark gives them."""
    told = failed("x", 1, 1, "try hint")
    columns = {"client_ip": pa.string(), "section": pa.int32(), "ts_ns": pa.int64(), "rank": pa.int32()}
    for name in KINDS.values():
        found = pa.array([b[name] for _, b in [*rows, *told] if name in b] or [{"ts_ns": 1}]).type
        fields = [(f.name, pa.int64() if pa.types.is_null(f.type) else f.type) for f in found]
        columns[name] = pa.list_(pa.struct(fields))
    schema = pa.schema(list(columns.items()))
    for at in range(0, len(rows), BATCH_ROWS):
        dicts = []
        for (section, ts_ns, rank), body in rows[at : at + BATCH_ROWS]:
            key = {"client_ip": "10.0.0.9", "section": section, "ts_ns": ts_ns, "rank": rank}
            dicts.append(key | {KINDS[section, rank]: [body[KINDS[section, rank]]]})
        yield pa.RecordBatch.from_pylist(dicts, schema)


def stories(given: Iterable[Any]) -> list[TableRow]:
    """Of the rows, batch by batch."""
    machine = ClientStories((0, 60_000 * MS))
    told = [row for batch in given for row in machine.feed(batch)]
    return [*told, *machine.finish()]


NOISES = ("none", "metadata", "success", "other", "elsewhere", "told", "pause")


@pytest.mark.parametrize("noise", NOISES)
@pytest.mark.parametrize("told", ["", "hint", "try", "try hint"])
def test_taken_at_once_or_one_by_one_is_the_same(told: str, noise: str, monkeypatch: pytest.MonkeyPatch) -> None:
    taken: list[int] = []
    plain = Episode.errors_again

    def counted(episode: Episode, mark: Any, repeats: Any) -> None:
        taken.append(repeats.n_errors)
        plain(episode, mark, repeats)

    monkeypatch.setattr(Episode, "errors_again", counted)
    for seed in range(2):
        given = list(batches(storm(told, noise, seed)))
        expected = stories(map(single_rows, given))
        assert stories(map(event_rows, given)) == expected
        assert sum(row["n_errors"] for name, row in expected if name == "recoveries") >= N
    if noise in ("none", "success", "pause"):
        assert sum(taken) > N // 4, "much of the storms is taken at once"


def test_order_is_still_asserted() -> None:
    given = list(batches(storm("", "none", 1)))
    with pytest.raises(ValueError, match="out of order"):
        stories([event_rows(given[2]), event_rows(given[1])])
