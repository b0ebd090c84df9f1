"""Places that failed several times in a short time: a link that flaps, a process that stops again and again. They
become one failure with several stretches, so that its harm counts once."""

from collections.abc import Iterable, Mapping, Sequence
from itertools import chain

from kafkascope_spark.stories.incidents.extent.brackets import fault_of
from kafkascope_spark.stories.incidents.failures.failure import SECOND, Failure
from kafkascope_spark.stories.incidents.failures.failure_facts import add_rows
from kafkascope_spark.stories.incidents.failures.fault import Fault
from kafkascope_spark.stories.incidents.kinds.broker_slow import BROKER_SLOW
from kafkascope_spark.stories.incidents.table import CourseStep

SHORT_NS, APART_NS = 5 * SECOND, 10 * SECOND
"""Failures of one place that last longer than SHORT_NS, or are further apart than APART_NS, are separate incidents: a
link that is down for seconds, five times in a minute, is up for ten seconds or less in between."""


def with_repeated(failures: Iterable[Failure]) -> list[Failure]:
    """Returns the failures in order of time. Short failures of the same kind and place that follow each other within
    APART_NS are joined to the first of them."""
    groups: list[list[Failure]] = []
    last_of: dict[tuple[object, ...], list[Failure]] = {}
    for failure in sorted(failures, key=lambda each: (each.start_ns, each.kind.name, each.subject)):
        group = last_of.get(_place(failure))
        if group is not None and _is_of_times(failure) and _follows(group[-1], failure):
            group.append(failure)
        else:
            last_of[_place(failure)] = group = [failure]
            groups.append(group)
    first_of = {failure: group[0] for group in groups for failure in group}
    for group in groups:
        if len(group) > 1:
            _join(group)
    kept = [group[0] for group in groups]
    _repair(kept, first_of)
    return kept


def _is_of_times(failure: Failure) -> bool:
    """Whether packets or times of responses show it, which say when it was over."""
    return bool(failure.states) or failure.kind is BROKER_SLOW


def _place(failure: Failure) -> tuple[object, ...]:
    place = failure.server if failure.node_id is None else failure.node_id
    return failure.kind.name, place, failure.subject, failure.hosts, failure.root, failure.responses.slow_at


def _follows(earlier: Failure, later: Failure) -> bool:
    if earlier.end_ns is None or later.start_ns - earlier.end_ns > APART_NS:
        return False
    return _is_short(earlier) and _is_short(later)


def _is_short(failure: Failure) -> bool:
    """Whether packets show the failure for a short time only: it may have begun and ended well before and after them
    where hosts sent nothing in between."""
    if failure.end_ns is None:
        return False
    fault = fault_of(failure)
    shown_from_ns = failure.start_ns if fault.start_ns is None else fault.start_ns
    shown_to_ns = failure.end_ns if fault.end_after_ns is None else fault.end_after_ns
    return shown_to_ns - shown_from_ns <= SHORT_NS


def _join(group: Sequence[Failure]) -> None:
    """Adds everything that belongs to the other failures to the first one."""
    first, *others = group
    last = others[-1]
    faults = [fault_of(first), fault_of(last)]
    first.stretches = tuple((each.start_ns, each.end_ns) for each in group)
    first.fault = Fault(faults[0].start_after_ns, faults[0].start_ns, faults[1].end_after_ns, faults[1].end_ns)
    first.course = _course(group)
    for other in others:
        for recovery in other.recoveries:
            first.take_recovery(recovery)
        add_rows(first.states, other.states)
        add_rows(first.stalls, other.stalls)
        add_rows(first.earlier_stalls, other.earlier_stalls)
        add_rows(first.rebalances, other.rebalances)
        add_rows(first.fetched_again, other.fetched_again)
        add_rows(first.left_open, other.left_open)
        first.process.add(other.process)
        first.members.add(other.members)
        first.responses.add(other.responses)
        first.messages += [text for text in other.messages if text not in first.messages]
        first.servers |= other.servers
        first.error_names |= other.error_names
        first.outlasting |= other.outlasting
        first.encrypted_hosts |= other.encrypted_hosts
        first.connecting_hosts |= other.connecting_hosts
        first.waited_ms = max(first.waited_ms, other.waited_ms)
    first.end_ns, first.affected_until_ns = last.end_ns, last.affected_until_ns


def _course(group: Sequence[Failure]) -> tuple[CourseStep, ...]:
    """Returns the course of the first stretch, and of each other stretch its begin and when its last client was
    served."""
    rest: list[CourseStep] = []
    for failure in group[1:]:
        served = [step for step in failure.course if step.step == "served"]
        rest += [step for step in failure.course if step.step == "failed"] + served[-1:]
    return tuple(chain(group[0].course, rest))


def _repair(kept: Iterable[Failure], first_of: Mapping[Failure, Failure]) -> None:
    """Replaces joined failures in `root`, and drops stalls from earlier_stalls and outlasting whose other failure has
    been joined with this one."""
    listed = list(kept)
    later: dict[str, set[Failure]] = {}
    for failure in listed:
        if failure.root is not None:
            root = first_of.get(failure.root, failure.root)
            failure.root = None if root is failure else root
        own = {stall.stall_id for stall in failure.stalls}
        failure.earlier_stalls = [stall for stall in failure.earlier_stalls if stall.stall_id not in own]
        for stall in failure.earlier_stalls:
            later.setdefault(stall.stall_id, set()).add(failure)
    for failure in listed:
        if len(failure.stretches) > 1:
            failure.outlasting = {stall_id for stall_id in failure.outlasting if later.get(stall_id, set()) - {failure}}
