"""The clients on a terminal: their kinds, connections, starts and recoveries."""

from collections.abc import Iterator, Sequence
from itertools import groupby

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from kafkascope_analyzer.report.formatting import clock, count, list_of, node, safe, span
from kafkascope_analyzer.report.model.cause_sentences import cause_sentences, cause_severity
from kafkascope_analyzer.report.model.client_texts import client_facts, client_name, job_text, kind_text
from kafkascope_analyzer.report.model.clients import BrokerClients, Client, ClientConnection
from kafkascope_analyzer.report.model.cluster import Cluster
from kafkascope_analyzer.report.model.recoveries import RecoveredCause
from kafkascope_analyzer.report.model.report import Report
from kafkascope_analyzer.report.model.starts import Start, slowest_text
from kafkascope_analyzer.report.terminal.layout import grid, heading, indented, line, more
from kafkascope_spark.stories.cadences.table import Cadence
from kafkascope_spark.stories.clients.identity.library import library_named
from kafkascope_spark.stories.libraries.library import Setting
from kafkascope_spark.stories.libraries.registry import library
from kafkascope_spark.stories.recoveries.steps_table import RecoveryStep
from kafkascope_spark.stories.startups.table import NOT_READY, StartupStepRow

MOST_CLIENTS = 60
FIRST_CLIENTS = 10
"""Most clients on the first screen, those with problems first."""
MOST_IN_FULL = 12
MOST_CONNECTIONS = 8
MOST_STARTS = 3
MOST_STEPS = 60
FIRST_STEPS, LAST_STEPS = 5, 7
"""Steps that are shown of a start that did not become ready: from its beginning and from its end."""
MOST_CAUSES = 8
MOST_CAUSES_IN_FULL = 3
"""Most causes of a client whose steps are shown; the others have only their first lines."""
FIRST_RECOVERY_STEPS, LAST_RECOVERY_STEPS = 10, 3
"""Steps of an episode that are shown: from its beginning and from its end."""

_STYLE = {
    "ready": "green",
    "recovered": "green",
    "failed": "bold red",
    "fatal": "bold red",
    "gave_up": "bold red",
    "wrong_reaction": "bold red",
    "still_open": "bold yellow",
    "cut": "yellow",
}
_STYLE_OF_CLIENT = {"never_served": "bold red", "gave_up": "bold red", "still_open": "bold yellow"}


def render_clients(model: Report, *, everything: bool = True) -> Iterator[RenderableType]:
    """Yields all clients by the time they were first seen. everything: each with its start and its recoveries, then a
    summary of the brokers' own connections. Otherwise those with problems come first, and only a few are shown."""
    found, start_ns = model.clients, model.capture.begin_ns
    if not model.stories.present or not (found.n or found.brokers.n):
        return
    yield heading(f"Clients ({found.n:,})")
    if not found.n:
        yield line("no client was seen")
    elif everything:
        yield _summary(found.listed[:MOST_CLIENTS], start_ns)
        yield from more(found.n - min(MOST_CLIENTS, len(found.listed)), "client", "table stories/clients")
    else:
        worst = sorted(found.listed, key=client_severity)[:FIRST_CLIENTS]
        yield _summary([client for client in found.listed if client in worst], start_ns)
        yield from more(found.n - min(FIRST_CLIENTS, len(found.listed)), "client", "kafkascope report --all")
    if not everything:
        return
    shown = _in_full(found.listed)
    for client in shown:
        yield heading(client_name(client.client_id, client.client_ip))
        yield from _client(client, start_ns, model.cluster)
    left = len(found.listed) - len(shown)
    if left > 0:
        who = count(left, "other client has", "other clients have")
        yield line("")
        yield line((f"{who} less to report; report.json has their stories", "dim"))
    yield from _brokers(found.brokers)


def _in_full(clients: Sequence[Client]) -> list[Client]:
    """Returns the clients that are shown in full, by time: where there are many, those with problems, then those slow
    to start."""

    chosen = sorted(range(len(clients)), key=lambda i: (*client_severity(clients[i]), i))[:MOST_IN_FULL]
    return [clients[i] for i in sorted(chosen)]


def client_severity(client: Client) -> tuple[int, int, int]:
    """Returns the sort key of clients: those with problems, then those slow to start."""
    unwell = sum(cause.outcome != "recovered" for cause in client.recoveries)
    unwell += sum(start.outcome in NOT_READY for start in client.starts)
    slowest_us = max((start.took_us or 0 for start in client.starts), default=0)
    return -unwell, -client.n_causes, -slowest_us


def _summary(clients: Sequence[Client], start_ns: int) -> RenderableType:
    """Returns one line for each client: when it was first seen, its kind, how it started, and its problems."""
    table = grid(("first seen", "n"), ("client", ""), ("kind", ""), ("start", ""), ("trouble", ""))
    for client in clients:
        begun = (client.first_ns or start_ns) - start_ns
        name = Text(client_name(client.client_id, client.client_ip))
        start = client.starts[0] if client.starts else None
        kind = "producer (txn)" if client.kind == "transactional_producer" else kind_text(client.kind)
        table.add_row(clock(begun), name, kind, _start_in_short(start), _trouble(client))
    return table


def _start_in_short(start: Start | None) -> Text:
    if start is None:
        return Text("")
    outcome = start.outcome
    word = Text(start.outcome_text, style=_STYLE.get(outcome, ""))
    return word.append(f" {span(start.took_us)}", style="") if outcome == "ready" else word


def _trouble(client: Client) -> Text:
    return Text(client.trouble, style=_STYLE_OF_CLIENT.get(client.outcome, ""))


def _brokers(brokers: BrokerClients) -> Iterator[RenderableType]:
    if not brokers.n:
        return
    yield heading("Brokers among themselves")
    counts = {"connection": brokers.n_connections, "request": brokers.n_requests, "error": brokers.n_errors}
    figures = ", ".join(count(n, what) for what, n in counts.items() if n is not None)
    where = list_of([safe(a) for a in brokers.addresses], 6)
    yield line(f"{count(brokers.n, 'client')} inside brokers at {where}: {figures}")


def _client(client: Client, start_ns: int, cluster: Cluster) -> Iterator[RenderableType]:
    mechanisms = (connection.sasl_mechanism for connection in client.connections)
    yield from map(line, client_facts(client, mechanisms, start_ns))
    yield from _connections(client, start_ns, cluster)
    for start in client.starts[:MOST_STARTS]:
        yield line("")
        yield from _start(start, start_ns)
    yield from more(client.n_starts - MOST_STARTS, "start", "table stories/startups")
    yield from _odd_loops(client)
    worst = sorted(client.recoveries, key=cause_severity)[:MOST_CAUSES_IN_FULL]
    for cause in client.recoveries[:MOST_CAUSES]:
        yield line("")
        yield from _cause(cause, start_ns, cluster)
        if cause in worst:
            yield from _recovery_steps(cause)
    yield from more(client.n_causes - MOST_CAUSES, "cause", "table stories/recoveries")


def _connections(client: Client, start_ns: int, cluster: Cluster) -> Iterator[RenderableType]:
    if not client.connections:
        return
    alike: dict[tuple[str, str], list[ClientConnection]] = {}
    for conn in client.connections:
        roles = "\n".join([job_text(role) for role in conn.roles] or [_no_role(conn)])
        alike.setdefault((node(conn.node_id, conn.server), roles), []).append(conn)
    table = grid(("", "n"), ("", ""), ("", "w"), header=False)
    for (server, roles), conns in list(alike.items())[:MOST_CONNECTIONS]:
        begun = "" if conns[0].first_ns is None else clock(conns[0].first_ns - start_ns)
        several = f" ({len(conns):,} connections)" if len(conns) > 1 else ""
        table.add_row(Text(begun, style="dim"), Text(f"→ {server}"), Text(roles + several))
    yield indented(table, 2)
    shown = sum(len(conns) for conns in list(alike.values())[:MOST_CONNECTIONS])
    yield from more(client.n_connections - shown, "connection", "table connections")


def _no_role(conn: ClientConnection) -> str:
    failure = {"refused": "connection refused", "unanswered": "no answer to the SYN"}.get(conn.close_kind or "")
    if failure:
        return failure
    if conn.n_requests is None:
        return "no role seen"
    return f"no role seen in {count(conn.n_requests, 'request')}" if conn.n_requests else "no requests"


def _start(start: Start, start_ns: int) -> Iterator[RenderableType]:
    begun = start.start_ns or start_ns
    outcome = start.outcome
    number = "start" if start.start_no == 1 else f"start {start.start_no}"
    total = f" after {span(start.took_us)}" if start.ready_ns is not None else ""
    error = f" ({safe(start.error_name)})" if start.error_name else ""
    yield line(
        (f"{number}: ", "bold"),
        (start.outcome_in_full, _STYLE.get(outcome, "")),
        f"{total}{start.failed_words}{error}",
        f" · from {clock(begun - start_ns)}",
        indent=2,
    )
    slowest = slowest_text(start) if outcome == "ready" else ""
    if slowest:
        yield line(f"slowest: {slowest}", indent=4)
    for way, steps in start.differences.items():
        yield line(f"{way} steps: " + list_of([safe(step) for step in steps], 5), indent=4)
    yield from _steps(start, start_ns)


def _odd_loops(client: Client) -> Iterator[RenderableType]:
    """Yields loops that deviate from the expected interval, one line for each kind, about the worst of them. Loops
    without a pause are left out: they show nothing."""
    worst: dict[tuple[str, str], Cadence] = {}
    for loop in client.odd_loops:
        kind = loop.cadence, loop.verdict
        if loop.p50_ms > 0 and (kind not in worst or loop.max_ms > worst[kind].max_ms):
            worst[kind] = loop
    for (cadence, _), loop in sorted(worst.items()):
        if cadence == "in_flight":
            figures = f"median {loop.p50_ms}, maximum {loop.max_ms}{_limit(client, loop)}"
            yield line(("requests in flight: ", "yellow"), figures, indent=2)
            continue
        source = f", {loop.expected_from.replace('_', ' ')}" if loop.expected_from else ""
        usual = "" if loop.expected_ms is None else f" (expected: every {_ms(loop.expected_ms)}{source})"
        figures = f"every {_ms(loop.p50_ms)} (median), at most {_ms(loop.max_ms)} apart{usual}"
        yield line((f"{cadence.replace('_', ' ')}: ", "yellow"), figures, indent=2)


def _limit(client: Client, loop: Cadence) -> str:
    """Returns the limit of requests in flight; empty for a default that is not the default of the client's library."""
    own = library(library_named(client.software_name)).settings.get("in_flight")
    if loop.expected_ms is None or (loop.expected_from == "default" and not _is_default(own, loop.expected_ms)):
        return ""
    return f" (limit {loop.expected_ms}{', default' if loop.expected_from == 'default' else ''})"


def _is_default(own: Setting | None, value: int) -> bool:
    return own is not None and own.default == str(value)


def _ms(value: int) -> str:
    return span(value * 1000)


def _shown_steps(start: Start) -> Sequence[StartupStepRow]:
    """Returns the critical path of a ready start and the failed steps beside it; for another start its first and last
    steps."""
    steps = start.steps
    if start.outcome == "ready":
        return [step for step in steps if step.on_critical_path or step.outcome != "ok"][:MOST_STEPS]
    return steps if len(steps) <= FIRST_STEPS + LAST_STEPS else [*steps[:FIRST_STEPS], *steps[-LAST_STEPS:]]


def _steps(start: Start, start_ns: int) -> Iterator[RenderableType]:
    steps = _shown_steps(start)
    if not steps:
        return
    is_ready = start.outcome == "ready"
    left = start.n_steps - len(steps)
    figures = (("node", "r"), ("waited", "rn"), ("took", "rn"), ("broker", "rn"))
    table = grid(("at", "n"), ("step", ""), *figures)
    for number, step in enumerate(steps):
        if number == FIRST_STEPS and left > 0 and not is_ready:
            table.add_row("", Text(f"… {count(left, 'step')} more", style="dim"))
        table.add_row(
            "" if step.start_ns is None else clock(step.start_ns - start_ns),
            _step_name(step, beside=is_ready and not step.on_critical_path),
            "" if step.node_id is None else str(step.node_id),
            span(step.wait_us) if step.wait_us else "",
            span(step.duration_us),
            span(step.broker_us),
        )
    yield indented(table, 4)
    if left > 0 and is_ready:
        others = f"{count(left, 'step')} beside this critical path"
        yield line((f"… and {others} (table stories/startup_steps)", "dim"), indent=4)


def _step_name(step: StartupStepRow, *, beside: bool) -> Text:
    tries = f" (try {step.attempt})" if step.is_repeated else ""
    name = Text(step.words + tries + (" (beside)" if beside else ""))
    if step.outcome != "ok":
        end = safe(step.error_name) if step.error_name else step.outcome
        name.append(f": {end}", style="red" if step.outcome == "error" else "yellow")
    return name


def _cause(cause: RecoveredCause, start_ns: int, cluster: Cluster) -> Iterator[RenderableType]:
    begun = cause.start_ns
    several = f"{cause.n_resources:,} {cause.resource_kind}s: " if cause.n_resources > 3 else ""
    on = several + list_of([safe(r) for r in cause.resources][:3], 3) + (" …" if several else "")
    yield line(
        (f"{clock(begun - start_ns)} ", "bold"),
        (safe(cause.first_error_name), "bold"),
        f" on {on}: " if on else ": ",
        (cause.how_it_ended, _STYLE.get(cause.outcome, "")),
        (" · storm", "bold red") if cause.storm else "",
        indent=2,
    )
    for sentence in cause_sentences(cause, cluster):
        yield line(sentence, indent=4)


def _recovery_steps(cause: RecoveredCause) -> Iterator[RenderableType]:
    if not cause.steps:
        return
    if cause.n_episodes > 1:
        yield line((f"the worst of {cause.n_episodes:,} episodes, {safe(cause.resource)}:", "dim"), indent=4)
    begun = cause.steps[0].ts_ns
    table = grid(("", "rn"), ("", "n"), ("", "n"), ("", "rn"), ("", ""), header=False)
    steps = _without_repeats(cause.steps)
    first, last = steps, []
    if len(steps) > FIRST_RECOVERY_STEPS + LAST_RECOVERY_STEPS:
        first, last = steps[:FIRST_RECOVERY_STEPS], steps[-LAST_RECOVERY_STEPS:]
    for same, step in first:
        _add_step(table, same, step, begun)
    left = cause.n_steps - sum(same for same, _ in [*first, *last])
    if left > 0:
        table.add_row("", Text(f"… {count(left, 'step')} more", style="dim"), "", "", "")
    for same, step in last:
        _add_step(table, same, step, begun)
    yield indented(table, 6)


def _add_step(table: Table, same: int, step: RecoveryStep, begun: int) -> None:
    table.add_row(
        Text(f"+{span((step.ts_ns - begun) // 1000)}", style="dim"),
        Text(step.words + (f" ({same} times)" if same > 1 else "")),
        Text("" if step.node_id is None else f"node {step.node_id}"),
        span(step.duration_us),
        Text(safe(step.error_name or "")),
    )


def _without_repeats(steps: Sequence[RecoveryStep]) -> list[tuple[int, RecoveryStep]]:
    """Returns the steps with their numbers of occurrences; equal steps of one request are given once."""
    alike = groupby(steps, key=lambda step: (step.ts_ns, step.step, step.node_id, step.error_name))
    runs = (list(run) for _, run in alike)
    return [(len(run), run[0]) for run in runs]
