"""Events that come in packs come in the order in which Spark would have sorted them one by one."""

import pathlib
import random
from typing import Any

import pyarrow as pa
import pytest

from kafkascope_spark.rows import KINDS
from kafkascope_spark.storms import packs

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
        (packs.PACKED, pa.string()),
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
    return [row[name] for name in packs.SORT]


def names(rows: list[dict[str, Any]]) -> list[str]:
    return [row[KINDS[row["section"], row["rank"]]][0]["name"] for row in rows]


@pytest.mark.parametrize("merged_rows", [1, 100, 10_000])
@pytest.mark.parametrize("seed", range(4))
def test_what_was_packed_is_in_order(
    seed: int, merged_rows: int, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of stormy addresses most events come in packs, some as rows; packs lack the lists of kinds that they have not."""
    monkeypatch.setattr(packs, "PACK_ROWS", 60)
    monkeypatch.setattr(packs, "MERGED_ROWS", merged_rows)
    rows = events(seed)
    is_packed = [
        row["client_ip"] in STORMY and row["section"] == 1 and number % 9 > 0 for number, row in enumerate(rows)
    ]
    sent = [row for row, packed in zip(rows, is_packed, strict=True) if not packed]
    for rank in range(3):
        mine = [row for row, packed in zip(rows, is_packed, strict=True) if packed and row["rank"] == rank]
        schema = pa.schema([SCHEMA.field(name) for name in [*packs.SORT, KINDS[1, rank]]])
        given = [pa.RecordBatch.from_pylist(mine[at : at + 20], schema) for at in range(0, len(mine), 20)]
        named = [row for batch in packs.packer(tmp_path, given) for row in batch.to_pylist()]
        assert {row["client_ip"] for row in named} == set(STORMY)
        sent += [dict.fromkeys(SCHEMA.names) | row for row in named]
    assert sum(row[packs.PACKED] is not None for row in sent) == len(list(tmp_path.iterdir()))
    assert len(sent) < len(rows) // 2
    sent.sort(key=keys)
    for size in (7, 5_000):
        batches = [pa.RecordBatch.from_pylist(sent[at : at + size], SCHEMA) for at in range(0, len(sent), size)]
        told = [row for batch in packs.in_order(batches) for row in batch.to_pylist()]
        assert names(told) == names(sorted(rows, key=keys))


def test_batches_that_were_never_packed_pass() -> None:
    batch = pa.RecordBatch.from_pylist(events(1)[:9], SCHEMA)
    assert [b is batch for b in packs.in_order([batch])] == [True]
    plain = batch.drop_columns([packs.PACKED])
    assert [b is plain for b in packs.in_order([plain])] == [True]
