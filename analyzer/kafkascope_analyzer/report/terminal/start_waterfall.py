"""A start as a waterfall of text: a line a step, a bar from its begin to its end.

In a bar `.` is the client's own wait before the step, `#` the broker's time, `=` the network's (with the TCP and TLS
handshakes). The bars' scale ends at ready; what comes after it is marked `>`. `*` marks the critical path.
"""

from collections.abc import Iterator
from typing import Any

from rich.console import RenderableType
from rich.text import Text

from kafkascope_analyzer.report.terminal.pieces import grid, heading, indented, line, more
from kafkascope_analyzer.report.words import clock, list_of, safe, span, start_text

Model = dict[str, Any]

BAR = 20
MOST_STARTS = 20
MOST_STEPS = 200
_STYLE = {"ready": "green", "failed": "bold red", "gave_up": "red", "cut": "yellow"}
_OUTCOME = {"gave_up": start_text("gave_up"), "cut": "cut: the capture does not have all of it"}
_WHY = {"backoff": "back-off", "no_records": "no records"}


def render_timeline(model: Model) -> Iterator[RenderableType]:
    """The clients' starts, one after the other."""
    shown = 0
    for client in model["clients"]:
        for start in client["starts"]:
            shown += 1
            if shown <= MOST_STARTS:
                yield from _start(client, start, model["start_ns"])
    if not shown:
        yield line("no start of a client is in this capture")
    yield from more(shown - MOST_STARTS, "start", "--client shows one client's")
    if shown:
        yield line("")
        yield line(("* critical path   . client waits   # broker   = network, TCP, TLS   > after ready", "dim"))


def _start(client: Model, start: Model, capture_ns: int) -> Iterator[RenderableType]:
    name = safe(client["client_id"]) if client["client_id"] else "(no client id)"
    number = f" · start {start['start_no']}" if start["start_no"] > 1 else ""
    yield heading(f"{name}{number}")
    yield line(f"{client['kind'].replace('_', ' ')} at {safe(client['client_ip'])} · {client['client_instance_id']}")
    outcome: str = start["outcome"]
    total = f" after {span(start['total_us'])}" if start["total_us"] is not None else ""
    where = f" at {start['failed_step'].replace('_', ' ')}" if start["failed_step"] else ""
    what = f" ({safe(start['error_name'])})" if start["error_name"] else ""
    subject = f", {safe(start['failed_subject'])}" if start["failed_subject"] else ""
    yield line(
        (_OUTCOME.get(outcome, outcome), _STYLE.get(outcome, "")),
        f"{total}{where}{what}{subject} · from {clock(start['start_ns'] - capture_ns)}",
    )
    yield from _against(start)
    yield indented(_steps(start), 0)
    yield from more(len(start["steps"]) - MOST_STEPS, "step", "table stories/startup_steps")


def _against(start: Model) -> Iterator[RenderableType]:
    """What differs from the expected sequence."""
    differences = []
    for name in ("missing", "extra", "repeated", "out_of_order"):
        steps = [s.replace("_", " ") for s in start[f"{name}_steps"] or ()]
        if steps:
            differences.append(f"{name.replace('_', ' ')}: {list_of(steps, 6)}")
    if differences:
        yield line(f"against {start['expected_sequence']}: " + "; ".join(differences))
    slow = _slowest(start)
    if slow:
        yield line("most of it: " + "; ".join(slow))


def _slowest(start: Model) -> list[str]:
    """The largest parts of the critical path, whose time they were; what came several times is one part."""
    parts: dict[str, list[int]] = {}
    for step in start["steps"]:
        if step["on_critical_path"]:
            name, broker = step["step"].replace("_", " "), step["broker_us"] or 0
            parts.setdefault(f"{_waited(step)} before {name}", []).append(step["wait_us"] or 0)
            parts.setdefault(f"{_worked(step)} in {name}", []).append(broker)
            parts.setdefault(f"network in {name}", []).append(step["duration_us"] - broker)
    total = start["total_us"] or 0
    large = sorted(parts.items(), key=lambda part: (-sum(part[1]), part[0]))[:3]
    return [_part(what, spent) for what, spent in large if total and sum(spent) * 10 >= total]


def _part(what: str, spent: list[int]) -> str:
    times = sum(1 for us in spent if us)
    return f"{what} {span(sum(spent))}" + (f" in {times} times" if times > 1 else "")


def _waited(step: Model) -> str:
    return str(_WHY.get(step["wait_why"] or "", "client's wait"))


def _worked(step: Model) -> str:
    return {"rebalance": "the group's wait", "long_poll": "wait for records"}.get(step["broker_why"] or "", "broker")


def _steps(start: Model) -> Any:
    end = start["ready_ns"] or max((s["end_ns"] for s in start["steps"]), default=start["start_ns"])
    table = grid(("at", "rn"), ("", "n"), ("step", "w"), ("node", "rn"), ("", "n"), ("took", "rn"))
    for step in start["steps"][:MOST_STEPS]:
        table.add_row(
            _since((step["start_ns"] - start["start_ns"]) // 1000),
            "*" if step["on_critical_path"] else " ",
            _name(step),
            "" if step["node_id"] is None else str(step["node_id"]),
            Text(bar(step, (start["start_ns"], end), BAR)),
            span(step["duration_us"]),
        )
    return table


def _since(us: int) -> str:
    """Since the start's first SYN; names may have been looked up before it."""
    return span(us) if us < 0 else f"+{span(us)}"


def _name(step: Model) -> Text:
    name = Text(step["step"].replace("_", " "))
    if step["attempt"] > 1:
        name.append(f" #{step['attempt']}")
    if step["outcome"] != "ok":
        name.append(f" {safe(step['error_name'] or step['outcome'])}", style="red")
    return name


def bar(step: Model, scale: tuple[int, int], width: int) -> str:
    """The step's bar in so many columns; scale: first and last nanosecond that it shows."""
    begin, end = scale
    if step["start_ns"] >= end and step["start_ns"] > begin:
        return " " * (width - 1) + ">"

    def column(ns: int) -> int:
        return max(0, min(width, (ns - begin) * width // max(1, end - begin)))

    waited = step["start_ns"] - (step["wait_us"] or 0) * 1000 if step["on_critical_path"] else step["start_ns"]
    split = step["end_ns"] - (step["broker_us"] or 0) * 1000
    at, from_, over, to = (
        column(ns) for ns in (waited, step["start_ns"], max(split, step["start_ns"]), step["end_ns"])
    )
    to = max(to, from_ + 1) if from_ < width else to
    cells = [" "] * width
    cells[at:from_] = "." * (from_ - at)
    cells[from_:to] = "=" * (to - from_)
    if step["broker_us"]:
        over = min(over, to - 1) if to > from_ else over
        cells[over:to] = "#" * (to - over)
    return "".join(cells[:width])
