"""The report as Markdown, for an issue or a chat: summary, findings, what broke, starts, recoveries, the worst episode
as a diagram. It reads as text too.
"""

from collections.abc import Iterator
from pathlib import PurePath
from typing import Any

from kafkascope_analyzer.report.markdown_text import code, prose
from kafkascope_analyzer.report.mermaid import sequence, worst_episode
from kafkascope_analyzer.report.terminal_causes import title
from kafkascope_analyzer.report.terminal_findings import packets_of, sentence, when
from kafkascope_analyzer.report.words import clock, count, list_of, percent, size, span

Model = dict[str, Any]

MOST_FILES = 6
MOST_FINDINGS = 20
MOST_CAUSES = 15
MOST_STARTS = 40
MOST_RECOVERIES = 40
MOST_GROUPS = 15
MOST_IDS = 15


def to_markdown(model: Model) -> str:
    """The report as GitHub's Markdown, with a last newline."""
    parts = (_head, _findings, _causes, _starts, _recoveries, _rebalances, _transactions, _worst)
    return "\n".join(line for part in parts for line in part(model)) + "\n"


def _head(model: Model) -> Iterator[str]:
    capture, ledger = model["capture"], model["capture"]["ledger"]
    names = [code(PurePath(file["path"]).name) for file in capture["files"]]
    yield f"# Kafka traffic in {list_of(names, MOST_FILES)}"
    yield ""
    if capture["start_ns"] is None:
        yield "No packets."
        return
    yield f"- {capture['start']}, {span(capture['duration_us'])}, {count(capture['n_packets'], 'packet')}"
    requests = count(sum(api["n"] for api in model["apis"]), "request")
    brokers = count(model["cluster"]["n_brokers"], "broker")
    clients = f"{count(model['clients']['n'], 'client')}, " if model["stories"]["present"] else ""
    yield f"- {count(model['connections']['n'], 'TCP connection')}, {clients}{brokers}, {requests}"
    if ledger["stream_bytes"]:
        yield f"- {percent(ledger['decoded_bytes'], ledger['stream_bytes'])} of {size(ledger['stream_bytes'])} decoded"
    yield "- times below are mm:ss.mmm after the start"
    if model["stories"]["why_not"]:
        yield f"- {model['stories']['why_not']}"


def _findings(model: Model) -> Iterator[str]:
    found, start_ns = model["findings"], model["capture"]["start_ns"] or 0
    if not found["present"]:
        return
    counted = ", ".join(count(n, severity) for severity, n in found["by_severity"].items() if n and severity != "info")
    yield from ("", f"## Findings{f': {counted}' if counted else ''}", "")
    if not found["n"]:
        yield "No rule found fault with anything."
    for row in found["listed"][:MOST_FINDINGS]:
        yield f"- **{row['severity']}** {code(row['rule'])} ({when(row, start_ns)}): {prose(sentence(row['sentence']))}"
        if row["advice"]:
            yield f"  - do: {prose(sentence(row['advice']))}"
        proof = packets_of(row, n_files=len(model["capture"]["files"]))
        yield f"  - {proof + ': ' if proof else ''}{code(row['cut'])}"
    yield from _more(found["n"] - min(MOST_FINDINGS, len(found["listed"])), "finding")
    if found["n"]:
        yield from ("", f"What a rule looks at: {code('kafkascope rules NAME')}.")


def _causes(model: Model) -> Iterator[str]:
    found, start_ns = model["causes"], model["capture"]["start_ns"] or 0
    if not found["n"]:
        return
    addresses = {b["node_id"]: (b["addresses"] or b["advertised"] or [None])[0] for b in model["cluster"]["brokers"]}
    yield from ("", "## What broke", "")
    for cause in found["listed"][:MOST_CAUSES]:
        lasted = cause["end_ns"] - cause["start_ns"]
        took = f" for {span(lasted // 1000)}" if lasted > 0 else ""
        outcomes = ", ".join(f"{n:,} {outcome.replace('_', ' ')}" for outcome, n in cause["outcomes"].items())
        storm = ", a storm" if cause["storm"] else ""
        yield f"- {clock(cause['start_ns'] - start_ns)} {prose(title(cause, addresses))}{took}: {outcomes}{storm}"
        names = list(dict.fromkeys(c["client_id"] or c["client_ip"] or "?" for c in cause["clients"]))
        who = f" ({list_of([code(name) for name in names], 6)})" if names else ""
        brokers = f" and {count(cause['n_brokers'], 'broker')}" if cause["n_brokers"] else ""
        errors = list_of([code(error) for error in cause["errors"]], 6)
        hit = f"{count(cause['n_clients'], 'client')}{who}{brokers}"
        yield f"  - hit {hit}: {count(cause['n_errors'], 'error')}, {errors}"
    yield from _more(found["n"] - min(MOST_CAUSES, len(found["listed"])), "cause")


def _starts(model: Model) -> Iterator[str]:
    start_ns = model["capture"]["start_ns"] or 0
    told = [(client, start) for client in model["clients"]["listed"] for start in client["starts"]]
    if not told:
        return
    told.sort(key=lambda pair: (pair[1]["start_ns"] or 0, pair[1]["startup_id"]))
    yield from ("", "## Starts", "", "| at | client | kind | outcome | took | slowest |", "|--:|---|---|---|--:|---|")
    for client, start in told[:MOST_STARTS]:
        outcome = (start["outcome"] or "cut").replace("_", " ")
        if start["failed_step"]:
            outcome += f" at {start['failed_step'].replace('_', ' ')}"
        took = _took(start)
        slow = start["slowest"][0] if start["slowest"] else None
        slowest = f"{slow['who']} {span(slow['us'])} at {slow['step'].replace('_', ' ')}" if slow else ""
        at = clock((start["start_ns"] or start_ns) - start_ns)
        kind = (client["kind"] or "unknown").replace("_", " ")
        yield f"| {at} | {code(client['client_id'])} | {kind} | {outcome} | {took} | {slowest} |"
    yield from _more(len(told) - MOST_STARTS, "start")


def _took(start: Model) -> str:
    if start["ready_ns"] is None or start["start_ns"] is None:
        return ""
    return span((start["ready_ns"] - start["start_ns"]) // 1000)


def _recoveries(model: Model) -> Iterator[str]:
    start_ns = model["capture"]["start_ns"] or 0
    told = [(client, recovery) for client in model["clients"]["listed"] for recovery in client["recoveries"]]
    if not told:
        return
    told.sort(key=lambda pair: (pair[1]["start_ns"] or 0, pair[1]["told"]))
    yield from ("", "## Recoveries", "", "| at | client | error | on | outcome | took | errors |")
    yield "|--:|---|---|---|---|--:|--:|"
    for client, recovery in told[:MOST_RECOVERIES]:
        several = f" and {recovery['n_resources'] - 1:,} more" if recovery["n_resources"] > 1 else ""
        took = "" if recovery["time_to_recover_ms"] is None else span(1000 * recovery["time_to_recover_ms"])
        cells = (
            clock((recovery["start_ns"] or start_ns) - start_ns),
            code(client["client_id"]),
            code(recovery["first_error_name"]),
            code(recovery["resource"]) + several,
            (recovery["outcome"] or "still_open").replace("_", " ") + (", storm" if recovery["storm"] else ""),
            took,
            f"{recovery['n_errors']:,}",
        )
        yield f"| {' | '.join(cells)} |"
    yield from _more(len(told) - MOST_RECOVERIES, "recovery", "recoveries")


def _rebalances(model: Model) -> Iterator[str]:
    found = model["rebalances"]
    if not found["n"]:
        return
    yield from ("", "## Rebalances", "", "| group | how many | because | longest | members stood still |")
    yield "|---|--:|---|--:|--:|"
    for group in found["groups"][:MOST_GROUPS]:
        because = ", ".join(f"{n:,} {trigger.replace('_', ' ')}" for trigger, n in group["triggers"].items())
        times = f"{span(1000 * group['longest_ms'])} | {span(1000 * group['stopped_ms'])}"
        yield f"| {code(group['group_id'])} | {group['n']:,} | {because} | {times} |"
    yield from _more(found["n_groups"] - min(MOST_GROUPS, len(found["groups"])), "group")


def _transactions(model: Model) -> Iterator[str]:
    found = model["transactions"]
    if not found["n"]:
        return
    outcomes = [outcome for outcome, n in found["outcomes"].items() if n]
    yield from ("", "## Transactions", "", f"| transactional id | {' | '.join(outcomes)} | p50 | longest |")
    yield f"|---|{'--:|' * (len(outcomes) + 2)}"
    for row in found["ids"][:MOST_IDS]:
        figures = [f"{row['outcomes'][outcome]:,}" for outcome in outcomes]
        cells = [code(row["transactional_id"]), *figures, span(row["p50_us"]), span(row["max_us"])]
        yield f"| {' | '.join(cells)} |"
    yield from _more(found["n_ids"] - min(MOST_IDS, len(found["ids"])), "transactional id")


def _worst(model: Model) -> Iterator[str]:
    found = worst_episode(model)
    if found is None:
        return
    client, recovery = found
    yield from ("", "## The worst episode", "")
    took = f" in {span(1000 * recovery['time_to_recover_ms'])}" if recovery["time_to_recover_ms"] is not None else ""
    outcome = (recovery["outcome"] or "still_open").replace("_", " ")
    what = f"{code(recovery['first_error_name'])} on {code(recovery['resource'])}"
    yield f"{code(client['client_id'])}, {what}: {outcome}{took}."
    yield f"{code('kafkascope explain OUT.kscope ' + recovery['told'])} tells it with packet numbers."
    yield from ("", "```mermaid", *sequence(client, recovery), "```")


def _more(n_left: int, one: str, many: str | None = None) -> Iterator[str]:
    if n_left > 0:
        yield ""
        yield f"… and {count(n_left, one, many)} more."
