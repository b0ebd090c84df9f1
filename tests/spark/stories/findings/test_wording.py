"""The formatters of sentences, each on its ordinary values and on the edges between its forms."""

import datetime as dt

import pytest

from kafkascope_spark.stories.findings import wording

S = 1_000_000_000


@pytest.mark.parametrize(
    "at",
    [dt.datetime(2026, 3, 1, 23, 59, 59, 999_000, dt.UTC), dt.datetime(1970, 1, 1, 0, 0, 0, 0, dt.UTC)],
)
def test_clock_is_the_time_of_day_in_utc(at: dt.datetime) -> None:
    ns = int(at.timestamp()) * S + at.microsecond * 1_000 + 999
    assert wording.clock(ns) == at.strftime("%H:%M:%S.") + f"{at.microsecond // 1_000:03} UTC"


@pytest.mark.parametrize(
    ("ns", "text"),
    [
        (0, "0 µs"),
        (320_400_000, "320 ms"),
        (7_853_000_000, "7.85 s"),
        (15_660_000_000, "15.7 s"),
        (120 * S - 1, "1 min 59 s"),
        (725 * S, "12 min 5 s"),
        (3_600 * S, "1 h 0 min"),
    ],
)
def test_duration(ns: int, text: str) -> None:
    assert wording.duration(ns) == text


@pytest.mark.parametrize(("part", "whole", "text"), [(1, 4, "0.3"), (1, 3, "0.3"), (0, 7, "0.0"), (2, 1, "2.0")])
def test_ratio_rounds_halves_up(part: int, whole: int, text: str) -> None:
    assert wording.ratio(part, whole) == text


@pytest.mark.parametrize(("part", "whole", "text"), [(2, 3, "67 %"), (1, 8, "13 %"), (3, 3, "100 %")])
def test_percent(part: int, whole: int, text: str) -> None:
    assert wording.percent(part, whole) == text


@pytest.mark.parametrize(("n", "text"), [(1, "once"), (0, "0 times"), (2, "2 times")])
def test_times(n: int, text: str) -> None:
    assert wording.times(n) == text


def test_counted() -> None:
    assert wording.counted(1, "client") == "1 client"
    assert wording.counted(0, "client") == "0 clients"
    assert wording.counted(2, "batch", "batches") == "2 batches"


@pytest.mark.parametrize(
    ("client_id", "client_ip", "text"),
    [
        ("app", "10.0.0.9", "app (10.0.0.9)"),
        ("", "10.0.0.9", "10.0.0.9"),
        (None, "10.0.0.9", "10.0.0.9"),
        ("app", None, "app"),
        (None, None, "A client"),
    ],
)
def test_client(client_id: str | None, client_ip: str | None, text: str) -> None:
    assert wording.client(client_id, client_ip) == text


@pytest.mark.parametrize(
    ("client_id", "n", "text"),
    [("app", 1, "app (10.0.0.9)"), ("app", 3, "app (3 clients)"), (None, 2, "? (2 clients)")],
)
def test_clients_with_id(client_id: str | None, n: int, text: str) -> None:
    assert wording.clients_with_id(client_id, n, "10.0.0.9") == text


def test_node_and_broker() -> None:
    assert wording.node(0, "10.0.0.1:9092") == "node 0 (10.0.0.1:9092)"
    assert wording.node(None, "10.0.0.1:9092") == "10.0.0.1:9092"
    assert wording.broker(0) == "broker 0"
    assert wording.broker(None) is None


@pytest.mark.parametrize(
    ("names", "text"),
    [([], ""), (["a"], "a"), (["a", "b", "c"], "a, b, c"), (["a", "b", "c", "d", "e"], "a, b, c and 2 more")],
)
def test_listed(names: list[str], text: str) -> None:
    assert wording.listed(names) == text


@pytest.mark.parametrize(
    ("n", "text"),
    [(1_023, "1023 bytes"), (1_024, "1.0 KiB"), (3_482, "3.4 KiB"), (1 << 20, "1.0 MiB"), (1_258_291, "1.2 MiB")],
)
def test_size(n: int, text: str) -> None:
    assert wording.size(n) == text


def test_date() -> None:
    assert wording.date(1_795_739_205 * 10**9) == "2026-11-27"
