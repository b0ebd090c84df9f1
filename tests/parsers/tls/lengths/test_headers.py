"""The kernel that reads record headers against a plain loop, whatever blocks, packets and gaps the bytes come in."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafkascope_parsers.tls.lengths.headers import HEAD, LOST, RECORD, most_records, read_records

LENGTHS = st.lists(st.tuples(st.integers(17, 300), st.sampled_from([23, 23, 23, 22, 21])), min_size=1, max_size=12)


@pytest.fixture(scope="session")
def read(streams_of):
    return lambda blocks: records_in(blocks, streams_of)


def records_in(blocks, streams_of):
    """The records of blocks of runs: length, packet of the first byte and packet of the last one."""
    heads, found = np.zeros(2, HEAD), []
    for runs in blocks:
        streams = streams_of(runs)
        chosen = np.arange(len(runs))
        out = np.empty(most_records(streams, chosen), RECORD)
        found += out[: read_records(streams, chosen, streams.direction, heads, out)].tolist()
    return [(row[2], row[4], row[6]) for row in found]


def expected(records, cuts):
    """The same by adding lengths up. cuts: where packets begin, packet 1 at 0."""
    found, at = [], 0
    for length, kind in records:
        end = at + 5 + length
        if kind == 23:
            packets = [sum(cut <= place for cut in cuts) + 1 for place in (at, end - 1)]
            found.append((length, *packets))
        at = end
    return found


@given(LENGTHS, st.lists(st.integers(1, 3000), max_size=8), st.data())
def test_records_lie_where_their_lengths_say(read, record, records, cuts, data):
    raw = b"".join(record(length, kind) for length, kind in records)
    cuts = sorted({cut for cut in cuts if cut < len(raw)})
    edges = [0, *cuts, len(raw)]
    packets = [(raw[a:b], n, n) for n, (a, b) in enumerate(pairwise(edges), 1)]
    split = data.draw(st.integers(0, len(packets)))
    blocks = [[(0, 0, part)] for part in (packets[:split], packets[split:]) if part]
    assert read(blocks) == expected(records, cuts)


def test_a_gap_within_a_body_hides_no_record(read, record):
    raw = record(200) + record(50)
    blocks = [[(0, 0, [(raw[:100], 1, 1)]), (0, 60, [(raw[160:], 2, 2)])]]
    assert read(blocks) == [(200, 1, 2), (50, 2, 2)]


@pytest.mark.parametrize("missing", [(2, 30), (150, 300)])
def test_behind_a_gap_with_a_header_the_next_record_shows_itself(read, record, missing):
    raw = record(200) + record(90) + record(50) + record(60)
    first, last = missing
    blocks = [[(0, 0, [(raw[:first], 1, 1)]), (0, last - first, [(raw[last:], 2, 2)])]]
    assert read(blocks) == [(LOST, 2, 2), *([(90, 2, 2)] if last < 200 else []), (50, 2, 2), (60, 2, 2)]


@given(st.binary(max_size=2000), st.integers(0, 2000))
def test_any_bytes_end_in_no_more_records_than_there_is_room_for(read, record, raw, cut):
    read([[(side, gap, [(raw[:cut], 1, 1)])] for side in (0, 1) for gap in (0, 7) if raw[:cut]])
    for start in (b"", record(40), b"\x17\x03\x03"):
        body = start + raw
        if body:
            assert all(length >= 17 or length == LOST for length, _, _ in read([[(0, 0, [(body, 1, 1)])]]))
