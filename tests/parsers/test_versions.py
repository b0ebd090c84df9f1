"""Texts from strangers as numbers and versions: whatever the text, an answer within bounds, or none."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafkascope_parsers.versions import (
    MOST_INT16,
    MOST_INT32,
    ApiVersionRange,
    SoftwareVersion,
    parse_number,
    parse_offered,
    parse_software_version,
)

DIGITS = st.text("0123456789²٣④.-v :", max_size=60) | st.integers(1, 6000).map(lambda n: "9" * n) | st.text()


@pytest.mark.slow
@given(DIGITS)
def test_any_text_is_a_number_within_bounds_or_none(text: str) -> None:
    number = parse_number(text, MOST_INT32)
    assert number is None or (0 <= number <= MOST_INT32 and text.strip("0123456789") == "")


@given(DIGITS)
def test_any_text_is_a_version_of_small_numbers_or_none(text: str) -> None:
    version = parse_software_version(text)
    assert version is None or all(0 <= part < 10**9 for part in version.numbers)


@given(st.text("Fetch:0123456789-"))
def test_any_offer_is_a_range_or_none(text: str) -> None:
    offered = parse_offered(text)
    assert offered is None or 0 <= offered[1].low <= offered[1].high <= MOST_INT16


@given(st.integers(0, MOST_INT16), st.integers(0, MOST_INT16))
def test_a_range_is_read_as_it_was_written(a: int, b: int) -> None:
    written = ApiVersionRange(min(a, b), max(a, b))
    assert parse_offered(written.text_of("Fetch")) == ("Fetch", written)


@pytest.mark.parametrize(
    ("text", "number"),
    [("0", 0), ("2147483647", MOST_INT32), ("2147483648", None), ("", None), ("²", None), ("٣", None), ("-1", None)],
)
def test_numbers(text: str, number: int | None) -> None:
    assert parse_number(text, MOST_INT32) == number


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("3.7.0", (3, 7, 0)),
        ("v1.9", (1, 9)),
        ("2.8.2-ccs", (2, 8, 2)),
        ("sarama", None),
        ("", None),
        (None, None),
        ("9" * 5000, None),
        ("1." + "9" * 5000, None),
    ],
)
def test_versions(text: str | None, numbers: tuple[int, ...] | None) -> None:
    assert parse_software_version(text) == (None if numbers is None else SoftwareVersion(numbers))


def test_versions_have_an_order() -> None:
    assert SoftwareVersion((2, 10)) > SoftwareVersion((2, 9, 5))


@pytest.mark.parametrize("text", ["Fetch:4--1", "Fetch:-1-4", "Fetch:5-4", "Fetch:", "Fetch:0-99999"])
def test_what_is_no_offer(text: str) -> None:
    assert parse_offered(text) is None
