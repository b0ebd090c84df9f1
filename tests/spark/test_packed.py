"""Events that come in packs come in the order in which Spark would have sorted them one by one."""

import pathlib
import random
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from kafkascope_spark import packed
from kafkascope_spark.rows import KINDS

STORMY = ("10.0.0.2", "10.0.0.4")
SCHEMA = pa.schema(
    [
        ("client_ip", pa.string()),
        ("section", pa.int32()),
        ("ts_ns", pa.int64()),
        ("rank", pa.int32()),
        ("packet_no", pa.int64()),
        ("tie", pa.string()),
        *((name, pa.list_(pa.struct([("name", pa.string())]))) for name in KINDS.values()),
        (packed.PACKED, pa.string()),
    ]
)


def events(seed: int) -> list[dict[str, Any]]:
    """Events of some addresses, many of them at one instant; each knows its own name."""
    chance, rows = random.Random(seed), []
    for number in range(1_500):
        section, rank = chance.choice([(0, 0), *[(1, rank) for rank in range(3)] * 20])
        row: dict[str, Any] = {
            "client_ip": chance.choice(["10.0.0.1", *STORMY * 5, "10.0.0.3"]),
            "section": section,
            "ts_ns": chance.randrange(50) if seed % 2 else number // 2,
            "rank": rank,
            "packet_no": chance.randrange(3),
            "tie": f"{chance.randrange(1_000_000):x}-{number}",
        }
        rows.append(dict.fromkeys(SCHEMA.names) | row | {KINDS[section, rank]: [{"name": f"event {number}"}]})
    return rows


def keys(row: dict[str, Any]) -> list[Any]:
    return [row[name] for name in packed.SORT]


def names(rows: list[dict[str, Any]]) -> list[str]:
    return [row[KINDS[row["section"], row["rank"]]][0]["name"] for row in rows]


@pytest.mark.parametrize("merged_rows", [1, 100, 10_000])
@pytest.mark.parametrize("seed", range(4))
def test_what_was_packed_is_in_order(
    seed: int, merged_rows: int, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(packed, "LEAST_ROWS", 20)
    monkeypatch.setattr(packed, "MERGED_ROWS", merged_rows)
    rows = events(seed)
    given = [pa.RecordBatch.from_pylist(rows[at : at + 200], SCHEMA) for at in range(0, len(rows), 200)]
    sent = [row for batch in packed.packer(str(tmp_path), STORMY)(given) for row in batch.to_pylist()]
    sent.sort(key=keys)
    packs = [row for row in sent if row[packed.PACKED] is not None]
    assert {row["client_ip"] for row in packs} == set(STORMY)
    assert len(packs) == len(list(tmp_path.iterdir()))
    assert len(sent) < len(rows) // 3
    for size in (7, 5_000):
        batches = [pa.RecordBatch.from_pylist(sent[at : at + size], SCHEMA) for at in range(0, len(sent), size)]
        told = [row for batch in packed.in_order(batches) for row in batch.to_pylist()]
        assert names(told) == names(sorted(rows, key=keys))


def test_batches_that_were_never_packed_pass() -> None:
    batch = pa.RecordBatch.from_pylist(events(1)[:9], SCHEMA)
    assert [b is batch for b in packed.in_order([batch])] == [True]
    plain = batch.drop_columns([packed.PACKED])
    assert [b is plain for b in packed.in_order([plain])] == [True]


def test_addresses_with_many_errors_are_named(tmp_path: pathlib.Path) -> None:
    assert packed.storming(tmp_path, 1) == ()
    (tmp_path / "errors").mkdir()
    assert packed.storming(tmp_path, 1) == ()
    for number, addresses in enumerate((["a", "a", "b"], ["c", "b", "a", None, None, None])):
        pq.write_table(pa.table({"client_ip": addresses}), tmp_path / "errors" / f"part-{number}.parquet")
    assert packed.storming(tmp_path, 3) == ("a",)
    assert packed.storming(tmp_path, 2) == ("a", "b")
