"""Formats figures and text from the wire: times, durations, sizes, counts, and text that is safe on a terminal.

client ids, topics, host names and error messages come from the wire: control, bidi and zero-width characters are shown
as escapes (`\\x1b`, `\\u202e`), in every form of the report.
"""

import unicodedata
from collections.abc import Iterable
from datetime import UTC, datetime

from kafkascope_analyzer.dataset.addresses import address as address
from kafkascope_analyzer.dataset.capture_time import duration_text, since_start

NS_PER_MS = 1_000_000
NS_PER_S = 1_000_000_000
MOST_RANGES = 6
"""Most ranges of numbers that are listed."""
LONGEST_PROSE = 2_000
"""Longest sentence, in characters. Our sentences contain names from the wire; those names alone are cut by `safe`."""
LONGEST_TEXT = 160
"""Longest text from the wire that is shown, in characters: a client id may have 32,000."""

_HIDDEN = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}
"""Unicode categories that have no glyph: control, format (bidi, zero-width), surrogate, private, unassigned, line and
paragraph separators."""


def visible(text: object) -> str:
    """Returns the text with every character that has no glyph as an escape: `\\x1b`, `\\u202e`, `\\U000e0041`."""
    return "".join(_escaped(c) if unicodedata.category(c) in _HIDDEN else c for c in str(text))


def _escaped(c: str) -> str:
    number = ord(c)
    if number < 1 << 8:
        return f"\\x{number:02x}"
    return f"\\u{number:04x}" if number < 1 << 16 else f"\\U{number:08x}"


def safe(text: object) -> str:
    """Returns the text as `visible` shows it, cut at LONGEST_TEXT characters."""
    shown = visible(str(text)[: LONGEST_TEXT + 1])
    return shown if len(shown) <= LONGEST_TEXT else shown[: LONGEST_TEXT - 1] + "…"


def absolute(ns: int) -> str:
    """Returns UTC date and time to the millisecond. Every int64 of nanoseconds is between the years 1677 and 2262."""
    seconds, rest = divmod(ns, NS_PER_S)
    day = datetime.fromtimestamp(seconds, UTC)
    return f"{day:%Y-%m-%d %H:%M:%S}.{rest // NS_PER_MS:03d} UTC"


def time_of_day(ns: int) -> str:
    """Returns the time of day (UTC) to the millisecond, without the date."""
    return absolute(ns).split()[1]


def clock(ns: int) -> str:
    """Returns the time since the capture's start as mm:ss.mmm, with hours where there are any."""
    return since_start(ns)


def span(us: int | None) -> str:
    """Returns a duration as `duration_text` writes it; an empty text for None."""
    return "" if us is None else duration_text(us)


def size(n_bytes: int) -> str:
    """Returns bytes in the largest decimal unit that fits."""
    value, unit = float(n_bytes), "B"
    for unit in ("B", "kB", "MB", "GB", "TB"):
        if value < 1000 or unit == "TB":
            break
        value /= 1000
    return f"{n_bytes} B" if unit == "B" else f"{value:.1f} {unit}"


def count(n: int, one: str, many: str | None = None) -> str:
    """Returns a count with its noun: `1 request`, `1,204 requests`."""
    return f"{n:,} {one if n == 1 else many or one + 's'}"


def percent(part: int, whole: int) -> str:
    """Returns a share as a percentage that is never rounded up to 100 % nor down to 0 %."""
    if whole <= 0:
        return "n/a"
    if part == whole:
        return "100 %"
    thousandths = part * 1000 // whole
    if thousandths == 0:
        return "0 %" if part == 0 else "< 0.1 %"
    return f"{thousandths // 10}.{thousandths % 10} %"


def node(node_id: int | None, address: str | None) -> str:
    """Returns a broker as people name it: `node 2 (10.0.0.12:9092)`."""
    if node_id is None:
        return safe(address) if address else "unknown node"
    return f"node {node_id} ({safe(address)})" if address else f"node {node_id}"


ADDRESS_SQL = "(case when contains({ip}, ':') then '[' || {ip} || ']' else {ip} end || ':' || {port})"
"""SQL expression that makes `address:port` of the columns {ip} and {port}."""


_OUTCOMES = {"gave_up": "given up", "client_ended": "client ended first"}
_STARTS = {"gave_up": "ended before it was ready", "done": "got its answers and left"}


def outcome_text(outcome: str | None) -> str:
    """Returns the outcome of a recovery in words. A client that ended before it recovered did not give up."""
    known = outcome or "still_open"
    return _OUTCOMES.get(known, known.replace("_", " "))


def start_text(outcome: str | None) -> str:
    """Returns the outcome of a start in words."""
    known = outcome or "cut"
    return _STARTS.get(known, known.replace("_", " "))


def list_of(names: list[str], most: int) -> str:
    """Returns the first names, and how many more there are."""
    shown = ", ".join(names[:most])
    return shown if len(names) <= most else f"{shown} … and {len(names) - most:,} more"


def ranges(numbers: Iterable[int]) -> str:
    """Returns whole numbers as `0-3, 7`: the first few ranges and how many more numbers there are."""
    ordered = sorted(set(numbers))
    runs: list[list[int]] = []
    for number in ordered:
        if runs and number == runs[-1][-1] + 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    shown = ", ".join(str(run[0]) if len(run) == 1 else f"{run[0]}-{run[-1]}" for run in runs[:MOST_RANGES])
    left = sum(len(run) for run in runs[MOST_RANGES:])
    return f"{shown} … and {left:,} more" if left else shown


def sentence(text: str | None) -> str:
    """Returns a finding's sentence or advice as safe text, cut at LONGEST_PROSE characters."""
    shown = visible((text or "")[: LONGEST_PROSE + 1])
    return shown if len(shown) <= LONGEST_PROSE else shown[: LONGEST_PROSE - 1] + "…"
