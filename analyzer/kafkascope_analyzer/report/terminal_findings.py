"""The part of the terminal report that comes first: what is wrong, what to do about it, and the proof."""

from collections.abc import Iterator
from typing import Any

from rich.console import RenderableType

from kafkascope_analyzer.report.findings import WORST_FIRST
from kafkascope_analyzer.report.pieces import heading, line, more
from kafkascope_analyzer.report.words import clock, count, safe, visible

Model = dict[str, Any]

MOST_FINDINGS = 20
MOST_PACKETS = 6
LONGEST_SENTENCE = 600
"""Characters of a sentence that are shown; a name in it may be long."""
LONGEST_COMMAND = 70
"""Characters of a command on one line; a longer one is cut in two as a shell reads it."""
STYLE = {"error": "bold red", "warning": "bold yellow", "info": "bold cyan"}
_INDENT = max(map(len, WORST_FIRST)) + 2


def render_findings(model: Model) -> Iterator[RenderableType]:
    """Findings, the gravest first; one line where there are none."""
    found, start_ns = model["findings"], model["capture"]["start_ns"] or 0
    if not found["present"]:
        return
    yield heading(f"Findings ({found['n']:,})")
    if not found["n"]:
        yield line("no rule found fault with anything")
    for number, row in enumerate(found["listed"][:MOST_FINDINGS]):
        if number:
            yield line("")
        yield from _finding(row, start_ns, len(model["capture"]["files"]))
    yield from more(found["n"] - min(MOST_FINDINGS, len(found["listed"])), "finding", "table stories/findings")
    if found["n"]:
        yield line(("what a rule looks at: kafkascope rules NAME", "dim"))


def sentence(text: str | None) -> str:
    """A finding's sentence or advice: long, but not without an end."""
    shown = visible((text or "")[: LONGEST_SENTENCE + 1])
    return shown if len(shown) <= LONGEST_SENTENCE else shown[: LONGEST_SENTENCE - 1] + "…"


def packets_of(row: Model, *, n_files: int) -> str:
    """The packets that prove a finding, by number: `packets 12, 15, 17 … and 3 more`; of several files as `0:12`, the
    number of the file before it, as `kafkascope cut --packets` has it.
    """
    found = {(proof["capture_id"] or 0, number) for proof in row["evidence"] for number in proof["packets"]}
    if not found:
        n = row["n_connections"]
        return f"seen on {count(n, 'connection')}" if n else ""
    numbers = [f"{file}:{number}" if n_files > 1 else str(number) for file, number in sorted(found)]
    shown = ", ".join(numbers[:MOST_PACKETS])
    left = len(numbers) - MOST_PACKETS
    some = f" … and {left:,} more" if left > 0 else ""
    of = f" ({row['n_evidence']:,} requests prove it)" if row["n_evidence"] > len(row["evidence"]) else ""
    return f"packet{'s' if len(numbers) > 1 else ''} {shown}{some}{of}"


def when(row: Model, start_ns: int) -> str:
    """How often, and from when to when: `3 times, 00:01.000 to 00:04.120`."""
    first, last = row["first_ns"], row["last_ns"]
    times = count(row["n"], "time") + ", " if (row["n"] or 0) > 1 else ""
    if first is None:
        return times.rstrip(", ")
    until = f" to {clock(last - start_ns)}" if last is not None and last // 1_000_000 > first // 1_000_000 else ""
    return f"{times}{clock(first - start_ns)}{until}"


def _finding(row: Model, start_ns: int, n_files: int) -> Iterator[RenderableType]:
    severity = row["severity"] or "info"
    head = f"{severity:<{_INDENT}}"
    yield line((head, STYLE.get(severity, "bold")), (safe(row["rule"]), "bold"), f" · {when(row, start_ns)}")
    yield line(sentence(row["sentence"]), indent=_INDENT)
    if row["advice"]:
        yield line(("do: ", "bold"), sentence(row["advice"]), indent=_INDENT)
    proof = packets_of(row, n_files=n_files)
    if proof:
        yield line((proof, "dim"), indent=_INDENT)
    before, option, after = visible(row["cut"]).rpartition(" --finding ")
    if len(row["cut"]) <= LONGEST_COMMAND:
        yield line((before + option + after, "dim"), indent=_INDENT)
        return
    yield line((before + " \\", "dim"), indent=_INDENT)
    yield line((option.lstrip() + after, "dim"), indent=_INDENT + 2)
