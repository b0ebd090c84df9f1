"""From which length on a wait is a stall: how it is given, and how reports write it."""

import pytest

from kafkascope_analyzer.dataset.stall_limit import limit_text, parse_stall
from kafkascope_parsers.errors import UsageError


@pytest.mark.parametrize(
    ("text", "stall_ms", "shown"),
    [
        ("1s", 1_000, "1 s"),
        ("500ms", 500, "500 ms"),
        (" 2 S ", 2_000, "2 s"),
        ("2.5s", 2_500, "2.5 s"),
        ("0.5s", 500, "500 ms"),
        ("1min", 60_000, "1 min"),
        ("1.5m", 90_000, "90 s"),
    ],
)
def test_durations(text, stall_ms, shown):
    assert parse_stall(text) == stall_ms
    assert limit_text(stall_ms) == shown


@pytest.mark.parametrize("text", ["", "s", "-1s", "1d", "1s2", "NaNs", "1e3ms"])
def test_what_is_no_duration_is_refused(text):
    with pytest.raises(UsageError, match=r"not a duration; write it as 500ms, 2s, 1.5min or 1h"):
        parse_stall(text)


@pytest.mark.parametrize("text", ["499ms", "0s", "3601s", "2h"])
def test_a_limit_that_the_events_cannot_show_is_refused(text):
    with pytest.raises(UsageError, match=r"must be from 500 ms \(shorter waits are not in the events\) to 60 min"):
        parse_stall(text)
