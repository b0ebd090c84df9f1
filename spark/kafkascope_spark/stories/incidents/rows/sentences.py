"""Sentences of an incident: what failed, from when to when, and which clients stalled because of it."""

from collections.abc import Sequence

from kafkascope_parsers.error_facts import SERVER_CLOSED
from kafkascope_spark.stories.findings.wording import counted, duration, listed
from kafkascope_spark.stories.incidents.errors.error_messages import quoted
from kafkascope_spark.stories.incidents.extent.brackets import fault_of
from kafkascope_spark.stories.incidents.extent.localization import doubt
from kafkascope_spark.stories.incidents.failures.failure import UNSERVED, Failure
from kafkascope_spark.stories.incidents.failures.times import Times
from kafkascope_spark.stories.incidents.texts.misuse_sentences import misuse_impact, misuse_known
from kafkascope_spark.stories.incidents.texts.texts import BY_STATES, BY_TIMES, expiry
from kafkascope_spark.stories.stalls.table import Stall


def sentence_of(failure: Failure, end_ns: int | None, start_ns: int) -> str:
    """Returns what failed, from when to when, and which clients stalled because of it. end_ns: when the last of them
    was served again; start_ns: start of the capture, from which times count."""
    times = Times(start_ns)
    what = failure.kind.sentence(failure, times)
    impact = f"{_impact(failure, end_ns, times)}{_encrypted(failure)}{_earlier(failure)}"
    return f"{what}. {_session(failure, times)}{impact}{_fault(failure, times)}{doubt(failure)}{quoted(failure)}"


def how_known(failure: Failure) -> str:
    """Returns the evidence in the capture, in words."""
    known = failure.kind.known if failure.misuse is None else misuse_known(failure.misuse)
    if known == BY_STATES and failure.responses.latencies.of_pairs and not failure.states:
        known = BY_TIMES
    if failure.process.session is None or failure.kind.by_session:
        return known
    return f"{known}; its ZooKeeper session"


def _session(failure: Failure, times: Times) -> str:
    """Returns when the broker's ZooKeeper session ended, which makes the controller move its leaders; empty if no
    session ended."""
    session = failure.process.session
    if session is None or failure.kind.by_session:
        return ""
    if session.is_closed:
        return f"It closed its ZooKeeper session at {times.at(session.over_ns)}, as in a clean shutdown. "
    lost = f"Its ZooKeeper session was lost: {expiry(session, times)}"
    return f"{lost}; only then the controller moves a broker's leaders. "


def _fault(failure: Failure, times: Times) -> str:
    """Returns between which packets the fault itself began and ended; empty if these times add nothing to those of the
    failure."""
    fault = fault_of(failure)
    own = (failure.start_ns, failure.end_ns)
    if fault.start_ns is None or fault.moments <= set(own):
        return ""
    if failure.kind.is_move:
        return f" The first packet that shows the move is at {times.at(fault.start_ns)}."
    what = "Packets show that it" if own == (fault.start_ns, fault.end_ns) else "The fault itself"
    began = f" {what} began {times.between(fault.start_after_ns, fault.start_ns)}"
    if fault.end_ns is None:
        return f"{began}; the capture does not show its end."
    return f"{began} and ended {times.between(fault.end_after_ns, fault.end_ns)}."


def _impact(failure: Failure, end_ns: int | None, times: Times) -> str:
    """Returns which clients stalled, and when the last was served again."""
    stalls = failure.stalls
    if not stalls:
        return _impact_without_stalls(failure)
    stalled = f"seem{'s' if _is_one(stalls) else ''} to have stalled" if all(s.claimed for s in stalls) else "stalled"
    longest = duration(max(stall.waited_ms for stall in stalls) * 1_000_000)
    harm = f"{_who(stalls, at_start=True)} {stalled}, for {longest} at the longest"
    if end_ns is None:
        return f"{harm}; at least one was still waiting at the end of the capture."
    going_on = [stall for stall in stalls if stall.stall_id in failure.outlasting]
    if going_on:
        return f"{harm}; {_who(going_on)} went on waiting because of a later incident."
    unserved = [stall for stall in stalls if stall.served is False]
    if not unserved:
        return f"{harm}; the last was served again at {times.at(end_ns)}."
    gave_up = f"{_who(unserved)} gave up or ended without being served"
    again_ns = max((stall.to_ns for stall in stalls if stall.served and stall.to_ns is not None), default=None)
    if again_ns is None:
        return f"{harm}; {gave_up}, the last at {times.at(end_ns)}."
    return f"{harm}; the last was served again at {times.at(again_ns)}; {gave_up}."


def _encrypted(failure: Failure) -> str:
    """Returns which clients' stalls are only guessed from TLS record lengths, and how many hosts waited on connections
    that cannot be decrypted; empty if none."""
    claimed = [stall for stall in failure.stalls if stall.claimed]
    n = len(failure.encrypted_hosts) if failure.stalls else 0
    whose = "of these clients" if len(claimed) == len(failure.stalls) else f"of {_who(claimed)}"
    guessed = f" The stalls {whose} are inferred from the lengths of TLS records." if claimed else ""
    rest = f" What {counted(n, 'host')} waited for is encrypted: which clients stalled there is not known." if n else ""
    return guessed + rest


def _earlier(failure: Failure) -> str:
    """Returns which clients had already stalled when the failure began; empty if none."""
    earlier = failure.earlier_stalls
    return f" {_who(earlier, at_start=True)} had stalled before, and waited longer because of it." if earlier else ""


def _who(stalls: Sequence[Stall], *, at_start: bool = False) -> str:
    """Returns the groups of stalls, and of those without a group the client ids, else the clients' addresses.
    at_start: a sentence begins with them."""
    groups = sorted({stall.group_id for stall in stalls if stall.group_id})
    clients = sorted({str(stall.client_id or stall.client_ip) for stall in stalls if not stall.group_id})
    if not groups:
        return listed(clients)
    of_groups = f"{'G' if at_start else 'g'}roup{'' if len(groups) == 1 else 's'} {listed(groups)}"
    return f"{of_groups} and client{'' if len(clients) == 1 else 's'} {listed(clients)}" if clients else of_groups


def _is_one(stalls: Sequence[Stall]) -> bool:
    """Tells whether one group or one client alone stalled."""
    return len({stall.group_id or (stall.client_id, stall.client_ip) for stall in stalls}) == 1


def _impact_without_stalls(failure: Failure) -> str:
    """Returns which clients could not work, as far as errors show it. A client that lost a connection and sent no
    request later is not counted."""
    if failure.misuse is not None:
        return misuse_impact(failure.misuse)
    never = sorted({r.who for r in failure.recoveries if r.recovered_ns is None}) if failure.is_recreated else []
    if never:
        return f"{listed(never)} was not served again."
    if failure.kind.loses_records:
        return "No client stalled because of it, but records are missing."
    unserved = (r for r in failure.recoveries if r.outcome in UNSERVED)
    failed = {r.client_instance_id: r.who for r in unserved if not SERVER_CLOSED.issuperset(r.error_names)}
    if failed:
        who = listed(sorted(set(failed.values())))
        return f"{counted(len(failed), 'client')} could not work because of it: {who}."
    if failure.encrypted_hosts:
        who, longest = counted(len(failure.encrypted_hosts), "host"), duration(failure.waited_ms * 1_000_000)
        what = "their requests are encrypted, so that it is not known which clients stalled"
        return f"{who} waited for it, for {longest} at the longest; {what}."
    if failure.waited_ms and not failure.left_open:
        return f"A host waited for it for at least {duration(failure.waited_ms * 1_000_000)}."
    if failure.is_lossy or failure.is_delayed:
        return "Requests and responses were delayed by it; clients got responses later than the capture shows."
    if failure.further_stalls:
        longest = duration(max(stall.waited_ms for stall in failure.further_stalls) * 1_000_000)
        who = _who(failure.further_stalls, at_start=True)
        return f"{who} stalled because of what followed from it, for {longest} at the longest."
    return f"No {'other ' if failure.earlier_stalls or failure.left_open else ''}client stalled because of it."
