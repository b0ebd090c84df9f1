"""The report as a trace for ui.perfetto.dev: a process per client instance, a thread per connection, requests as
slices.

Starts with their steps and recoveries are tracks of the client; flows join the request that met an error, the recovery,
and the request that ended it. A further process shows the cluster (cluster.py).
"""

from pathlib import Path

from kafkascope_analyzer.report.formatting import safe
from kafkascope_analyzer.report.trace.cluster import write_cluster
from kafkascope_analyzer.report.trace.flows import flow_of
from kafkascope_analyzer.report.trace.packets import Args, TraceWriter
from kafkascope_analyzer.report.trace.tracks import Tracks
from kafkascope_analyzer.report.trace_model import TraceModel, TraceRecovery, TraceRequest, TraceStep

MOST_FLOWS = 8
"""Most flows of one request: it may have got an error for a thousand partitions."""


def write_perfetto(model: TraceModel, place: Path) -> None:
    """Writes the trace. Raises UsageError where a table of the model cannot be read; OSError."""
    with place.open("wb") as file:
        writer = TraceWriter(file)
        writer.begin(model.begin_ns)
        tracks = Tracks(model, writer)
        for request in model.requests():
            _request(request, writer, tracks)
        _starts(model, writer, tracks)
        _recoveries(model, writer, tracks)
        write_cluster(model.cluster, writer, tracks)
        writer.flush()


def _request(row: TraceRequest, writer: TraceWriter, tracks: Tracks) -> None:
    thread = tracks.of_connection.get(row.conn_id)
    if thread is None:
        return
    error = f": {safe(row.error_name)}" if row.n_errors and row.error_name else ""
    joined_by = [flow_of(recovery_id) for recovery_id in row.recovery_ids[:MOST_FLOWS]]
    until_ns = row.response_last_ns
    if until_ns is None and row.status == "no_response_expected":
        until_ns = row.request_last_ns
    span_ns = row.ts_ns, max(until_ns, row.ts_ns) if until_ns is not None else row.ts_ns
    lane = tracks.free(thread, span_ns, "in flight") if until_ns is not None else None
    name = safe(row.api_name or "unknown API") + error
    if lane is None:
        word = "" if row.status == "ok" else f" ({(row.status or 'unanswered').replace('_', ' ')})"
        writer.instant(thread, row.ts_ns, name + word, _details(row), joined_by)
    else:
        writer.slice(lane, span_ns, name, _details(row), joined_by)


def _details(row: TraceRequest) -> Args:
    """Returns the arguments of a request."""
    details = {
        "request_id": row.request_id,
        "version": row.api_version,
        "correlation_id": row.correlation_id,
        "request_packet": row.request_packet_no,
        "response_packet": row.response_packet_no,
        "capture_id": row.capture_id,
        "latency_us": row.latency_us,
        "queued_us": row.queued_us,
        "broker_us": row.broker_us,
        "group_id": row.group_id,
        "transactional_id": row.transactional_id,
        "records": row.n_records,
        "record_bytes": row.record_bytes,
        "throttle_ms": row.throttle_ms,
    }
    return _safe(details)


def _safe(args: Args) -> Args:
    """Returns the arguments with text from the wire made safe, without empty ones."""
    return {key: safe(value) if isinstance(value, str) else value for key, value in args.items() if value is not None}


def _starts(model: TraceModel, writer: TraceWriter, tracks: Tracks) -> None:
    for row in model.starts():
        process = tracks.of_client.get(row.client_instance_id)
        if process is None:
            continue
        span_ns = row.start_ns, max(row.start_ns, row.ready_ns or row.last_ns or row.start_ns)
        lane = tracks.free(tracks.named(process, "starts"), span_ns, "starts")
        name = f"start {row.start_no}: {(row.outcome or 'cut').replace('_', ' ')}"
        if lane is not None:
            args = {"startup_id": row.startup_id, "failed_step": row.failed_step, "error": row.error_name}
            writer.slice(lane, span_ns, name, _safe(args))
    for step in model.start_steps():
        _start_step(step, writer, tracks)


def _start_step(row: TraceStep, writer: TraceWriter, tracks: Tracks) -> None:
    process = tracks.of_client.get(row.client_instance_id)
    if process is None:
        return
    span_ns = row.start_ns, max(row.start_ns, row.end_ns or row.start_ns)
    lane = tracks.free(tracks.named(process, "start steps"), span_ns, "start steps")
    if lane is None:
        return
    args = {
        "subject": row.subject,
        "outcome": row.outcome,
        "error": row.error_name,
        "attempt": row.attempt,
        "on_critical_path": row.on_critical_path,
        "broker_us": row.broker_us,
        "wait_us": row.wait_us,
        "node_id": row.node_id,
    }
    writer.slice(lane, span_ns, (row.step or "step").replace("_", " "), _safe(args))


def _recoveries(model: TraceModel, writer: TraceWriter, tracks: Tracks) -> None:
    for row in model.recoveries():
        _recovery(row, writer, tracks)
    for step in model.connection_steps():
        thread = tracks.of_connection.get(step.conn_id)
        if thread is not None:
            args = {"recovery_id": step.recovery_id}
            name = safe(step.error_name or step.step)
            writer.instant(thread, step.ts_ns, name, args, [flow_of(step.recovery_id)])


def _recovery(row: TraceRecovery, writer: TraceWriter, tracks: Tracks) -> None:
    process = tracks.of_client.get(row.client_instance_id)
    if process is None:
        return
    span_ns = row.start_ns, max(row.start_ns, row.recovered_ns or row.last_ns or row.start_ns)
    lane = tracks.free(tracks.named(process, "recoveries"), span_ns, "recoveries")
    if lane is None:
        return
    args = {
        "recovery_id": row.recovery_id,
        "resource": row.resource,
        "outcome": row.outcome,
        "reaction": row.reaction,
        "errors": row.n_errors,
        "wasted_requests": row.n_wasted_requests,
        "old_node_id": row.old_node_id,
        "new_node_id": row.new_node_id,
    }
    name = f"{safe(row.first_error_name or 'error')} on {safe(row.resource or '?')}"
    writer.slice(lane, span_ns, name, _safe(args), [flow_of(row.recovery_id)])
