from datetime import UTC, datetime

import pytest

from kafkascope_analyzer.cut.when import parse_moment, parse_packets
from kafkascope_parsers.errors import UsageError

NOON = int(datetime(2026, 11, 21, 12, 0, 7, tzinfo=UTC).timestamp()) * 10**9


@pytest.mark.parametrize(
    ("text", "ns"),
    [
        ("2026-11-21T12:00:07Z", NOON),
        ("2026-11-21 12:00:07", NOON),
        ("2026-11-21 12:00:07.123 UTC", NOON + 123_000_000),
        ("2026-11-21T12:00:07.123456789Z", NOON + 123_456_789),
        ("2026-11-21T14:00:07.5+02:00", NOON + 500_000_000),
        ("2026-11-21T04:00:07.5-0800", NOON + 500_000_000),
        ("2026-11-21T12:00", NOON - 7 * 10**9),
    ],
)
def test_whole_times_keep_their_nanoseconds(text: str, ns: int) -> None:
    moment = parse_moment(text)
    assert (moment.since_epoch(55), moment.relative) == (ns, False)


@pytest.mark.parametrize(
    ("text", "ns"),
    [
        ("+12.5s", 12_500_000_000),
        ("+12.5", 12_500_000_000),
        ("+850ms", 850_000_000),
        ("+1.5m", 90 * 10**9),
        ("+2h", 7200 * 10**9),
        ("+7us", 7000),
        ("+9ns", 9),
        ("+0.000000001s", 1),
    ],
)
def test_offsets_count_from_the_first_packet(text: str, ns: int) -> None:
    assert parse_moment(text).since_epoch(1000) == ns + 1000


@pytest.mark.parametrize(
    "text", ["", "noon", "12:00", "+", "+-1s", "-3s", "2026-13-41T00:00:00Z", "+1d", "2026-11-21T25:00"]
)
def test_what_is_no_time_is_said(text: str) -> None:
    with pytest.raises(UsageError, match="not a time"):
        parse_moment(text)


def test_packet_numbers() -> None:
    found = parse_packets("100-250, 300,1:7,0:1-2")
    assert [(r.capture_id, r.first, r.last) for r in found] == [
        (None, 100, 250),
        (None, 300, 300),
        (1, 7, 7),
        (0, 1, 2),
    ]
    assert [str(r) for r in found] == ["100-250", "300", "1:7", "0:1-2"]


@pytest.mark.parametrize("text", ["", "0", "5-3", "1,,2", "a", "1-", "-3", "1-2-3"])
def test_what_are_no_packet_numbers_is_said(text: str) -> None:
    with pytest.raises(UsageError, match="not packet numbers"):
        parse_packets(text)
