"""The report as a trace for ui.perfetto.dev: a process a client instance, a thread a connection, requests as slices.

Starts with their steps and recoveries are tracks of the client; flows join the request that met an error, the recovery,
and the request that ended it. Requests are sorted a stretch of time after the other, so that memory does not grow.
"""

from collections.abc import Iterator
from hashlib import blake2b
from itertools import pairwise
from pathlib import Path
from typing import Any

from kafkascope_analyzer.dataset.dataset import Dataset
from kafkascope_analyzer.dataset.temporary_folders import temporary_folder
from kafkascope_analyzer.report.formatting import safe
from kafkascope_analyzer.report.trace.packets import Args, TraceWriter
from kafkascope_analyzer.report.trace.tracks import Tracks
from kafkascope_analyzer.sql.database import Database

MEMORY = "256MB"
REQUESTS_AT_A_TIME = 100_000
"""Requests, about, of a stretch of time that is sorted at once."""
MOST_FLOWS = 8
"""Flows of one request: it may have met an error for a thousand partitions."""

_REQUESTS = """
select r.request_id, conn_id, ts_ns, request_last_ns, response_last_ns, status, api_name, error_name, n_errors,
       {flows} as flows,
       {{'version': api_version, 'correlation_id': correlation_id, 'request_packet': request_packet_no,
       'response_packet': response_packet_no, 'capture_id': capture_id, 'latency_us': latency_us,
       'queued_us': queued_us, 'broker_us': broker_us, 'group_id': group_id,
       'transactional_id': transactional_id, 'records': n_records,
       'record_bytes': record_bytes, 'throttle_ms': throttle_ms}} as args
from requests r {join} where ts_ns >= {first} and ts_ns < {end} order by ts_ns, r.request_id
"""
_FLOWS = """
left join (select request_id, list_sort(list(distinct recovery_id)) as recovery_ids from recovery_steps
where step in ('error', 'success') and request_id is not null group by request_id) f using (request_id)
"""
_STARTS = """
select client_instance_id, startup_id, start_no, start_ns, ready_ns, outcome, failed_step, error_name,
       (select max(end_ns) from startup_steps p where p.startup_id = s.startup_id) as last_ns
from startups s where start_ns is not null order by start_ns, startup_id
"""
_STEPS = """
select client_instance_id, step, subject, p.start_ns, end_ns, p.outcome, p.error_name, attempt, on_critical_path,
       broker_us, wait_us, node_id
from startup_steps p join startups s using (startup_id) where p.start_ns is not null
order by p.start_ns, startup_id, seq
"""
_RECOVERIES = """
select client_instance_id, recovery_id, start_ns, recovered_ns, first_error_name, resource, outcome, reaction, n_errors,
       n_wasted_requests, old_node_id, new_node_id,
       (select max(ts_ns) from recovery_steps p where p.recovery_id = r.recovery_id) as last_ns
from recoveries r where start_ns is not null order by start_ns, recovery_id
"""
_SIGNS = """
select conn_id, ts_ns, step, error_name, recovery_id from recovery_steps
where step in ('error', 'success') and request_id is null and conn_id is not null and ts_ns is not null
order by ts_ns, recovery_id, seq
"""


def write_perfetto(dataset: Dataset, place: Path) -> None:
    """Writes the trace. Raises UsageError where a table cannot be read; OSError."""
    with (
        temporary_folder("trace") as scratch,
        Database(dataset, scratch=scratch, memory_limit=MEMORY) as database,
        place.open("wb") as file,
    ):
        writer = TraceWriter(file)
        first_ns = next(database.query("select min(first_ns) from captures")[1])[0]
        writer.begin(first_ns or 0)
        tracks = Tracks(database, writer)
        _requests(database, writer, tracks)
        if database.has("startups"):
            _starts(database, writer, tracks)
        if database.has("recoveries"):
            _recoveries(database, writer, tracks)
        writer.flush()


def flow_of(recovery_id: str) -> int:
    """The flow that joins what belongs to a recovery: 64 bits, the same each time."""
    return int.from_bytes(blake2b(recovery_id.encode(), digest_size=8).digest(), "little")


def _requests(database: Database, writer: TraceWriter, tracks: Tracks) -> None:
    joined = database.has("recovery_steps")
    for first, end in pairwise(_stretches(database)):
        words = {"flows": "recovery_ids" if joined else "null", "join": _FLOWS if joined else ""}
        _some_requests(database.query(_REQUESTS.format(**words, first=first, end=end))[1], writer, tracks)


def _stretches(database: Database) -> list[int]:
    """Times, ascending, between which there are not many more than REQUESTS_AT_A_TIME requests; from the first on and
    until after the last. Where exactly they lie changes nothing in the trace.
    """
    n, first_ns, last_ns = next(database.query("select count(*), min(ts_ns), max(ts_ns) from requests")[1])
    if not n:
        return []
    n_stretches = n // REQUESTS_AT_A_TIME + 1
    shares = [part / n_stretches for part in range(1, n_stretches)]
    if not shares:
        return [first_ns, last_ns + 1]
    (inner,) = next(database.query(f"select approx_quantile(ts_ns, {shares}) from requests")[1])
    return [first_ns, *sorted({int(ns) for ns in inner if first_ns < ns <= last_ns}), last_ns + 1]


def _some_requests(rows: Iterator[tuple[Any, ...]], writer: TraceWriter, tracks: Tracks) -> None:
    for request_id, conn_id, ts_ns, sent_ns, end_ns, status, api, error, n_errors, flows, args in rows:
        thread = tracks.of_connection.get(conn_id)
        if thread is None:
            continue
        name = safe(api or "unknown API") + (f": {safe(error)}" if n_errors and error else "")
        details = {"request_id": request_id, **_safe(args)}
        joined_by = [flow_of(recovery_id) for recovery_id in (flows or ())[:MOST_FLOWS]]
        until_ns = end_ns if end_ns is not None else sent_ns if status == "no_response_expected" else None
        span_ns = ts_ns, max(until_ns, ts_ns) if until_ns is not None else ts_ns
        lane = tracks.free(thread, span_ns, "in flight") if until_ns is not None else None
        if lane is None:
            word = "" if status == "ok" else f" ({(status or 'unanswered').replace('_', ' ')})"
            writer.instant(thread, ts_ns, name + word, details, joined_by)
        else:
            writer.slice(lane, span_ns, name, details, joined_by)


def _safe(args: Args) -> dict[str, int | str | None]:
    """Arguments with strangers' text made safe, without those that say nothing."""
    return {key: safe(value) if isinstance(value, str) else value for key, value in args.items() if value is not None}


def _on_client(database: Database, query: str, tracks: Tracks) -> Iterator[tuple[int, tuple[Any, ...]]]:
    """(process, the row without the client) of each row whose client is in the trace."""
    for identity, *row in database.query(query)[1]:
        process = tracks.of_client.get(identity)
        if process is not None:
            yield process, tuple(row)


def _starts(database: Database, writer: TraceWriter, tracks: Tracks) -> None:
    for process, row in _on_client(database, _STARTS, tracks):
        startup_id, number, start_ns, ready_ns, outcome, failed_step, error, last_ns = row
        span_ns = start_ns, max(start_ns, ready_ns or last_ns or start_ns)
        lane = tracks.free(tracks.named(process, "starts"), span_ns, "starts")
        name = f"start {number}: {(outcome or 'cut').replace('_', ' ')}"
        if lane is not None:
            writer.slice(
                lane, span_ns, name, _safe({"startup_id": startup_id, "failed_step": failed_step, "error": error})
            )
    names = ("outcome", "error", "attempt", "on_critical_path", "broker_us", "wait_us", "node_id")
    for process, (step, subject, start_ns, end_ns, *rest) in _on_client(database, _STEPS, tracks):
        span_ns = start_ns, max(start_ns, end_ns or start_ns)
        lane = tracks.free(tracks.named(process, "start steps"), span_ns, "start steps")
        args = _safe({"subject": subject, **dict(zip(names, rest, strict=True))})
        if lane is not None:
            writer.slice(lane, span_ns, (step or "step").replace("_", " "), args)


def _recoveries(database: Database, writer: TraceWriter, tracks: Tracks) -> None:
    names = ("resource", "outcome", "reaction", "errors", "wasted_requests", "old_node_id", "new_node_id")
    for process, (recovery_id, start_ns, recovered_ns, error, *rest, last_ns) in _on_client(
        database, _RECOVERIES, tracks
    ):
        span_ns = start_ns, max(start_ns, recovered_ns or last_ns or start_ns)
        lane = tracks.free(tracks.named(process, "recoveries"), span_ns, "recoveries")
        if lane is not None:
            args = _safe({"recovery_id": recovery_id, **dict(zip(names, rest, strict=True))})
            writer.slice(
                lane, span_ns, f"{safe(error or 'error')} on {safe(rest[0] or '?')}", args, [flow_of(recovery_id)]
            )
    if not database.has("recovery_steps"):
        return
    for conn_id, ts_ns, step, error, recovery_id in database.query(_SIGNS)[1]:
        thread = tracks.of_connection.get(conn_id)
        if thread is not None:
            writer.instant(thread, ts_ns, safe(error or step), {"recovery_id": recovery_id}, [flow_of(recovery_id)])
