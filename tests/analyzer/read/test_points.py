"""Which files are of which capture point, clocks from made-up segments, copies, and times from point to point."""

from pathlib import Path

import numpy as np
import pytest

from kafkascope_analyzer.read.place import place_of
from kafkascope_analyzer.read.points.assignment import capture_points
from kafkascope_analyzer.read.points.clock import CONSTANT, DRIFT, REFERENCE, STEPS, PointClock
from kafkascope_analyzer.read.points.copies import FlowTable, Rows, find_copies, find_covered
from kafkascope_analyzer.read.points.network_times import NetworkTimes
from kafkascope_analyzer.read.points.offsets import estimate_clocks
from kafkascope_analyzer.read.points.samples import Sample
from kafkascope_parsers.errors import UsageError

CAPTURE = Path(__file__).parents[3] / "fixtures" / "points" / "client" / "leader_move.pcap.zst"
DAY_NS = 86_400 * 10**9
NOON_NS = 1_790_000_000 * 10**9


def placed(folder: Path, *names: str):
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(CAPTURE.read_bytes())
    return [place_of(folder / name) for name in names]


def test_directories_are_points_by_the_part_of_their_path_that_differs(tmp_path):
    files = placed(tmp_path, "a/x/1.pcap.zst", "b/x/1.pcap.zst", "c/1.pcap.zst")
    assert [point.name for point in capture_points(files, "auto").points] == ["a/x", "b/x", f"{tmp_path.name}/c"]
    assert [point.name for point in capture_points(files[1:], "auto").points] == ["x", "c"]


@pytest.mark.parametrize(
    ("lines", "problem"),
    [
        ("a: a/*\nb: b/*\nc: c/*\n", "capture point c: none of the captures matches c/*"),
        ("a: a/*\nb: */1.pcap.zst\n", "belongs to two capture points, a and b"),
        ("a: a/*\n", "b/1.pcap.zst belongs to no capture point"),
        ("a: */*\n", "names one capture point"),
        ("a a/*\n", "line 1: expected `point: glob`"),
        ("# nothing\n", "names no capture point"),
    ],
)
def test_what_is_wrong_with_a_file_of_points_is_one_sentence(tmp_path, lines, problem):
    files = placed(tmp_path, "a/1.pcap.zst", "b/1.pcap.zst")
    (tmp_path / "points").write_text(lines)
    with pytest.raises(UsageError) as raised:
        capture_points(files, str(tmp_path / "points"))
    assert problem in str(raised.value)
    assert "\n" not in str(raised.value)


def test_one_directory_is_not_two_points_and_a_pipe_is_none(tmp_path):
    with pytest.raises(UsageError, match="all captures are in one directory"):
        capture_points(placed(tmp_path, "a/1.pcap.zst"), "auto")
    with pytest.raises(UsageError, match="reads every capture twice"):
        capture_points([place_of("-")], "auto")


def views(ahead_of, n=4000, seed=1, flows=20):
    """Samples of two points between which segments take 100 us and more each way, and whose clocks differ by
    ahead_of(true time)."""
    rng = np.random.default_rng(seed)
    sent = NOON_NS + np.sort(rng.integers(0, DAY_NS, n))
    flow = rng.integers(0, flows, n).astype(np.uint64)
    direction = rng.integers(0, 2, n).astype(np.uint8)
    goes_there = (direction == 0) ^ (flow % 2 == 0)  # half of the connections are opened from the other side
    arrived = sent + 100_000 + rng.exponential(50_000, n).astype(np.int64)
    key = np.arange(n, dtype=np.uint64)
    first = np.where(goes_there, sent, arrived)
    second = np.where(goes_there, arrived, sent)
    return Sample(key, flow, direction, first), Sample(key, flow, direction, second + ahead_of(second))


@pytest.mark.parametrize(
    ("ahead_of", "kind", "limit_ns"),
    [
        (lambda ts: np.full(len(ts), 7_200_000_000_000), CONSTANT, 110_000),
        (lambda ts: -5_000_000 + (ts - NOON_NS) // 50_000, DRIFT, 110_000),
        (lambda ts: np.where(ts < NOON_NS + DAY_NS // 3, 0, 2_000_000_000), STEPS, 1_600_000_000),
    ],
)
def test_the_clock_is_found_as_uncertain_as_it_says(ahead_of, kind, limit_ns):
    samples = views(ahead_of)
    clock = estimate_clocks(["a", "b"], samples)[1]
    assert (clock.kind, clock.reference) == (kind, "a")
    assert clock.uncertainty_ns < limit_ns
    times = NOON_NS + np.linspace(0.05, 0.95, 50) * DAY_NS
    times = times.astype(np.int64)
    wrong = np.abs(clock.ahead(times + ahead_of(times)) - ahead_of(times))
    assert wrong.max() <= clock.uncertainty_ns + 1000
    if kind == STEPS:  # between two stretches of time nobody knows; elsewhere it is exact
        assert np.quantile(wrong, 0.9) < 1_000_000


def test_points_are_tied_over_others_and_what_shares_nothing_is_not():
    a, b = views(lambda ts: np.full(len(ts), 1_000_000_000), seed=1)
    b2, c = views(lambda ts: np.full(len(ts), -3_000_000_000), seed=2)
    shift = np.uint64(1 << 40)
    # b's clock is 1 s ahead of a's, c's 3 s behind b's; both pairs share other connections
    c = Sample(c.key + shift, c.flow + shift, c.direction, c.ts_ns)
    b2 = Sample(b2.key + shift, b2.flow + shift, b2.direction, b2.ts_ns)
    both = Sample(*(np.concatenate(columns) for columns in zip(b, b2, strict=True)))
    alone = Sample(a.key + 2 * shift, a.flow, a.direction, a.ts_ns)
    clocks = estimate_clocks(["a", "b", "c", "d"], [a, both, c, alone])
    assert [clock.reference for clock in clocks] == ["a", "a", "a", "d"]
    assert [clock.kind for clock in clocks] == [REFERENCE, CONSTANT, CONSTANT, REFERENCE]
    assert abs(clocks[2].ahead_ns[0] + 2_000_000_000) <= clocks[2].uncertainty_ns < 300_000
    assert clocks[2].uncertainty_ns > clocks[1].uncertainty_ns


def test_nanoseconds_stay_exact_however_large_times_are():
    clock = PointClock("b", "a", DRIFT, (NOON_NS, NOON_NS + DAY_NS), (7, 7 + 8640), 0)
    times = NOON_NS + np.array([0, DAY_NS // 2, DAY_NS])
    assert clock.corrected(times).tolist() == [NOON_NS - 7, NOON_NS + DAY_NS // 2 - 4327, NOON_NS + DAY_NS - 8647]


HOME = np.zeros(4, np.int16)


def segments(*rows: tuple[int, int, int, int]) -> Rows:
    """Rows of one direction: point, time in ms, sequence number, length. Those with the same number and length look the
    same."""
    point, ms, seq, length = (np.array(column, np.int64) for column in zip(*rows, strict=True))
    n = len(rows)
    ns = ms * 1_000_000
    return Rows(
        (seq * 100_000 + length).astype(np.uint64),
        np.full(n, 9, np.uint64),
        np.zeros(n, np.uint8),
        point.astype(np.int16),
        ns,
        ns,
        seq.astype(np.uint32),
        np.full(n, 16, np.uint16),
        length.astype(np.int32),
        np.full(n, -1, np.int16),
        np.zeros(n, np.int32),
        np.arange(n),
    )


def test_a_retransmission_is_the_copy_of_the_retransmission():
    rows = segments((0, 0, 1, 10), (0, 200, 1, 10), (1, 201, 1, 10), (0, 300, 11, 10), (1, 301, 11, 10))
    assert find_copies(rows, np.array([2, 4]), HOME[:2]).tolist() == [1, 3]


def test_each_segment_has_one_copy_at_a_point():
    rows = segments((0, 0, 1, 10), (1, 1, 1, 10), (1, 2, 1, 10), (2, 3, 1, 10))
    assert find_copies(rows, np.array([1, 2, 3]), HOME[:3]).tolist() == [0, -1, 0]


def test_the_home_comes_first_whatever_its_number():
    rows = segments((0, 5, 1, 10), (2, 0, 1, 10), (1, 1, 1, 10))
    home = np.full(3, 2, np.int16)
    assert find_copies(rows, np.array([0, 2]), home).tolist() == [1, 1]


def test_the_home_is_the_first_point_that_sees_the_connection_when_it_begins():
    rows = segments((2, 0, 1, 0), (1, 3, 2, 0), (0, 4, 3, 0))
    table = FlowTable()
    table.find(rows.only(slice(0, 1)))
    table.settle_homes(0, rows.only(slice(0, 2)))
    table.find(rows)
    table.settle_homes(1, rows)
    assert (table.n, int(table.rows["home"][0])) == (1, 1)


def test_views_half_a_second_apart_are_no_copies():
    rows = segments((0, 0, 1, 10), (1, 501, 1, 10), (1, 499, 1, 10))
    assert find_copies(rows, np.array([1]), HOME[:1]).tolist() == [-1]
    assert find_copies(rows, np.array([2]), HOME[:1]).tolist() == [0]


def test_payload_in_other_pieces_is_covered_but_for_what_the_first_point_lacks():
    # the sender's card divides 3000 bytes; the first point lacks the bytes from 3001 to 3100
    rows = segments(
        (0, 0, 1, 3000), (0, 2, 3101, 500), (1, 1, 1, 1448), (1, 1, 1449, 1448), (1, 1, 2897, 104), (1, 2, 3001, 100)
    )
    rows = rows._replace(seq=rows.seq + np.uint32((1 << 32) - 1000))  # over the wrap
    assert find_covered(rows, np.array([2, 3, 4, 5]), HOME[:4]).tolist() == [True, True, True, False]


def test_a_retransmission_that_the_first_point_lacks_is_none_of_its_segments():
    rows = segments((0, 0, 1, 10), (1, 1, 1, 10), (1, 201, 1, 10))
    assert find_copies(rows, np.array([1, 2]), HOME[:2]).tolist() == [0, -1]
    assert find_covered(rows, np.array([2]), HOME[:1]).tolist() == [False]


def test_reused_ports_are_another_connection():
    rows = segments((0, 0, 1, 0), (1, 1, 1, 0), (0, 900, 77, 0), (1, 901, 77, 0))
    syns = rows._replace(flags=np.full(4, 2, np.uint16))
    table = FlowTable()
    assert table.find(syns).tolist() == [0, 0, 1, 1]
    assert table.rows["first_ns"].tolist() == [0, 900_000_000]
    many = segments(*((0, i, i, 1) for i in range(10_000)))
    many = many._replace(flow=np.arange(10_000, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15) + np.uint64(5))
    assert table.find(many).tolist() == list(range(2, 10_002))


@pytest.mark.parametrize("first_is_client_side", [True, False])
def test_times_are_those_of_numpy_within_a_class(first_is_client_side):
    rng = np.random.default_rng(3)
    up, down = rng.lognormal(12, 1, 5001).astype(np.int64), rng.lognormal(10, 2, 3001).astype(np.int64)
    table = FlowTable()
    both = segments((0, 0, 1, 1), (1, 1, 1, 1))
    connection = table.find(both)[0]
    times = NetworkTimes()
    for direction, taken in ((0, up), (1, -down)):
        distance = taken if first_is_client_side else -taken
        for part in np.array_split(distance, 7):
            n = len(part)
            times.take(np.full(n, connection), np.full(n, 1), np.full(n, direction), part)
    (row,) = times.table(table.rows, ["a", "b"]).to_pylist()
    assert row["capture_points"] == (["a", "b"] if first_is_client_side else ["b", "a"])
    assert row["n_both"] == 8002
    for name, taken in (("up", up), ("down", down)):
        assert row[f"{name}_p50_ns"] == pytest.approx(np.quantile(taken, 0.5), rel=0.04)
        assert row[f"{name}_p99_ns"] == pytest.approx(np.quantile(taken, 0.99), rel=0.05)
