"""Limits of what the capture shows: bytes that did not decode, gaps, packets that were dropped or cut, connections that
existed before it began.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated

from kafkascope_analyzer.dataset.dataset import Dataset
from kafkascope_analyzer.dataset.limits_hit import MEANINGS
from kafkascope_analyzer.dataset.tables import UNDECODED_REASONS
from kafkascope_analyzer.dataset.tables.connections import CLAIMED_JOBS
from kafkascope_analyzer.report.capture_words import cut_sentence
from kafkascope_analyzer.report.formatting import count, size, span
from kafkascope_analyzer.report.model.capture import Capture
from kafkascope_analyzer.report.model.out_of_range import (
    FieldOutOfRange,
    fields_out_of_range,
    out_of_range_sentences,
)
from kafkascope_analyzer.report.rows import select
from kafkascope_analyzer.sql.database import Database

MOST_DETAILS = 3
MOST_FILES = 6
"""Most files that could not be read whole and are named, in a sentence each."""
NO_REASON = "unknown"
_TROUBLE = ("syn_retry", "refused", "rst", "retransmit", "retransmit_differs", "zero_window", "gap", "buffer_limit")
"""TCP events that indicate problems."""


@dataclass(frozen=True, slots=True)
class UndecodedReason:
    """A reason for which bytes did not decode."""

    reason: Annotated[str, "why", (*UNDECODED_REASONS, NO_REASON)]
    n: Annotated[int, "stretches"]
    bytes: Annotated[int, "their bytes"]
    n_details: Annotated[int, "number of distinct details"]
    details: Annotated[tuple[str, ...], "the most common details"]


@dataclass(frozen=True, slots=True)
class EventCount:
    """A kind of TCP event."""

    event: Annotated[str, "event of table tcp_events"]
    n: Annotated[int, "times"]


@dataclass(frozen=True, slots=True)
class ClaimedJob:
    """Encrypted connections that seem to have one job, by the lengths and times of TLS records."""

    job: Annotated[str, "the job: claimed, never confirmed", CLAIMED_JOBS]
    n_connections: Annotated[int, "connections"]
    n_requests: Annotated[int, "their requests"]
    p50_us: Annotated[int | None, "last byte of a request to first byte of its response, microseconds, median"]
    p99_us: Annotated[int | None, "99th percentile"]


@dataclass(frozen=True, slots=True)
class DataQuality:
    """Bytes, packets and connections that the capture does not show in full."""

    undecoded: Annotated[tuple[UndecodedReason, ...], "stream bytes that are not decoded frames, by reason"]
    n_connections: Annotated[int, "connections"]
    n_without_start: Annotated[int, "connections whose SYN is not in the capture"]
    n_still_open: Annotated[int, "connections that were open at its end"]
    n_with_gaps: Annotated[int, "connections with missing bytes"]
    missing_bytes: Annotated[int, "bytes that are missing"]
    n_one_direction: Annotated[int, "connections with only one direction"]
    n_encrypted: Annotated[int, "connections that speak TLS"]
    n_claimed_requests: Annotated[int, "requests on them that only the lengths of TLS records show"]
    claimed_jobs: Annotated[tuple[ClaimedJob, ...], "these connections by inferred job"]
    tcp_events: Annotated[tuple[EventCount, ...], "TCP events that indicate problems"]
    limits_hit: Annotated[dict[str, int], "how much was left out at each limit"]
    out_of_range: Annotated[tuple[FieldOutOfRange, ...], "fields with invalid values, which were read as null"]


_UNDECODED = f"""
with details as (
    select coalesce(nullif(reason, ''), '{NO_REASON}') as reason, nullif(detail, '') as detail, count(*) as n,
        coalesce(sum(bytes), 0)::bigint as bytes
    from undecoded group by all
)
select reason, sum(n)::bigint as n, sum(bytes)::bigint as bytes, count(detail) as n_details,
    coalesce((list(detail order by n desc, detail) filter (detail is not null))[:{MOST_DETAILS}], []) as details
from details group by reason order by bytes desc, reason
"""
_PARTIAL = """
select count(*) as n_connections, count(*) filter (syn_ns is null) as n_without_start,
    count(*) filter (close_kind = 'open') as n_still_open, count(*) filter (missing_bytes <> 0) as n_with_gaps,
    coalesce(sum(missing_bytes), 0)::bigint as missing_bytes,
    count(*) filter ((coalesce(client_segments, 0) = 0) <> (coalesce(server_segments, 0) = 0)
        and coalesce(close_kind, '') not in ('refused', 'unanswered')) as n_one_direction,
    count(*) filter (protocol = 'tls') as n_encrypted,
    coalesce(sum(claimed_requests), 0)::bigint as n_claimed_requests
from connections
"""
_CLAIMED_JOBS = """
select claimed_job as job, count(distinct conn_id) as n_connections, count(*) as n_requests,
    quantile_disc(latency_us, 0.5) as p50_us, quantile_disc(latency_us, 0.99) as p99_us
from requests join connections using (conn_id)
where decoded_by = 'tls_lengths' and claimed_job is not null group by claimed_job order by claimed_job
"""
_EVENTS = "select event, count(*) as n from tcp_events group by event"


def data_quality(database: Database) -> DataQuality:
    """Returns undecoded ranges by reason, missing bytes, connections of which the capture has only a part, limits that
    were reached."""
    names, (counts,) = database.query(_PARTIAL)
    events = {row.event: row for row in select(database, _EVENTS, EventCount)}
    return DataQuality(
        undecoded=tuple(select(database, _UNDECODED, UndecodedReason)),
        **dict(zip(names, counts, strict=True)),
        claimed_jobs=tuple(select(database, _CLAIMED_JOBS, ClaimedJob)) if counts[-1] else (),
        tcp_events=tuple(events[name] for name in _TROUBLE if name in events),
        limits_hit=limits_hit(database.dataset),
        out_of_range=fields_out_of_range(database),
    )


def limits_hit(dataset: Dataset) -> dict[str, int]:
    """Returns how much was left out at each limit, by the names of dataset.limits_hit."""
    hit = dataset.manifest.limits_hit
    return {name: hit[name] for name in MEANINGS if hit.get(name)}


def limit_sentence(name: str, n: int) -> str:
    """Returns the sentence about a limit that was reached."""
    what, fate = MEANINGS[name]
    return f"{count(n, what)} {fate}"


def doubts(found: DataQuality, capture: Capture) -> Iterator[str]:
    """Yields what the capture does not show, in sentences. found, capture: the sections `unread` and `capture`."""
    of = f"of {count(found.n_connections, 'connection')}"
    if found.n_without_start:
        yield f"{found.n_without_start:,} {of} began before the capture did, or without their SYN in it"
    if found.n_one_direction:
        yield f"{found.n_one_direction:,} {of} show one direction only"
    if found.n_with_gaps:
        yield f"{found.n_with_gaps:,} {of} have gaps, {size(found.missing_bytes)} together"
    if found.n_encrypted:
        yield f"{found.n_encrypted:,} {of} are encrypted: their Kafka requests cannot be seen"
    if found.n_claimed_requests:
        yield from _claimed_sentences(found)
    sentences = (cut_sentence(file.path, file.cut_at_byte, file.cut_why, file.unread_bytes) for file in capture.files)
    cut = [sentence for sentence in sentences if sentence]
    yield from cut[:MOST_FILES]
    if len(cut) > MOST_FILES:
        yield f"{count(len(cut) - MOST_FILES, 'more file')} could not be read whole; the table captures has them"
    yield from _clock_sentences(capture)
    for time in capture.uncovered[:MOST_FILES]:
        yield f"{time.text}: no file covers that time, and nothing is known of it"
    if len(capture.uncovered) > MOST_FILES:
        yield f"{count(len(capture.uncovered) - MOST_FILES, 'more time')} that no file covers; report.json lists them"
    if capture.n_truncated:
        yield f"{capture.n_truncated:,} of {capture.packets} were cut by the snap length"
    if capture.n_duplicates:
        yield f"{capture.n_duplicates:,} of {capture.packets} are copies of another captured packet: left out"
    if capture.n_dropped:
        yield f"the capturing program dropped {count(capture.n_dropped, 'packet')}"
    for name, n in found.limits_hit.items():
        yield limit_sentence(name, n)
    yield from out_of_range_sentences(found.out_of_range)


def _claimed_sentences(found: DataQuality) -> Iterator[str]:
    """Yields sentences about requests that only the lengths of TLS records show."""
    yield (
        f"of {count(found.n_claimed_requests, 'encrypted request')} the lengths of TLS records show only when they "
        "were sent and answered"
    )
    jobs = [
        f"{count(job.n_connections, 'connection')} {_JOB_VERBS[job.job]} "
        f"({count(job.n_requests, 'request')}{_latency(job)})"
        for job in found.claimed_jobs
    ]
    if jobs:
        yield f"inferred from these lengths and times: {', '.join(jobs)}"


_JOB_VERBS = {"fetch": "fetched", "produce": "produced", "coordinator": "talked to a coordinator"}


def _latency(job: ClaimedJob) -> str:
    if job.p50_us is None or job.p99_us is None:
        return ""
    return f", answered within {span(job.p50_us)} (p50) and {span(job.p99_us)} (p99)"


def _clock_sentences(capture: Capture) -> Iterator[str]:
    """Yields sentences about times that are wrong."""
    n_wrong, n_leaps = (
        sum(getattr(file, name) or 0 for file in capture.files) for name in ("n_wrong_times", "n_leaps")
    )
    if n_wrong:
        yield (
            f"{n_wrong:,} of {capture.packets} have a time that cannot be (before 1970, or later "
            "than 2099): each was given that of the packet before it"
        )
    if n_leaps:
        yield (
            f"the times of packets leap by 30 days or more {count(n_leaps, 'time')} within a file: the clock was set, "
            "or times are wrong; durations and the order of events across a leap mean nothing"
        )
