"""The headline of a report, computed from incidents, stalls, failed starts and findings together.

It never says that all is well where one of them is above severity info, and never that nobody stalled where a client
did.
"""

from collections import Counter
from dataclasses import replace

from kafkascope_analyzer.dataset.stall_limit import DEFAULT_STALL_MS, limit_text
from kafkascope_analyzer.report.formatting import count, list_of, safe, span
from kafkascope_analyzer.report.model.failed_sections import FailedPartRow
from kafkascope_analyzer.report.model.findings import Finding, severity_order
from kafkascope_analyzer.report.model.incidents.families import stall_severity
from kafkascope_analyzer.report.model.incidents.load import Facts
from kafkascope_analyzer.report.model.incidents.model import (
    ERROR,
    INFO,
    NONE,
    UNKNOWN,
    WARNING,
    Headline,
    Incidents,
    Judged,
)
from kafkascope_analyzer.report.model.incidents.preconditions import missing_sentence
from kafkascope_analyzer.report.model.incidents.waits import stalled_names, who_waited
from kafkascope_spark.stories.startups.table import StartupRow

NAMED = 3
_ABOUT_AN_ADDRESS = frozenset({"dns", "tcp_connect", "tls_handshake"})
"""Steps of a start that fail at an address or name, which no incident may name."""
MOST_FAILED_NAMED = 5
"""Most failed parts of the analysis that the headline names."""


def headline_of(facts: Facts, incidents: Incidents, findings: tuple[Finding, ...], n_errors: int) -> Headline:
    """Returns the headline. n_errors: error codes in the brokers' responses."""
    judged = judged_of(facts, incidents, findings)
    verdict = min((each.severity for each in judged if each.severity != INFO), key=severity_order, default=NONE)
    if verdict == NONE and (not facts.has_incidents or facts.no_kafka or facts.missing or facts.doubt):
        verdict = UNKNOWN
    sentence, details = _sentences(facts, incidents, findings, n_errors)
    who = _stalled(facts)
    return Headline(
        verdict=verdict,
        judged=judged,
        sentence=sentence,
        doubt=facts.doubt,
        details=tuple(details),
        n_clients=facts.n_clients,
        n_stalled_clients=len(who),
        n_waiting_clients=len(_waiting(facts)),
        n_stalls=len(facts.stalls),
        longest_ms=max((stall.waited_ms for stall in facts.stalls), default=None),
        n_failed_starts=len(facts.failed_starts),
    )


def judged_of(facts: Facts, incidents: Incidents, findings: tuple[Finding, ...]) -> tuple[Judged, ...]:
    """Returns the things whose worst severity is the verdict. --fail-on counts them by this definition too. A stall of
    an incident counts with its incident."""
    alone = [stall for stall in facts.stalls if stall.incident_id is None]
    counts = {
        "incident": incidents.by_severity,
        "stall": Counter(stall_severity(stall) for stall in alone),
        "failed start": {ERROR: len(facts.failed_starts)},
        "finding": Counter(finding.severity or INFO for finding in findings),
    }
    return tuple(
        Judged(kind, severity, by_severity[severity])
        for kind, by_severity in counts.items()
        for severity in sorted(by_severity, key=severity_order)
        if by_severity[severity]
    )


def _sentences(
    facts: Facts, incidents: Incidents, findings: tuple[Finding, ...], n_errors: int
) -> tuple[str, list[str]]:
    """Returns the first sentence, and the sentences after it."""
    kept = [missing_sentence(facts.missing)] if facts.missing else []
    if facts.no_kafka:
        kept.append(f"{facts.no_kafka[:1].upper()}{facts.no_kafka[1:]}.")
    kept += _what_happened(facts, incidents, findings, n_errors, known=not kept)
    if facts.doubt and not _is_calm(facts, incidents, _alone(findings)):
        kept.insert(1, f"Whether more failed is unknown: {facts.doubt}.")
    return kept[0], kept[1:]


def _what_happened(
    facts: Facts, incidents: Incidents, findings: tuple[Finding, ...], n_errors: int, *, known: bool
) -> list[str]:
    """Returns the sentences about incidents, stalls, starts and findings. known: whether the capture shows enough to
    say that nothing failed.
    """
    alone = _alone(findings)
    if not facts.has_incidents:
        found = [text for text in (_starts(facts), _findings(alone, "Findings")) if text]
        return [incidents.why_not or "", *found] if known else found
    parts = [
        _incidents(incidents),
        _stalls(facts, incidents),
        _starts(facts),
        _findings(_graver(incidents, findings), "Findings that belong to incidents"),
        _findings(alone, "Besides, findings" if incidents.n else "Findings"),
    ]
    kept = [text for text in parts if text]
    if _is_calm(facts, incidents, alone):
        return _nothing_failed(facts, n_errors) if known else []
    kept_out = any(row.longest_ms >= facts.stall_ms and row.severity != INFO for row in facts.incidents)
    # A client that gets no successful response may have no stall: then a finding of severity error reports it.
    is_failing = any(finding.severity == ERROR for finding in alone)
    if known and not (facts.stalls or facts.failed_starts or facts.doubt or kept_out or is_failing):
        kept.append(f"No client stalled for {limit_text(facts.stall_ms)} or longer.")
    return kept


def _is_calm(facts: Facts, incidents: Incidents, alone: list[Finding]) -> bool:
    """Whether nothing above severity info is known."""
    return facts.has_incidents and not (incidents.n or facts.stalls or facts.failed_starts or alone)


def _nothing_failed(facts: Facts, n_errors: int) -> list[str]:
    """Returns the sentences for a capture in which nothing failed, as far as it is known."""
    if facts.doubt:
        return [f"Whether anything failed is unknown: {facts.doubt}. What could be read shows no failure."]
    return ["Nothing failed that the capture shows.", _calm(facts, n_errors)]


def _calm(facts: Facts, n_errors: int) -> str:
    n_clients = facts.n_clients
    errors = f" Brokers returned {count(n_errors, 'error code')}; no client waited that long because of them."
    still = f"stalled for {limit_text(facts.stall_ms)} or longer"
    return f"None of {count(n_clients, 'client')} {still}, and no start failed.{errors if n_errors else ''}"


def _incidents(incidents: Incidents) -> str:
    if not incidents.n:
        return ""
    first = incidents.listed[0]
    worst = f"{first.title}, {first.when}."
    if incidents.n == 1:
        state = "over" if first.over else "not over" if incidents.n_not_over else "whose end is not seen"
        return f"1 incident, {state}: {worst}"
    counts = [count(n, severity) for severity, n in incidents.by_severity.items() if n and severity != INFO]
    n_open, n_unseen = incidents.n_not_over, incidents.n_not_seen
    over = [f"{n_open:,} not over when the capture ended"] if n_open else []
    over += [f"{n_unseen:,} whose end is not seen"] if n_unseen else []
    ends = ", ".join(over) or "all over"
    return f"{count(incidents.n, 'incident')} ({', '.join(counts)}), {ends}. The worst: {worst}"


def _stalls(facts: Facts, incidents: Incidents) -> str:
    if not facts.stalls:
        return ""
    who, waiting = _stalled(facts), _waiting(facts)
    longest = max(facts.stalls, key=lambda stall: stall.waited_ms)
    n_clients = facts.n_clients
    limit = "" if facts.stall_ms == DEFAULT_STALL_MS else f" for {limit_text(facts.stall_ms)} or longer"
    some = f"{len(who):,} of {count(max(n_clients, len(who)), 'client')} stalled{limit}"
    lasted = f"{span(1000 * longest.waited_ms)} ({safe(who_waited(longest, facts))})"
    if not waiting:
        return f"{some}, the longest for {lasted}{_end(facts, incidents)}."
    names = list_of([safe(name) for name in waiting.values()], NAMED)
    were = "was" if len(waiting) == 1 else "were"
    return f"{some}, the longest for {lasted}; {names} {were} still waiting when the capture ended."


def _end(facts: Facts, incidents: Incidents) -> str:
    """Returns how the stalls ended, where no client was still waiting when the capture ended."""
    unserved = stalled_names((stall for stall in facts.stalls if stall.served is False), facts)
    if unserved:
        return f"; {list_of([safe(name) for name in unserved.values()], NAMED)} gave up or ended without being served"
    return "; all were served again" if all(incident.over for incident in incidents.listed) else ""


def _stalled(facts: Facts) -> dict[str, str]:
    """Returns the clients that stalled: key -> name."""
    return stalled_names(facts.stalls, facts)


def _waiting(facts: Facts) -> dict[str, str]:
    """Returns the clients that were still waiting when the capture ended: key -> name."""
    return stalled_names((stall for stall in facts.stalls if stall.to_ns is None), facts)


def _starts(facts: Facts) -> str:
    failed = facts.failed_starts
    if not failed:
        return ""
    which = list(dict.fromkeys(_start(row, facts) for row in failed))
    return f"{count(len(failed), 'start')} failed: {list_of(which, NAMED)}."


def _start(row: StartupRow, facts: Facts) -> str:
    where = ""
    if row.failed_step in _ABOUT_AN_ADDRESS and row.failed_subject is not None:
        where = f" of {safe(row.failed_subject)}" + (f" ({row.error_name})" if row.error_name else "")
    return f"{safe(facts.name(row.client_instance_id))}{row.failed_words}{where}"


def _alone(findings: tuple[Finding, ...]) -> list[Finding]:
    """Returns the findings above severity info that belong to no incident."""
    return [finding for finding in findings if finding.incident_id is None and finding.severity != INFO]


def _graver(incidents: Incidents, findings: tuple[Finding, ...]) -> list[Finding]:
    """Returns the findings of incidents that are more severe than any incident: the verdict is theirs."""
    if not incidents.n or incidents.by_severity.get(ERROR):
        return []
    return [finding for finding in findings if finding.incident_id is not None and finding.severity == ERROR]


def _findings(findings: list[Finding], which: str) -> str:
    """Returns the sentence about findings above severity info; which: the words for them."""
    if not findings:
        return ""
    counts = Counter(finding.severity for finding in findings)
    how_many = " and ".join(count(counts[severity], severity) for severity in (ERROR, WARNING) if counts[severity])
    rules = list_of(list(dict.fromkeys(safe(finding.rule) for finding in findings)), NAMED)
    return f"{which}: {how_many} ({rules})."


def with_failures(headline: Headline, failed: tuple[FailedPartRow, ...]) -> Headline:
    """Returns the headline with the failed parts; it does not say that all is well where one of them might show
    otherwise."""
    if not failed:
        return headline
    sentences = [f"A part of the analysis could not be made: {row.sentence}" for row in failed[:MOST_FAILED_NAMED]]
    left = len(failed) - MOST_FAILED_NAMED
    sentences += [f"{count(left, 'more such part')}: failed_parts in report.json"] if left > 0 else []
    if headline.verdict == NONE or not headline.sentence:
        return replace(headline, verdict=UNKNOWN, sentence=sentences[0], details=tuple(sentences[1:]))
    return replace(headline, details=(*headline.details, *sentences))
