"""What the rows of a part name, against the rows themselves."""

from pathlib import Path

import pyarrow as pa

from kafkascope_analyzer.scan.named_in_parts import NAMED, named_in_part
from kafkascope_analyzer.scan.partitions import CODED_TEXT
from kafkascope_analyzer.scan.spill import Spill, read_spill


def errors(conns: list[int], topic_ids: list[str | None]) -> pa.Table:
    return pa.table({"conn": pa.array(conns, pa.int64()), "topic_id": pa.array(topic_ids, pa.string())})


def spilled(directory: Path) -> Spill:
    """Two parts: connections 0, 1 and 2 in the first one, 2 and 4 in the second."""
    spill = Spill(directory)
    spill.write("errors", errors([0, 1, 0], ["t", None, "t"]))
    spill.write("errors", errors([0], ["u"]))
    coded = pa.table({"conn": [2, 2], "topic_id": pa.array([None, "v"], CODED_TEXT)})
    spill.write("partitions.0.request", coded)
    spill.write("requests", pa.table({"conn": pa.array([1, 1], pa.int32())}))
    spill.write("facts.block_ends", pa.table({"n": [1]}))
    end_part(spill)
    spill.begin_part(1)
    spill.write("errors", errors([2, 4], ["t", "t"]))
    end_part(spill)
    return spill


def end_part(spill: Spill) -> None:
    spill.close()
    for rows in named_in_part(spill.directory, spill.part):
        spill.gather(NAMED, rows)
    spill.close()


def test_each_combination_that_a_table_names_is_noted_once(tmp_path: Path) -> None:
    spilled(tmp_path)
    found = [tuple(row[name] for name in ("table", "conn", "topic_id")) for row in rows_of(tmp_path, 0)]
    assert sorted(found, key=repr) == [
        ("errors", 0, "t"),
        ("errors", 0, "u"),
        ("errors", 1, None),
        ("partitions.0.request", 2, "v"),
        ("partitions.0.request", 2, None),
        ("requests", 1, None),
    ]
    assert {row["conn"] for row in rows_of(tmp_path, 1)} == {2, 4}


def rows_of(directory: Path, part: int) -> list[dict[str, object]]:
    return [row for rows in read_spill(directory, NAMED, part=part) for row in rows.to_pylist()]
