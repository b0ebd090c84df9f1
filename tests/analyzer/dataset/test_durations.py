from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from kafkascope_analyzer.cli.app import app
from kafkascope_analyzer.dataset.durations import MOST_NS, duration_ns, parse_duration, parse_moment
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
    moment = parse_moment(text, "--from")
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
    assert parse_moment(text, "--from").since_epoch(1000) == ns + 1000


@pytest.mark.parametrize(
    "text",
    [
        "",
        "noon",
        "12:00",
        "+",
        "+-1s",
        "-3s",
        "2026-13-41T00:00:00Z",
        "+1d",
        "9999-01-01T00:00:00Z",
        "+999999999999h",
        "2026-11-21T25:00",
    ],
)
def test_what_is_no_time_is_said(text: str) -> None:
    with pytest.raises(UsageError, match="not a time"):
        parse_moment(text, "--from")


@pytest.mark.parametrize(
    ("text", "ns"),
    [
        ("500ms", 500_000_000),
        ("5", 5 * 10**9),
        ("0.5", 500_000_000),
        ("2 s", 2 * 10**9),
        ("1.5min", 90 * 10**9),
        ("1.5m", 90 * 10**9),
        ("1h", 3600 * 10**9),
        ("7us", 7000),
        ("7\N{MICRO SIGN}s", 7000),
        ("0.000000001s", 1),
    ],
)
def test_durations_are_written_one_way_in_every_option(text: str, ns: int) -> None:
    assert parse_duration(text, "--margin") == ns


@pytest.mark.parametrize("text", ["", "s", "-1s", "1d", "1e3s", "\N{SUPERSCRIPT TWO}s", "99999999999h"])
def test_what_is_no_duration_is_one_sentence(text: str) -> None:
    with pytest.raises(UsageError, match=r"^--stall .*: not a duration; write it as 500ms, 2s, 1.5min or 1h "):
        parse_duration(text, "--stall")


@given(st.text(alphabet="0123456789.msuhin+- ", max_size=30))
def test_a_duration_fits_into_64_bits(text: str) -> None:
    found = duration_ns(text)
    assert found is None or 0 <= found <= MOST_NS


@pytest.mark.parametrize(
    "arguments",
    [
        ("cut", "none.kscope", "-o", "x.pcapng", "--client", "a", "--margin", "soon"),
        ("analyze", "none.pcap", "--stall", "soon"),
        ("cut", "none.kscope", "-o", "x.pcapng", "--from", "soon"),
    ],
)
def test_commands_take_durations_and_times_by_the_same_rules(arguments: tuple[str, ...]) -> None:
    result = CliRunner().invoke(app, [*arguments])
    assert result.exit_code == 2, result.output
    assert f"{arguments[-2]} soon: not a " in result.stderr
    assert "; write it as " in result.stderr
