"""The part of the terminal report that tells what broke: a cause a paragraph, with its blast radius."""

from collections.abc import Iterator
from typing import Any

from rich.console import RenderableType

from kafkascope_analyzer.report.pieces import heading, line, more
from kafkascope_analyzer.report.words import clock, count, list_of, node, safe, span

Model = dict[str, Any]

MOST_CAUSES = 12
_TITLE = {
    "leader_moved": "{node} gave up leadership",
    "coordinator_moved": "{node} gave up coordination",
    "coordinator_not_ready": "a coordinator was not ready",
    "no_leader": "partitions had no leader or too few replicas",
    "authentication_failed": "authentication failed",
    "fenced": "a client was fenced by a newer one",
    "membership_lost": "members lost their group",
    "offset_reset": "fetch positions were outside the log",
    "transaction_ending": "the transaction before was still ending",
    "throttled": "a quota silenced clients",
    "access_denied": "access was denied",
}
_STYLE = {"recovered": "green", "still_open": "bold yellow"}
_RESOURCES = {"partition": "partition", "group": "group membership", "transaction": "transactional id"}
_RESOURCES |= {"coordinator": "coordinator", "connection": "connection", "authentication": "authentication"}


def render_causes(model: Model) -> Iterator[RenderableType]:
    """The causes by time; nothing where nothing broke."""
    found, start_ns = model["causes"], model["capture"]["start_ns"] or 0
    if not found["n"]:
        return
    addresses = {b["node_id"]: (b["addresses"] or b["advertised"] or [None])[0] for b in model["cluster"]["brokers"]}
    yield heading(f"What broke ({found['n']:,})")
    for cause in found["listed"][:MOST_CAUSES]:
        yield from render_cause(cause, start_ns, addresses)
    yield from more(found["n"] - min(MOST_CAUSES, len(found["listed"])), "cause", "table stories/recoveries")


def render_cause(cause: Model, start_ns: int, addresses: dict[int, str]) -> Iterator[RenderableType]:
    """One cause: what, when, whom it hit, how it went, and where to read on."""
    well = set(cause["outcomes"]) == {"recovered"}
    lasted = (
        f" for {span((cause['end_ns'] - cause['start_ns']) // 1000)}" if cause["end_ns"] > cause["start_ns"] else ""
    )
    yield line(
        (f"{clock(cause['start_ns'] - start_ns)} ", "bold"),
        (title(cause, addresses), "bold"),
        f"{lasted}: ",
        (outcomes(cause), _STYLE["recovered"] if well else "bold yellow"),
        (" · storm", "bold red") if cause["storm"] else "",
    )
    yield line(f"hit {radius(cause)}", indent=2)
    figures = f"{count(cause['n_errors'], 'error')}, {count(cause['n_wasted_requests'], 'wasted request')}"
    yield line(f"{figures}: {list_of([safe(e) for e in cause['errors']], 4)}", indent=2)
    worst = cause["worst"]
    took = f" took {span(worst['time_to_recover_ms'] * 1000)}" if worst["time_to_recover_ms"] is not None else ""
    who = safe(worst["client_id"]) if worst["client_id"] else "(no client id)"
    yield line((f"worst: {who}, {safe(worst['resource'])}{took} · explain {worst['recovery_id']}", "dim"), indent=2)


def title(cause: Model, addresses: dict[int, str]) -> str:
    """What happened, in a few words."""
    who = node(cause["node_id"], addresses.get(cause["node_id"]))
    if cause["kind"] == "broker_lost":
        several = cause["n_clients"] + cause["n_brokers"] > 1
        return f"{who} was lost" if several else f"{who} was lost to one client"
    text = _TITLE.get(cause["kind"])
    return text.format(node=who) if text else safe(next(iter(cause["errors"]), "errors"))


def outcomes(cause: Model) -> str:
    """How its episodes ended."""
    return ", ".join(f"{n:,} {outcome.replace('_', ' ')}" for outcome, n in cause["outcomes"].items())


def radius(cause: Model) -> str:
    """Whom it hit, and what of theirs."""
    names = [safe(c["client_id"]) if c["client_id"] else safe(c["client_ip"] or "?") for c in cause["clients"]]
    names = list(dict.fromkeys(names))
    who = [f"{count(cause['n_clients'], 'client')} ({list_of(names, 4)})"] if cause["n_clients"] else []
    if cause["n_brokers"]:
        who.append(count(cause["n_brokers"], "broker's connection set", "brokers' connection sets"))
    what = [count(n, _RESOURCES.get(kind, kind)) for kind, n in cause["by_resource_kind"].items()]
    return f"{' and '.join(who) or 'nobody'}: {', '.join(what)}"
