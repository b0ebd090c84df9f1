"""An episode as a waterfall of text: a line for each step, with a bar at its position between first error and end.

`x` is an error, `.` a pause, `#` a request or a connection attempt (from its beginning to its response), `o` the
success.
"""

from collections.abc import Iterator

from rich.console import RenderableType
from rich.text import Text

from kafkascope_analyzer.report.formatting import clock, node, outcome_text, safe, span
from kafkascope_analyzer.report.model.client_texts import client_name, kind_text
from kafkascope_analyzer.report.model.episode import Episode, EpisodeRecovery, EpisodeStep
from kafkascope_analyzer.report.model.recoveries import took_text
from kafkascope_analyzer.report.terminal.layout import grid, heading, indented, line
from kafkascope_spark.stories.recoveries.steps_table import RecoveryStep
from kafkascope_spark.stories.recoveries.table import Recovery

BAR = 20
_STYLE = {"recovered": "green", "still_open": "bold yellow"}
_SIGNS = {"error": "x", "success": "o", "backoff": ".", "hint": "x"}
_ANSWERED = frozenset({"metadata", "find_coordinator", "reconnect"})
"""Steps that are shown at the time of their response; other steps are shown at the time when they began."""


def render_recovery(model: Episode) -> Iterator[RenderableType]:
    """Yields the episode: its heading, the steps, and how the time divides between client, broker and network."""
    recovery, client = model.recovery, model.client
    name = client_name(client.client_id, client.client_ip) if client else "(unknown client)"
    yield heading(f"{name} · {safe(recovery.resource)}")
    where = f"{kind_text(client.kind if client else None)} at {safe((client and client.client_ip) or '?')}"
    yield line(f"{where} · {recovery.recovery_id} · {recovery.cause_id}")
    took = took_text(recovery.time_to_recover_ms)
    yield line(
        (safe(recovery.first_error_name), "bold"),
        ": ",
        (outcome_text(recovery.outcome), _STYLE.get(recovery.outcome, "bold red")),
        f"{took} · from {clock(recovery.start_ns - model.start_ns)}",
        (" · storm", "bold red") if recovery.storm else "",
    )
    yield line(f"expected: {safe(recovery.expected_reaction)}")
    if recovery.wrong_why:
        yield line((f"did: {safe(recovery.wrong_why).replace('_', ' ')}", "bold red"))
    yield indented(_steps(recovery), 0)
    yield line(_lost(recovery))
    yield line(("x error   . pause   # asked until answered   o success", "dim"))


def _steps(recovery: EpisodeRecovery) -> RenderableType:
    begun, times = recovery.start_ns, [step.ts_ns for step in recovery.steps]
    scale = begun, recovery.recovered_ns or max(times, default=begun)
    table = grid(("at", "rn"), ("step", "w"), ("node", "n"), ("", "n"), ("took", "rn"), ("packets", "rn"))
    for step in recovery.steps:
        what = Text(step.words)
        if step.request:
            what.append(f" {safe(step.request.api_name)}" if step.step in ("error", "retry", "success") else "")
        if step.error_name:
            what.append(f" {safe(step.error_name)}", style="red")
        table.add_row(
            f"+{span((step.ts_ns - begun) // 1000)}",
            what,
            _node(step),
            Text(bar(step, scale)),
            span(step.duration_us) if step.step != "error" else "",
            ", ".join(str(n) for n in step.packets),
        )
    return table


def _node(step: EpisodeStep) -> str:
    if step.node_id is not None:
        return node(step.node_id, None)
    return safe(step.server or "")


def bar(step: RecoveryStep, scale: tuple[int, int], width: int = BAR) -> str:
    """Returns the step's sign, or bar, in that many columns. scale: first and last nanosecond of the bars."""
    begin, end = scale

    def column(ns: int) -> int:
        return max(0, min(width - 1, (ns - begin) * (width - 1) // max(1, end - begin)))

    took = 1000 * (step.duration_us or 0)
    first = step.ts_ns - took if step.step in _ANSWERED else step.ts_ns
    last = first + took
    sign = _SIGNS.get(step.step, "#")
    if sign in "xo":
        return " " * column(step.ts_ns) + sign
    return " " * column(first) + sign * (column(last) - column(first) + 1)


def _lost(recovery: Recovery) -> str:
    parts = [f"{name} {span(us)}" for name, us in recovery.lost_us.items() if us]
    return "time: " + (", ".join(parts) or "none")
