"""Rate and latency of the requests of each family of APIs over the capture.

The capture's time is divided into slots (request_counts.slots); a request belongs to the slot in which it was sent, so
that the latency of a request that waited for a broker to come back shows where it began to wait. Every request of the
table counts; a response whose request is not in the capture does not. DuckDB counts latencies in steps of at most 0.8 %
(model.latency has the same), so that its memory grows with families and slots, not with requests, and the same dataset
gives the same numbers.
"""

from collections import defaultdict
from dataclasses import dataclass
from typing import Annotated

import pyarrow as pa

from kafkascope_analyzer.report.api_families import FAMILIES, OTHER, family_numbers
from kafkascope_analyzer.report.formatting import NS_PER_S, clock, count, span
from kafkascope_analyzer.report.model.latency import STEP_SQL
from kafkascope_analyzer.report.model.request_counts.count import SLOT, Count
from kafkascope_analyzer.report.model.request_counts.counts import ReportTables

# Encrypted requests belong to no known family.
_SENT = Count(
    f"""
    with sent as (
        select api_name, {{slot}} as {SLOT}, {STEP_SQL.format(us="broker_us")} as us,
            coalesce(error_code, 0) <> 0 or coalesce(status, '') = 'unanswered' as failed
        from {{requests}} where coalesce(status, '') <> 'orphan_response' and decoded_by is distinct from 'tls_lengths'
    )
    select api_name, {SLOT}, us, count(*) as n, count(*) filter (failed) as n_failed from sent group by all""",
    {"api_name": pa.string(), SLOT: pa.int64(), "us": pa.int64()},
    {"n": ("sum", pa.int64()), "n_failed": ("sum", pa.int64())},
)
_QUERY = """
with steps as (
    select coalesce(family, {other}) as family, {slot} as slot, us, sum(n) as n, sum(n_failed) as n_failed
    from {sent} left join (values {families}) as families(api_name, family) using (api_name) group by all
), ranked as (
    select *, sum(n) over (partition by family, slot order by us nulls last) as n_up_to,
        sum(case when us is not null then n end) over (partition by family, slot) as n_answered
    from steps
)
select family::integer, slot::integer, sum(n)::bigint, sum(n_failed)::bigint,
    min(us) filter (us is not null and 100 * n_up_to >= 99 * n_answered)::bigint
from ranked group by family, slot order by family, slot
"""


@dataclass(frozen=True, slots=True)
class RateSlot:
    """Requests of a family that were sent in one slot of time."""

    from_ns: Annotated[int, "begin of the slot"]
    to_ns: Annotated[int, "end of the slot"]
    n: Annotated[int, "requests"]
    n_failed: Annotated[int, "number of them with an error code or without the expected response"]
    per_second: Annotated[float, "requests a second"]
    p99_ms: Annotated[
        float | None, "99th percentile of the broker's time with those that were answered (at most 0.8 % low)"
    ]
    when: Annotated[str, "from when to when, after the capture's start"]
    text: Annotated[str, "rate, latency and failures in words"]


@dataclass(frozen=True, slots=True)
class FamilyRates:
    """Requests of a family of APIs over the capture."""

    family: Annotated[str, "family of APIs"]
    title: Annotated[str, "what its requests are for"]
    short_title: Annotated[str, "title in one word"]
    n: Annotated[int, "requests"]
    n_failed: Annotated[int, "number of them with an error code or without the expected response"]
    most_per_second: Annotated[float, "requests a second in the busiest slot"]
    most_p99_ms: Annotated[float | None, "the longest 99th percentile of a slot"]
    text: Annotated[str, "the slots with most requests and the longest latency, and failures, in words"]
    slots: Annotated[tuple[RateSlot, ...], "slots with requests, by time"]


@dataclass(frozen=True, slots=True)
class RequestRates:
    """Requests over the capture, by family of APIs."""

    n_slots: Annotated[int, "slots into which the capture is divided: equal ones, but the last goes on to its end"]
    slot_text: Annotated[str, "length of each slot"]
    families: Annotated[tuple[FamilyRates, ...], "families with requests"]


def request_rates(database: ReportTables) -> RequestRates:
    """Returns rates and latencies by family and slot. Raises UsageError where the table requests cannot be read."""
    slots = database.counts.slots
    found: dict[int, list[RateSlot]] = defaultdict(list)
    query = _QUERY.format(
        families=", ".join(f"('{api}', {number})" for api, number in sorted(family_numbers().items())),
        other=OTHER,
        slot=slots.number_sql(SLOT),
        sent=database.counts.of(_SENT),
    )
    for family, slot, n, n_failed, p99_us in database.query(query)[1]:
        begin, end = slots.times(slot)
        when = f"{clock(begin - slots.start_ns)} to {clock(end - slots.start_ns)}"
        per_second = round(n * NS_PER_S / (end - begin), 3)
        p99_ms = None if p99_us is None else p99_us / 1000
        text = _text(f"{_rate(per_second)} requests/s", p99_us, n, n_failed)
        found[family].append(RateSlot(begin, end, n, n_failed, per_second, p99_ms, when, text))
    families = tuple(_family(number, tuple(found[number])) for number in sorted(found))
    return RequestRates(
        n_slots=slots.n,
        slot_text=span(slots.length_ns // 1000),
        families=families,
    )


def _family(number: int, slots: tuple[RateSlot, ...]) -> FamilyRates:
    family = FAMILIES[number]
    n, n_failed = sum(slot.n for slot in slots), sum(slot.n_failed for slot in slots)
    busiest = max(slot.per_second for slot in slots)
    slowest_ms = max((slot.p99_ms for slot in slots if slot.p99_ms is not None), default=None)
    slowest_us = None if slowest_ms is None else round(slowest_ms * 1000)
    return FamilyRates(
        family=family.name,
        title=family.title,
        short_title=family.short,
        n=n,
        n_failed=n_failed,
        most_per_second=busiest,
        most_p99_ms=slowest_ms,
        text=_text(f"up to {_rate(busiest)}/s", slowest_us, n, n_failed),
        slots=slots,
    )


def _text(rate: str, p99_us: int | None, n: int, n_failed: int) -> str:
    latency = "none answered" if p99_us is None else f"p99 {span(p99_us)}"
    failed = f", {n_failed:,} of {count(n, 'request')} failed" if n_failed else ""
    return f"{rate}, {latency}{failed}"


def _rate(per_second: float) -> str:
    """Returns a rate with about three significant digits, as durations have."""
    return (
        f"{per_second:,.2f}" if per_second < 10 else f"{per_second:,.1f}" if per_second < 100 else f"{per_second:,.0f}"
    )
