"""Stretches that the ends of blocks cut are one row, wherever the blocks end."""

from typing import Any

import pyarrow as pa
import pytest

from kafkascope_analyzer.resolve.tables.undecoded_ranges import SPILL_SCHEMA, OpenStretches

Stretch = tuple[int, int, int, int, str]
"""Connection, side, offset in the stream, bytes, reason."""


def rows(*stretches: Stretch) -> pa.Table:
    names = ("conn", "side", "stream_offset", "bytes", "reason")
    listed: list[dict[str, Any]] = [dict(zip(names, stretch, strict=True)) for stretch in stretches]
    return pa.Table.from_pylist(listed, SPILL_SCHEMA)


def joined(*batches: list[Stretch]) -> list[Stretch]:
    """What comes of them, by direction and offset."""
    open_ones = OpenStretches()
    parts = [open_ones.take(rows(*batch)) for batch in batches]
    whole = pa.concat_tables([*parts, open_ones.rest()]).to_pylist()
    return sorted((row["conn"], row["side"], row["stream_offset"], row["bytes"], row["reason"]) for row in whole)


def test_a_stretch_in_three_blocks_is_one() -> None:
    assert joined([(0, 0, 100, 10, "gap")], [(0, 0, 110, 5, "gap")], [(0, 0, 115, 1, "gap")]) == [
        (0, 0, 100, 16, "gap")
    ]


@pytest.mark.parametrize(
    "second",
    [
        (0, 0, 111, 5, "gap"),  # a byte between them was decoded
        (0, 0, 110, 5, "not_kafka"),
        (0, 1, 110, 5, "gap"),
        (1, 0, 110, 5, "gap"),
    ],
)
def test_what_does_not_go_on_is_a_stretch_of_its_own(second: Stretch) -> None:
    first: Stretch = (0, 0, 100, 10, "gap")
    assert joined([first], [second]) == joined([first, second]) == [first, second]


def test_tokens_are_one_row_each() -> None:
    tokens: list[Stretch] = [(0, 0, 0, 30, "sasl_token"), (0, 0, 30, 30, "sasl_token")]
    assert joined(tokens) == joined(tokens[:1], tokens[1:]) == tokens


def test_directions_that_alternate_go_on_apart() -> None:
    batches: list[list[Stretch]] = [
        [(0, 0, 0, 8, "gap"), (0, 1, 50, 4, "not_kafka")],
        [(0, 1, 54, 6, "not_kafka"), (0, 0, 8, 2, "gap")],
    ]
    assert joined(*batches) == [(0, 0, 0, 10, "gap"), (0, 1, 50, 10, "not_kafka")]
