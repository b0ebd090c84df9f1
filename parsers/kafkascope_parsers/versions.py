"""Parses numbers and versions in untrusted texts, with bounds: client software, the versions of an API that a broker
offers, node ids and partitions in names.

A text of digits may have any length, and Python's digits include others than 0 to 9.
"""

import re
from dataclasses import dataclass

MOST_INT16, MOST_INT32 = 2**15 - 1, 2**31 - 1
_MOST_PARTS = 8
_VERSION = re.compile(r"[^0-9]{0,64}([0-9]{1,9}(?:\.[0-9]{1,9})*)(?!\.?[0-9])")
_OFFER = re.compile(r"([A-Za-z]{1,64}):([0-9]{1,5})-([0-9]{1,5})")


def parse_number(text: str, most: int) -> int | None:
    """Parses a text of ASCII digits as a number from 0 to `most`; None for every other text."""
    if not (text.isascii() and text.isdecimal()) or len(text) > len(str(most)):
        return None
    number = int(text)
    return number if number <= most else None


@dataclass(frozen=True, slots=True, order=True)
class SoftwareVersion:
    """Numbers of a version such as 2.8.2, in order."""

    numbers: tuple[int, ...]


def parse_software_version(text: str | None) -> SoftwareVersion | None:
    """Parses the first version in a text, such as v2.8.2 or 3.7.0-ccs; None if there is none."""
    found = _VERSION.match(text) if text is not None else None
    return None if found is None else SoftwareVersion(tuple(map(int, found[1].split(".")[:_MOST_PARTS])))


@dataclass(frozen=True, slots=True)
class ApiVersionRange:
    """Lowest and highest version of an API that a broker offers."""

    low: int
    high: int

    def text_of(self, api_name: str) -> str:
        """Returns the text in `connections.api_versions_offered`: Fetch:4-17."""
        return f"{api_name}:{self.low}-{self.high}"


def parse_offered(text: str) -> tuple[str, ApiVersionRange] | None:
    """Parses the API and its versions in a text of `text_of`; None if it is none."""
    found = _OFFER.fullmatch(text)
    if found is None:
        return None
    offered = ApiVersionRange(int(found[2]), int(found[3]))
    return (found[1], offered) if offered.low <= offered.high <= MOST_INT16 else None
