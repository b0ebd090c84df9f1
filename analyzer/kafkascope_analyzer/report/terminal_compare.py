"""The comparison of two captures on a terminal."""

from collections.abc import Iterator
from typing import Any

from rich.console import RenderableType
from rich.text import Text

from kafkascope_analyzer.report.pieces import grid, heading, line, more
from kafkascope_analyzer.report.words import count, safe, span

Model = dict[str, Any]

MOST_CLIENTS = 40
MOST_STEPS = 3
_STYLE = {"slower": "red", "broken": "bold red", "faster": "green", "mended": "green"}
_PARTS = {"wait_us": "the client's wait", "broker_us": "the broker", "network_us": "the network"}


def render_comparison(model: Model) -> Iterator[RenderableType]:
    """Starts that changed, then who is missing."""
    same = sum(row["verdict"] == "same" for row in model["matched"])
    yield line(
        f"{count(len(model['matched']), 'kind')} of client in both: {model['n_slower']} slower, "
        f"{model['n_faster']} faster, {same} as before"
    )
    yield heading("Starts")
    table = grid(("client", "w"), ("kind", ""), ("before", "rn"), ("after", "rn"), ("", ""))
    for row in model["matched"][:MOST_CLIENTS]:
        table.add_row(
            Text(safe(row["client_id"]) or "(no client id)"),
            row["kind"].replace("_", " "),
            _total(row["before_us"], row["outcome_before"]),
            _total(row["after_us"], row["outcome_after"]),
            Text(row["verdict"], style=_STYLE.get(row["verdict"], "")),
        )
    yield table
    yield from more(len(model["matched"]) - MOST_CLIENTS, "client", "--format json has all")
    for row in model["matched"][:MOST_CLIENTS]:
        if row["verdict"] != "same":
            yield from _why(row)
    for name, title in (("only_before", "Only in the first"), ("only_after", "Only in the second")):
        if model[name]:
            yield heading(title)
            for row in model[name][:MOST_CLIENTS]:
                yield line(f"{safe(row['client_id']) or '(no client id)'} · {row['kind'].replace('_', ' ')}", indent=2)
            yield from more(len(model[name]) - MOST_CLIENTS, "client", "--format json has all")


def _total(us: int | None, outcome: str) -> str:
    return span(us) if us is not None else outcome.replace("_", " ")


def _why(row: Model) -> Iterator[RenderableType]:
    change = f" by {span(abs(row['change_us']))}" if row["change_us"] is not None else ""
    name = safe(row["client_id"]) or "(no client id)"
    yield line("")
    yield line((f"{name}: ", "bold"), (f"{row['verdict']}{change}", _STYLE.get(row["verdict"], "")))
    for step in row["steps"][:MOST_STEPS]:
        part = max(_PARTS, key=lambda p: abs(step[p]))
        sign = "+" if step["change_us"] > 0 else "-"
        yield line(
            f"{sign}{span(abs(step['change_us']))} {step['step'].replace('_', ' ')} "
            f"({span(step['before_us'])} before, {span(step['after_us'])} after): mostly {_PARTS[part]}",
            indent=2,
        )
