"""The clients that an incident affected, and for how long, in the few words for which the table of
incidents has room."""

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping

from kafkascope_analyzer.dataset.stall_limit import DEFAULT_STALL_MS
from kafkascope_analyzer.report.formatting import count, span
from kafkascope_analyzer.report.model.incidents.families import Family
from kafkascope_analyzer.report.model.incidents.load import Facts
from kafkascope_analyzer.report.model.incidents.waits import stalled_names
from kafkascope_analyzer.report.model.moments import Moment, at_text, from_to_text, moment_of
from kafkascope_spark.stories.incidents.kinds import names_of
from kafkascope_spark.stories.incidents.table import Ending, IncidentRow
from kafkascope_spark.stories.stalls.table import Stall

_HARM = (("n_records_late", "late"), ("n_records_failed", "failed"), ("n_records_again", "fetched again"))
_GOES_ON: Mapping[Ending, str] = {
    "over": "",
    "going_on": "; the fault itself was not over when the capture ended",
    "not_seen": "; the end of the fault itself is not seen",
}
"""What is said of an incident whose harm has an end."""
_MOVES = names_of(lambda kind: kind.is_move)


def fault_start(root: IncidentRow, start_ns: int) -> Moment:
    """Returns when the fault itself began; where the capture does not show that, when the incident began. start_ns: the
    capture's start."""
    if root.fault_start_ns is None:
        return moment_of(None, root.start_ns, start_ns)
    return moment_of(root.fault_start_after_ns, root.fault_start_ns, start_ns)


def fault_end(root: IncidentRow, start_ns: int) -> Moment | None:
    """Returns when the fault itself was over; where the capture does not show when it began either, when the incident
    was over. A move is over once it has happened."""
    if root.kind in _MOVES:
        return fault_start(root, start_ns)
    if root.fault_start_ns is None:
        return None if root.end_ns is None else moment_of(None, root.end_ns, start_ns)
    return None if root.fault_end_ns is None else moment_of(root.fault_end_after_ns, root.fault_end_ns, start_ns)


def ending_of(family: Family) -> Ending:
    """Returns whether the incident is over with its consequences, both for the affected clients and for the fault
    itself. Clients may give up before a broker serves again."""
    found = {family.root.ending, *(row.ending for row in family.members if row.end_ns is None)}
    if "going_on" in found or any(stall.to_ns is None for stall in family.stalls):
        return "going_on"
    return "not_seen" if "not_seen" in found else "over"


def unended_text(family: Family) -> str:
    """Returns what is known of the end of an incident without one."""
    return "its end is not seen" if ending_of(family) == "not_seen" else "not over when the capture ended"


def when_text(family: Family, capture_ns: int) -> str:
    """Returns from when to when the incident did harm, for how long, and whether the fault went on after that."""
    if family.end_ns is None:
        return f"from {at_text(family.start_ns, capture_ns)}, {unended_text(family)}"
    harm = _time_text(family.start_ns, family.end_ns, capture_ns)
    return f"{harm}{_GOES_ON[ending_of(family)]}"


def who_text(family: Family, facts: Facts) -> str:
    """Returns the clients that stalled and for how long, and the affected records: `3 of 5 clients, longest 12.3 s, 40
    records late`. Where nobody stalled: how many clients had to recover, or how many hosts could not connect. For a
    restricted dataset only its own stalls and clients count, because the counts in the incidents' rows are about all
    clients."""
    return ", ".join([_who(family, facts), *(_records(family) if facts.restriction is None else ())])


def _records(family: Family) -> Iterator[str]:
    """Yields how many records were late, failed, or were fetched again, as far as packets show it."""
    for column, what in _HARM:
        n = _total(family, column)
        if n:
            yield f"{count(n, 'record')} {what}"


def _total(family: Family, column: str) -> int:
    return sum(getattr(member, column) for member in family.members)


def _who(family: Family, facts: Facts) -> str:
    stalls = [*family.stalls, *family.earlier_stalls]
    n, n_all = len(stalled_names(stalls, facts)), facts.n_clients
    if not n:
        return _who_met_it(family, is_restricted=facts.restriction is not None)
    longest = span(1000 * max(stall.waited_ms for stall in stalls))
    return f"{n:,} of {count(max(n, n_all), 'client')}, longest {longest}"


def _who_met_it(family: Family, *, is_restricted: bool) -> str:
    """Returns how many clients had to recover, or hosts could not connect, and the longest time for which one of them
    could not work."""
    if is_restricted:
        return count(len(family.clients), "client") if family.clients else "nobody"
    is_long = family.longest_ms >= DEFAULT_STALL_MS
    how_long = f"longest {span(1000 * family.longest_ms)}" if is_long else "none stalled"
    hosts = {host for member in family.members for host in member.encrypted_hosts}
    if hosts:
        return f"{count(len(hosts), 'encrypted host')}, {how_long}"
    if family.clients:
        return f"{count(len(family.clients), 'client')}, {how_long}"
    kept_out = {host for member in family.members for host in member.kept_out_hosts}
    waiting = kept_out or set(family.root.hosts)
    return f"{count(len(waiting), 'host')}, {how_long}" if is_long and waiting else "nobody"


def served_after_text(family: Family, began_ns: int, facts: Facts) -> str:
    """Returns how long after the beginning of the fault the last client was served again, and which clients were not:
    `12.4 s`, `9.1 s, 1 gave up`, `2 still waiting`. For a fault that recurred: the longest time, and how often it
    occurred. Empty where nobody stalled."""
    stalls = [*family.stalls, *family.earlier_stalls]
    begun = [began_ns, *(stretch.start_ns for stretch in family.root.stretches[1:])]
    ends = [stall.to_ns for stall in stalls if stall.served and stall.to_ns is not None]
    lasted = [end_ns - begun[max(bisect_right(begun, end_ns) - 1, 0)] for end_ns in ends]
    waiting = _n(facts, (stall for stall in stalls if stall.to_ns is None))
    gave_up = _n(facts, (stall for stall in stalls if stall.served is False))
    parts = [span(max(0, *lasted) // 1000)] if ends else []
    parts += [f"{len(begun):,} times"] if len(begun) > 1 else []
    parts += [f"{waiting:,} still waiting"] if waiting else []
    parts += [f"{gave_up:,} gave up"] if gave_up else []
    return ", ".join(parts) or ("not known" if stalls else "")


def _n(facts: Facts, stalls: Iterable[Stall]) -> int:
    return len(stalled_names(stalls, facts))


def _time_text(start: int, end: int, capture_ns: int) -> str:
    """Returns from when to when, and for how long: `00:06.816 to 00:35.900 (12:20:00.671 to 12:20:29.755 UTC, 29.1 s)`;
    for a single moment, when."""
    if end == start:
        return f"at {at_text(start, capture_ns)}"
    return from_to_text(start, end, capture_ns, lasted=True)
