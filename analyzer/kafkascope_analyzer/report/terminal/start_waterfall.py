"""A start as a waterfall of text: a line for each step, with a bar from its beginning to its end.

In a bar `.` is the client's own wait before the step, `#` the broker's time, `=` the network's (with the TCP and TLS
handshakes). The bars' scale ends where the client is ready; later steps are marked `>`. `*` marks the critical path.
"""

from collections.abc import Iterator

from rich.console import RenderableType
from rich.text import Text

from kafkascope_analyzer.report.formatting import clock, list_of, safe, span
from kafkascope_analyzer.report.model.client_texts import client_name, kind_text
from kafkascope_analyzer.report.model.starts import AllStarts, ClientStarts, Start
from kafkascope_analyzer.report.terminal.layout import grid, heading, indented, line, more
from kafkascope_spark.stories.startups.table import StartupStepRow

BAR = 20
MOST_STARTS = 20
MOST_STEPS = 200
_STYLE = {"ready": "green", "done": "green", "failed": "bold red", "gave_up": "red", "cut": "yellow"}
_WHY = {"backoff": "back-off", "no_records": "no records"}


def render_timeline(model: AllStarts) -> Iterator[RenderableType]:
    """Yields the clients' starts, one after the other."""
    shown = 0
    for client in model.clients:
        for start in client.starts:
            shown += 1
            if shown <= MOST_STARTS:
                yield from _start(client, start, model.start_ns)
    if not shown:
        yield line("no start of a client is in this capture")
    yield from more(shown - MOST_STARTS, "start", "--client shows one client's")
    if shown:
        yield line("")
        yield line(("* critical path   . client waits   # broker   = network, TCP, TLS   > after ready", "dim"))


def _start(client: ClientStarts, start: Start, capture_ns: int) -> Iterator[RenderableType]:
    name = client_name(client.client_id, client.client_ip)
    number = f" · start {start.start_no}" if start.is_repeated else ""
    yield heading(f"{name}{number}")
    yield line(f"{kind_text(client.kind)} at {safe(client.client_ip)} · {client.client_instance_id}")
    outcome = start.outcome
    total = f" after {span(start.total_us)}" if start.total_us is not None else ""
    what = f" ({safe(start.error_name)})" if start.error_name else ""
    subject = f", {safe(start.failed_subject)}" if start.failed_subject else ""
    yield line(
        (start.outcome_in_full, _STYLE.get(outcome, "")),
        f"{total}{start.failed_words}{what}{subject} · from {clock((start.start_ns or capture_ns) - capture_ns)}",
    )
    yield from _against(start)
    yield indented(_steps(start), 0)
    yield from more(len(start.steps) - MOST_STEPS, "step", "table stories/startup_steps")


def _against(start: Start) -> Iterator[RenderableType]:
    """Yields the differences from the expected sequence."""
    differences = [f"{way}: {list_of(steps, 6)}" for way, steps in start.differences.items()]
    if differences:
        yield line(f"against {start.expected_sequence}: " + "; ".join(differences))
    slow = _slowest(start)
    if slow:
        yield line("most of it: " + "; ".join(slow))


def _slowest(start: Start) -> list[str]:
    """Returns the largest parts of the critical path, with who spent the time. Parts that occurred several times are
    one."""
    parts: dict[str, list[int]] = {}
    for step in start.steps:
        if step.on_critical_path:
            name, broker = step.words, step.broker_us or 0
            parts.setdefault(f"{_waited(step)} before {name}", []).append(step.wait_us)
            parts.setdefault(f"{_worked(step)} in {name}", []).append(broker)
            parts.setdefault(f"network in {name}", []).append(step.duration_us - broker)
    total = start.total_us or 0
    large = sorted(parts.items(), key=lambda part: (-sum(part[1]), part[0]))[:3]
    return [_part(what, spent) for what, spent in large if total and sum(spent) * 10 >= total]


def _part(what: str, spent: list[int]) -> str:
    times = sum(1 for us in spent if us)
    return f"{what} {span(sum(spent))}" + (f" in {times} times" if times > 1 else "")


def _waited(step: StartupStepRow) -> str:
    return str(_WHY.get(step.wait_why or "", "client's wait"))


def _worked(step: StartupStepRow) -> str:
    return {"rebalance": "the group's wait", "long_poll": "wait for records"}.get(step.broker_why or "", "broker")


def _steps(start: Start) -> RenderableType:
    begin = start.start_ns or 0
    end = start.ready_ns or max((step.end_ns or begin for step in start.steps), default=begin)
    table = grid(("at", "rn"), ("", "n"), ("step", "w"), ("node", "rn"), ("", "n"), ("took", "rn"))
    for step in start.steps[:MOST_STEPS]:
        table.add_row(
            _since(((step.start_ns or begin) - begin) // 1000),
            "*" if step.on_critical_path else " ",
            _name(step),
            "" if step.node_id is None else str(step.node_id),
            Text(bar(step, (begin, end), BAR)),
            span(step.duration_us),
        )
    return table


def _since(us: int) -> str:
    """Returns the time since the start's first SYN; names may have been looked up before it, which gives a negative
    time."""
    return span(us) if us < 0 else f"+{span(us)}"


def _name(step: StartupStepRow) -> Text:
    name = Text(step.words)
    if step.is_repeated:
        name.append(f" #{step.attempt}")
    if step.outcome != "ok":
        name.append(f" {safe(step.error_name or step.outcome)}", style="red")
    return name


def bar(step: StartupStepRow, scale: tuple[int, int], width: int) -> str:
    """Returns the step's bar in that many columns. scale: first and last nanosecond of the bars."""
    begin, end = scale
    start_ns = step.start_ns or begin
    end_ns = step.end_ns or start_ns
    if start_ns >= end and start_ns > begin:
        return " " * (width - 1) + ">"

    def column(ns: int) -> int:
        return max(0, min(width, (ns - begin) * width // max(1, end - begin)))

    waited = start_ns - step.wait_us * 1000 if step.on_critical_path else start_ns
    split = end_ns - (step.broker_us or 0) * 1000
    at, from_, over, to = (column(ns) for ns in (waited, start_ns, max(split, start_ns), end_ns))
    to = max(to, from_ + 1) if from_ < width else to
    cells = [" "] * width
    cells[at:from_] = "." * (from_ - at)
    cells[from_:to] = "=" * (to - from_)
    if step.broker_us:
        over = min(over, to - 1) if to > from_ else over
        cells[over:to] = "#" * (to - over)
    return "".join(cells[:width])
