"""A recovery in sentences, each with its packet numbers: ready to paste into an incident review.

Text from the wire is made safe. Times are those of the capture; times of steps are counted from the episode's first
error.
"""

from collections.abc import Iterator

from kafkascope_analyzer.dataset.dataset import Dataset
from kafkascope_analyzer.report.commands import cut_command, wireshark_command
from kafkascope_analyzer.report.explain.cause import Cause, load_cause
from kafkascope_analyzer.report.explain.identities import CAUSE, RECOVERY, Identity
from kafkascope_analyzer.report.explain.model import Explanation
from kafkascope_analyzer.report.formatting import absolute, clock, count, list_of, node, safe, span
from kafkascope_analyzer.report.model.client_texts import kind_text, software_text
from kafkascope_analyzer.report.model.episode import Episode, EpisodeStep, episode_model
from kafkascope_analyzer.report.model.recoveries import took_text
from kafkascope_spark.stories.recoveries.table import Recovery

_CLOSED = {
    "CONNECTION_REFUSED": "{who} refused a connection",
    "CONNECTION_UNANSWERED": "{who} did not answer a SYN",
    "CONNECTION_RESET": "{who} reset the connection",
    "CONNECTION_CLOSED": "{who} closed the connection",
    "AUTHENTICATION_CLOSED": "{who} hung up during authentication",
}
_DID = {
    "api_versions": "sent ApiVersions",
    "authenticate": "authenticated again",
    "join_group": "sent JoinGroup",
    "sync_group": "sent SyncGroup",
    "heartbeat": "sent a group heartbeat",
    "init_producer_id": "sent InitProducerId",
    "list_offsets": "sent ListOffsets",
    "offset_for_leader_epoch": "sent OffsetForLeaderEpoch",
    "end_txn": "sent EndTxn",
}
_LOST_TO = {
    "broker": "brokers (answers, elections, loading)",
    "backoff": "the client's back-off",
    "stale": "stale metadata",
    "connecting": "connecting",
}
_TRIGGERS = {
    "error": "asked for Metadata because of the error",
    "age": "had Metadata by age, not because of the error",
    "hint": "took the leader from the answer's hint (KIP-951), without waiting for Metadata",
}


def explain_recovery(dataset: Dataset, identity: Identity) -> Explanation:
    """Explains a recovery. For a cause: what its recoveries have in common, and the worst of them."""
    is_cause = identity.kind == CAUSE
    cause = load_cause(dataset, identity.id) if is_cause else None
    model = episode_model(dataset, cause.worst_recovery_id if cause else identity.id)
    recovery = model.recovery
    if cause is None and recovery.cause_id:
        cause = load_cause(dataset, recovery.cause_id)
    sentences = _cause_sentences(cause, model.start_ns) if is_cause and cause else []
    sentences += [_head(model), *_steps(model), *recovery_sentences(recovery)]
    sentences += _alike(cause) if cause and not is_cause else []
    recovery_id = recovery.recovery_id
    requests = [step.request for step in recovery.steps if step.request]
    return Explanation(
        asked_for=CAUSE if is_cause else RECOVERY,
        id=identity.id,
        sentences=sentences,
        cut=cut_command("recovery", [recovery_id], recovery_id),
        wireshark=wireshark_command(recovery_id, [request.server_port for request in requests]),
        rows={
            "start_ns": model.start_ns,
            "recovery": recovery,
            "client": model.client,
            "files": model.files,
            "cause": cause,
        },
    )


def _head(model: Episode) -> str:
    recovery, client = model.recovery, model.client
    name = safe(client.client_id) if client and client.client_id else "a client without a client id"
    software = software_text(client)
    where = f"{kind_text(client.kind if client else None)} at {safe((client and client.client_ip) or '?')}"
    where += f", {software}" if software else ""
    what = f"{recovery.resource_kind} {safe(recovery.resource)}"
    return f"{absolute(recovery.start_ns)}: {name} ({where}) got {safe(recovery.first_error_name)} on {what}."


def _steps(model: Episode) -> list[str]:
    """Returns the steps as sentences; equal steps in a row are one."""
    recovery = model.recovery
    shown: list[tuple[str, str, int]] = []
    for step in recovery.steps:
        what = _step(step, recovery)
        if shown and shown[-1][1] == what:
            shown[-1] = shown[-1][0], what, shown[-1][2] + 1
            continue
        shown.append((_when(step, recovery) + _packets(step, model.files), what, 1))
    lines = []
    for when, what, n in shown:
        lines.append(f"{when} {what}" + (f" ({n} times in a row, the first is given)" if n > 1 else "") + ".")
    return lines


def _when(step: EpisodeStep, recovery: Recovery) -> str:
    return f"+{span((step.ts_ns - recovery.start_ns) // 1000)}"


def _packets(step: EpisodeStep, files: dict[int, str]) -> str:
    if not step.packets:
        return ":"
    numbers = " and ".join(f"{n:,}".replace(",", "") for n in step.packets)
    name = (
        f" of {safe(files[step.capture_id])}"
        if len(files) > 1 and step.capture_id is not None and step.capture_id in files
        else ""
    )
    return f" [packet{'s' if len(step.packets) > 1 else ''} {numbers}{name}]:"


def _who(step: EpisodeStep) -> str:
    return node(step.node_id, step.server)


def _step(step: EpisodeStep, recovery: Recovery) -> str:
    kind, api = step.step, step.api_name
    took = f", answered after {span(step.duration_us)}" if step.duration_us is not None else ""
    if kind == "error":
        return _error(step, recovery, api)
    if kind == "backoff":
        return f"the client paused {span(step.duration_us)}"
    if kind == "metadata":
        return f"it had Metadata from {_who(step)}{took}"
    if kind == "find_coordinator":
        return f"it asked {_who(step)} for the coordinator{took}"
    if kind == "reconnect":
        return f"it connected to {_who(step)} in {span(step.duration_us)}"
    if kind == "hint":
        return f"the answer named the leader: {node(step.node_id, None)} (KIP-951)"
    if kind == "retry":
        return f"it tried again: {api} to {_who(step)}" if api else f"it tried to connect to {_who(step)}"
    if kind == "success":
        return f"{_who(step)} answered {api or 'it'} without an error"
    return f"it {_DID.get(kind, kind)} to {_who(step)}{took}"


def _error(step: EpisodeStep, recovery: Recovery, api: str | None) -> str:
    name = step.error_name or "an error"
    if name in _CLOSED:
        return _CLOSED[name].format(who=_who(step))
    if name == "REQUEST_UNANSWERED":
        since = _unanswered_for(step)
        return f"{_who(step)} left {api or 'a request'} without an answer{since}; the client closed the connection"
    if name == "RESPONSE_LATE":
        since = _unanswered_for(step)
        return f"{_who(step)} had not answered {api or 'a request'}{since}; the client waited on"
    if name == "THROTTLED":
        throttle_ms = step.request.throttle_ms if step.request else None
        return f"{_who(step)} throttled the client for {span((throttle_ms or 0) * 1000)} (quota)"
    return f"{_who(step)} answered {api or 'a request'} with {safe(name)}"


def _unanswered_for(step: EpisodeStep) -> str:
    """Returns ` for 30.0 s`, the time for which the request of the step had been without an answer; empty where that is
    not known."""
    if step.request is None:
        return ""
    return f" for {span((step.ts_ns - step.request.ts_ns) // 1000)}"


def recovery_sentences(recovery: Recovery) -> list[str]:
    """Returns how a row of stories/recoveries ended, whether the client reacted as expected, and how the time divides
    between client, broker and network."""
    return [_end(recovery), *_judgement(recovery), *_figures(recovery)]


def _end(recovery: Recovery) -> str:
    if recovery.recovered_ns is not None:
        at = f" at node {recovery.new_node_id}" if recovery.new_node_id is not None else ""
        moved = recovery.old_node_id not in (None, recovery.new_node_id) and recovery.new_node_id is not None
        before = f" (before: node {recovery.old_node_id})" if moved else ""
        return f"Recovered{at}{before}{took_text(recovery.time_to_recover_ms)}."
    return {
        "still_open": "Not recovered when the capture ended.",
        "served_elsewhere": "The client did not need it again: others served it.",
        "gave_up": "Not recovered: the client continued with other work and did not try again.",
        "client_ended": "Not recovered: the client ended first.",
        "fatal": "Not recovered: the error is fatal for what the client wanted.",
    }.get(recovery.outcome, "Not recovered.")


def _judgement(recovery: Recovery) -> Iterator[str]:
    yield f"Expected of such a client: {safe(recovery.expected_reaction or 'nothing known')}."
    if recovery.outcome == "wrong_reaction":
        yield f"It did otherwise: {safe(recovery.wrong_why or recovery.reaction or '?').replace('_', ' ')}."
    if recovery.refresh_trigger:
        yield f"It {_TRIGGERS[recovery.refresh_trigger]}."


def _figures(recovery: Recovery) -> Iterator[str]:
    lost = sorted(recovery.lost_us.items(), key=lambda part: -part[1])
    parts = [f"{span(us)} to {_LOST_TO[who]}" for who, us in lost if us]
    if parts:
        yield f"The time went: {', '.join(parts)}."
    storm = "; that is a storm" if recovery.storm else ""
    figures = f"{count(recovery.n_errors, 'error')}, {count(recovery.n_wasted_requests, 'wasted request')}"
    yield f"In all {figures}{storm}."
    if recovery.n_stale_requests:
        n, until = count(recovery.n_stale_requests, "request"), span(recovery.stale_us)
        yield f"After the first error {n} still went to node {recovery.old_node_id}, the last {until} after it."


def _alike(cause: Cause) -> Iterator[str]:
    if cause.n_recoveries > 1:
        n, name = f"{cause.n_recoveries:,}", cause.cause_id
        yield f"It is one of {n} recoveries of one cause ({name}), which affected {cause.affected}."


def _cause_sentences(cause: Cause, start_ns: int) -> list[str]:
    """Returns what the recoveries of a cause have in common, before the worst of them."""
    lasted = span((cause.end_ns - cause.start_ns) // 1000)
    recoveries = count(cause.n_recoveries, "recovery", "recoveries")
    since = f"{absolute(cause.start_ns)} ({clock(cause.start_ns - start_ns)} into the capture)"
    return [
        f"{since}: {recoveries} of one cause began; the last of them ended {lasted} later.",
        f"It affected {cause.affected}.",
        f"Errors: {list_of([safe(e) for e in cause.errors], 8)}; {count(cause.n_errors, 'error')} in all, "
        f"{count(cause.n_wasted_requests, 'wasted request')}.",
        f"Outcomes: {cause.ended}.",
        "The worst of them:",
    ]
