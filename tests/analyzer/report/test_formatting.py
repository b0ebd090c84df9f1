import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafkascope_analyzer.report import formatting


@pytest.mark.parametrize(
    ("ns", "shown"),
    [(0, "00:00.000"), (61_005_999_999, "01:01.005"), (3_600_000_000_000, "1:00:00.000"), (-1_000_000, "-00:00.001")],
)
def test_clock(ns: int, shown: str) -> None:
    assert formatting.clock(ns) == shown


@pytest.mark.parametrize(
    ("us", "shown"),
    [
        (None, ""),
        (0, "0 µs"),
        (999, "999 µs"),
        (1_000, "1.00 ms"),
        (12_345, "12.3 ms"),
        (345_678, "346 ms"),
        (2_345_000, "2.35 s"),
        (59_900_000, "59.9 s"),
        (60_000_000, "1 min 0 s"),
        (3_700_000_000, "1 h 1 min"),
        (-5, "-5 µs"),
    ],
)
def test_span(us: int | None, shown: str) -> None:
    assert formatting.span(us) == shown


@pytest.mark.parametrize(
    ("part", "whole", "shown"),
    [(0, 10, "0 %"), (10, 10, "100 %"), (9_999, 10_000, "99.9 %"), (1, 100_000, "< 0.1 %"), (1, 0, "n/a")],
)
def test_a_share_is_never_rounded_to_all_or_nothing(part: int, whole: int, shown: str) -> None:
    assert formatting.percent(part, whole) == shown


def test_size_count_and_names() -> None:
    assert [formatting.size(n) for n in (0, 999, 1_500, 2_000_000)] == ["0 B", "999 B", "1.5 kB", "2.0 MB"]
    assert [formatting.count(n, "request") for n in (0, 1, 1204)] == ["0 requests", "1 request", "1,204 requests"]
    assert formatting.node(2, "10.0.0.12:9092") == "node 2 (10.0.0.12:9092)"
    assert formatting.node(None, "10.0.0.12:9092") == "10.0.0.12:9092"
    assert formatting.address("fe80::1", 9092) == "[fe80::1]:9092"
    assert formatting.list_of(["a", "b", "c"], 2) == "a, b … and 1 more"
    assert formatting.list_of(["a", "b"], 2) == "a, b"


def test_absolute_time_does_not_fail_on_a_clock_gone_wild() -> None:
    assert formatting.absolute(1_795_235_288_994_221_791) == "2026-11-21 04:28:08.994 UTC"
    assert formatting.absolute(2**63 - 1) == "2262-04-11 23:47:16.854 UTC"
    assert formatting.absolute(-(2**63)).startswith("1677-09-21")


def test_control_and_bidi_characters_are_shown_as_escapes() -> None:
    hostile = "a\x1b[31mb\rc\u202edef\u200bg\u2066h\x9bi\nj\x00"
    assert formatting.safe(hostile) == r"a\x1b[31mb\x0dc\u202edef\u200bg\u2066h\x9bi\x0aj\x00"
    assert formatting.visible("\U000e0041" + "x" * 500) == r"\U000e0041" + "x" * 500
    assert formatting.safe("plain text, naïve 中") == "plain text, naïve 中"


@given(st.text())
def test_whatever_comes_nothing_invisible_goes_out(text: str) -> None:
    shown = formatting.safe(text)
    assert len(shown) <= formatting.LONGEST_TEXT
    assert not [c for c in shown if unicodedata.category(c)[0] == "C" or unicodedata.category(c) in ("Zl", "Zp")]
