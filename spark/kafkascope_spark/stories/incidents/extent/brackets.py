"""`fault_of`: when what failed began and ended, by the packets that show it."""

from dataclasses import replace

from kafkascope_analyzer.dataset.stretches import FOREVER
from kafkascope_spark.stories.incidents.failures.failure import SECOND, Failure
from kafkascope_spark.stories.incidents.failures.fault import Fault
from kafkascope_spark.stories.incidents.kinds.broker_lossy import BROKER_LOSSY
from kafkascope_spark.stories.incidents.kinds.controllers_cut import CONTROLLERS_CUT
from kafkascope_spark.stories.incidents.kinds.host_lossy import HOST_LOSSY
from kafkascope_spark.stories.servers.table import BrokerState

NOTICED_NS = SECOND
"""A broker that shuts down in order hands over what it leads before clients notice: at their next request."""


def fault_of(failure: Failure) -> Fault:
    """The times of what failed, from the states of brokers or from the silences of clients; of a move, when the first
    packet showed the new leader or coordinator; none where only errors show it."""
    if failure.fault is not None:
        return failure.fault
    if failure.silences:
        return _of_silences(failure)
    if failure.kind.serves_on:
        return _of_reports(failure)
    if failure.kind.is_move:
        return _of_move(failure)
    if not failure.states:
        return Fault()
    lossy = [state for state in failure.states if state.state == "lossy"]
    # A link that loses packets looks cut to some for a moment.
    fault = _of_states(failure.states, lossy if failure.kind in (BROKER_LOSSY, HOST_LOSSY) else failure.states)
    if failure.kind is CONTROLLERS_CUT:
        fault = _of_all(fault, failure.states)
    if failure.is_since_before:
        fault = replace(fault, start_after_ns=None)
    if failure.kind.of_listener and failure.end_ns is None:  # others than those who still try only gave up
        fault = replace(fault, end_ns=None)
    if failure.process.reopened_ns is not None:
        fault = replace(fault, end_ns=failure.process.reopened_ns)
    if failure.closed_ns is None:
        return fault
    return replace(fault, start_after_ns=failure.start_ns - NOTICED_NS, start_ns=failure.start_ns)


def _of_move(failure: Failure) -> Fault:
    """It is known where a packet shows the new leader or coordinator before anybody was served by it; else what packets
    show is another move, of several."""
    first = {step.step: step.ts_ns for step in reversed(failure.course)}
    shown_ns = first.get("detected")
    is_first = shown_ns is not None and shown_ns <= first.get("served", shown_ns)
    return Fault(start_ns=shown_ns if is_first else None)


def _of_states(states: list[BrokerState], ending: list[BrokerState]) -> Fault:
    """A broker failed between the last packet that shows one host that it had not, and the first that shows any host
    that it had; it was over between the last that shows that and the first that one of those got who suffered last.
    Where packets are lost by chance, one of whom none was lost for a while shows no end of it; nor does one whom a slow
    broker answered. ending: those of the states that show the end."""
    start_ns = min(state.shown_from_ns for state in states)
    start_after_ns = max((state.before_ns for state in states if state.before_ns <= start_ns), default=None)
    last_ns = max(state.from_ns for state in ending)
    over = [state.after_ns for state in ending if state.after_ns is not None and state.until_ns > last_ns]
    if all(state.state == "lossy" for state in ending):
        return Fault(start_after_ns, start_ns, max(state.shown_to_ns for state in ending), max(over, default=None))
    if all(state.state == "slow" for state in ending):
        return Fault(start_after_ns, start_ns, _slow_until_ns(ending), max(over, default=None))
    end_ns = min(over, default=None)
    if end_ns is not None and any(row.state == "not_accepting" and row.shown_to_ns > end_ns for row in ending):
        end_ns = max(over)  # some attempts are answered by chance, as where a table of connections is full
    shown = [state.shown_to_ns for state in ending if end_ns is None or state.shown_to_ns <= end_ns]
    return Fault(start_after_ns, start_ns, max(shown, default=None), end_ns)


def _of_all(fault: Fault, states: list[BrokerState]) -> Fault:
    """Returns the fault of several pairs of nodes, which is over when the last of them reach each other: one that is
    over before may only have given up."""
    over = max((state.after_ns for state in states if state.after_ns is not None), default=None)
    return replace(fault, end_after_ns=max(state.shown_to_ns for state in states), end_ns=over)


def _slow_until_ns(states: list[BrokerState]) -> int:
    """Until when a broker was slow, at least: each of its addresses shows that of the same process, and the one where
    late responses show the most of it knows best."""
    shown: dict[str, int] = {}
    for state in states:
        shown[state.server] = max(state.shown_to_ns, shown.get(state.server, 0))
    return min(shown.values())


def _of_reports(failure: Failure) -> Fault:
    """A broker that named an old leader was behind since another broker had named the new one, until its last report of
    the old one; it was not behind any longer when it named the new one, too."""
    since_ns = min((leader.since_ns for leader in failure.topic.moved_to.values()), default=failure.start_ns)
    mine = [r for row in failure.recoveries for r in row.leader_reports if r.server == failure.server]
    new = {leader.node_id for leader in failure.topic.moved_to.values()}
    last_ns = max((r.last_ns for r in mine if r.leader_id not in new), default=since_ns)
    over = (report.first_ns for report in mine if report.leader_id in new and report.first_ns > last_ns)
    return Fault(None, since_ns, last_ns, min(over, default=None))


def _of_silences(failure: Failure) -> Fault:
    """A client stalled after its last payload, and until its first packet afterwards: something was due meanwhile. Of
    several pauses one after the other, the first begins it and the last one ends it."""
    silences = failure.silences
    first_over_ns = min((s.to_ns for s in silences if s.to_ns is not None), default=FOREVER)
    first = [silence for silence in silences if silence.from_ns < first_over_ns]
    last_from_ns = max(silence.from_ns for silence in silences)
    last = [silence for silence in silences if silence.to_ns is None or silence.to_ns > last_from_ns]
    over = [silence.to_ns for silence in last if silence.to_ns is not None]
    end_ns = max(over, default=None) if len(over) == len(last) else None
    due_ns = min(silence.due_ns for silence in first)
    return Fault(max(s.from_ns for s in first), due_ns, min(silence.shown_ns for silence in last), end_ns)
