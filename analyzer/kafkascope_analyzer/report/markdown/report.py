"""The report as Markdown, for an issue or a chat: headline, incidents, findings, starts, recoveries, the worst episode
as a diagram. It reads as text too.
"""

from collections.abc import Iterator
from pathlib import PurePath

from kafkascope_analyzer.report.formatting import clock, count, list_of, outcome_text, percent, size, span
from kafkascope_analyzer.report.markdown.flow import markdown_flow
from kafkascope_analyzer.report.markdown.incidents import (
    markdown_commands,
    markdown_findings,
    markdown_headline,
    markdown_incidents,
)
from kafkascope_analyzer.report.markdown.mermaid import sequence
from kafkascope_analyzer.report.markdown.service import markdown_racks, markdown_security, markdown_service_levels
from kafkascope_analyzer.report.markdown.text import code, more, prose, table
from kafkascope_analyzer.report.model.client_texts import kind_text
from kafkascope_analyzer.report.model.report import Report
from kafkascope_analyzer.report.model.worst_episode import worst_episode

MOST_FILES = 6
MOST_RESTARTS = 30
MOST_STARTS = 40
MOST_RECOVERIES = 40
MOST_GROUPS = 15
MOST_IDS = 15


def to_markdown(model: Report) -> str:
    """Returns the report as GitHub's Markdown, with a trailing newline."""
    before = (_head, markdown_headline, markdown_incidents, markdown_findings, markdown_commands)
    parts = [part(model) for part in (*before, _restarts, _starts, _recoveries, _rebalances, _transactions)]
    parts += [markdown_flow(model.flow), markdown_service_levels(model.service_levels)]
    parts += [markdown_racks(model.racks), markdown_security(model.security), _worst(model)]
    return "\n".join(line for part in parts for line in part) + "\n"


def _head(model: Report) -> Iterator[str]:
    capture, ledger = model.capture, model.capture.ledger
    names = [code(PurePath(file.path or "").name) for file in capture.files]
    of = capture.of_cluster
    cluster = f": cluster {code(of.cluster)}, {of.place}" if of else ""
    yield f"# Kafka traffic in {list_of(names, MOST_FILES)}{cluster}"
    yield ""
    if capture.start_ns is None:
        yield "No packets."
        return
    yield f"- {capture.start}, {span(capture.duration_us)}, {capture.packets}"
    yield from (f"- {time.text}" for time in capture.uncovered)
    requests = count(model.n_requests, "request")
    brokers = count(model.cluster.n_brokers, "broker")
    clients = f"{count(model.clients.n, 'client')}, " if model.stories.present else ""
    yield f"- {count(model.connections.n, 'TCP connection')}, {clients}{brokers}, {requests}"
    if ledger and ledger.stream_bytes:
        kafka_bytes = ledger.kafka_bytes
        yield f"- {percent(ledger.decoded_bytes, kafka_bytes)} of {size(kafka_bytes)} decoded"
    if model.cluster.sentence:
        yield f"- {model.cluster.sentence}"
    for sentence in model.capture_points.sentences:
        yield f"- {prose(sentence)}"
    yield "- times below are mm:ss.mmm after the start"
    if model.stories.why_not:
        yield f"- {model.stories.why_not}"


def _restarts(model: Report) -> Iterator[str]:
    found = model.restarts.alone
    if not found.n:
        return
    yield from ("", "## Restarts of brokers", "", prose(found.sentence), "")
    columns = (("broker", ""), ("down at", "r"), ("for", "r"), ("release", ""), ("who waited", ""))
    shown = found.listed[:MOST_RESTARTS]
    yield from table(columns, ((code(r.broker), r.at, r.lasted, r.release, prose(r.cost)) for r in shown))
    yield from more(found.n - min(MOST_RESTARTS, len(found.listed)), "restart")


def _starts(model: Report) -> Iterator[str]:
    start_ns = model.capture.begin_ns
    listed = [(client, start) for client in model.clients.listed for start in client.starts]
    if not listed:
        return
    listed.sort(key=lambda pair: (pair[1].start_ns or 0, pair[1].startup_id))
    yield from ("", "## Starts", "", "| at | client | kind | outcome | took | slowest |", "|--:|---|---|---|--:|---|")
    for client, start in listed[:MOST_STARTS]:
        outcome = start.outcome_text + start.failed_words
        took = span(start.took_us)
        slow = start.slowest[0] if start.slowest else None
        slowest = f"{slow.who} {span(slow.us)} at {slow.step.replace('_', ' ')}" if slow else ""
        at = clock((start.start_ns or start_ns) - start_ns)
        yield f"| {at} | {code(client.client_id)} | {kind_text(client.kind)} | {outcome} | {took} | {slowest} |"
    yield from more(len(listed) - MOST_STARTS, "start")


def _recoveries(model: Report) -> Iterator[str]:
    start_ns = model.capture.begin_ns
    listed = [(client, recovery) for client in model.clients.listed for recovery in client.recoveries]
    if not listed:
        return
    listed.sort(key=lambda pair: (pair[1].start_ns or 0, pair[1].recovery_id))
    yield from ("", "## Recoveries", "", "| at | client | error | on | outcome | took | errors |")
    yield "|--:|---|---|---|---|--:|--:|"
    for client, recovery in listed[:MOST_RECOVERIES]:
        several = f" and {recovery.n_resources - 1:,} more" if recovery.n_resources > 1 else ""
        took = "" if recovery.time_to_recover_ms is None else span(1000 * recovery.time_to_recover_ms)
        cells = (
            clock((recovery.start_ns or start_ns) - start_ns),
            code(client.client_id),
            code(recovery.first_error_name),
            code(recovery.resource) + several,
            outcome_text(recovery.outcome) + (", storm" if recovery.storm else ""),
            took,
            f"{recovery.n_errors:,}",
        )
        yield f"| {' | '.join(cells)} |"
    yield from more(len(listed) - MOST_RECOVERIES, "recovery", "recoveries")


def _rebalances(model: Report) -> Iterator[str]:
    found = model.rebalances
    if not found.n:
        return
    yield from ("", "## Rebalances", "", "| group | how many | because | longest | unread for up to |")
    yield "|---|--:|---|--:|--:|"
    for group in found.groups[:MOST_GROUPS]:
        because = ", ".join(f"{n:,} {trigger.replace('_', ' ')}" for trigger, n in group.triggers.items())
        unread = "" if group.unread_ms is None else span(1000 * group.unread_ms)
        times = f"{span(1000 * group.longest_ms)} | {unread}"
        yield f"| {code(group.group_id)} | {group.n:,} | {because} | {times} |"
    yield from more(found.n_groups - min(MOST_GROUPS, len(found.groups)), "group")


def _transactions(model: Report) -> Iterator[str]:
    found = model.transactions
    if not found.n:
        return
    outcomes = [outcome for outcome, n in found.outcomes.items() if n]
    yield from ("", "## Transactions", "")
    rows = []
    for row in found.ids[:MOST_IDS]:
        figures = [f"{row.outcomes[outcome]:,}" for outcome in outcomes]
        rows.append([code(row.transactional_id), *figures, span(row.p50_us), span(row.max_us)])
    yield from table((("transactional id", ""), *((name, "r") for name in (*outcomes, "p50", "longest"))), rows)
    yield from more(found.n_ids - min(MOST_IDS, len(found.ids)), "transactional id")


def _worst(model: Report) -> Iterator[str]:
    found = worst_episode(model.clients)
    if found is None:
        return
    client, recovery = found
    yield from ("", "## The worst episode", "")
    what = f"{code(recovery.first_error_name)} on {code(recovery.resource)}"
    yield f"{code(client.client_id)}, {what}: {recovery.how_it_ended}."
    yield f"{code('kafkascope explain OUT.kscope ' + recovery.recovery_id)} explains it with packet numbers."
    yield from ("", "```mermaid", *sequence(client, recovery), "```")
