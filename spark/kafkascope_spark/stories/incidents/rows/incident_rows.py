"""Makes a row of `incidents` from a failure."""

import hashlib
from collections.abc import Callable

from kafkascope_parsers.api_keys import FETCH
from kafkascope_parsers.error_facts import FATAL, SERVER_CLOSED
from kafkascope_spark.stories.incidents.actions import Action, one_for_each_owner
from kafkascope_spark.stories.incidents.clients.misconfigured import AUTHENTICATION
from kafkascope_spark.stories.incidents.errors.lost_records import is_final
from kafkascope_spark.stories.incidents.extent.brackets import fault_of
from kafkascope_spark.stories.incidents.extent.localization import hosts_of
from kafkascope_spark.stories.incidents.failures.failure import SECOND, UNSERVED, Failure, is_stuck
from kafkascope_spark.stories.incidents.failures.observed import Observed
from kafkascope_spark.stories.incidents.kinds.client import CLIENT
from kafkascope_spark.stories.incidents.rows.harm import harm_of
from kafkascope_spark.stories.incidents.rows.sentences import how_known, sentence_of
from kafkascope_spark.stories.incidents.table import Ending, FailedTime, IncidentRow, Place
from kafkascope_spark.stories.recoveries.client_recovery import ClientRecovery
from kafkascope_spark.stories.stalls.table import SEVERE_MS

MOST_EVIDENCE = 100


def incident_id(failure: Failure) -> str:
    """Returns the id of the incident; the same capture gives the same id."""
    key = f"{failure.kind.name}|{failure.subject}|{sorted(failure.hosts)}|{failure.start_ns}"
    return f"incident-{hashlib.sha256(key.encode()).hexdigest()[:16]}"


def _place(failure: Failure) -> Place | None:
    """Returns the place of the failure: the place of its kind, or `client` if one client misuses a listener that serves
    others."""
    is_of_one = failure.misuse is not None and failure.misuse.is_of_one_client
    return "client" if is_of_one else failure.kind.place


def incident_row(
    failure: Failure, observed: Observed, identity: Callable[[Failure], str], start_ns: int
) -> IncidentRow:
    """Returns the row. observed: clients and brokers of the failure; identity: incident_id with a cache; start_ns:
    start of the capture."""
    stalls, severity, fault, harm = failure.stalls, severity_of(failure), fault_of(failure), harm_of(failure)
    return IncidentRow(
        incident_id=identity(failure),
        kind=failure.kind.name,
        client_fault=client_fault(failure),
        place=_place(failure),
        node_id=failure.node_id,
        hosts=tuple(sorted(failure.hosts)),
        confidence=failure.confidence,
        alternatives=failure.alternatives,
        contrast=_contrast(failure),
        subject=failure.subject,
        start_ns=failure.start_ns,
        fault_start_after_ns=fault.start_after_ns,
        fault_start_ns=fault.start_ns,
        fault_end_after_ns=fault.end_after_ns,
        fault_end_ns=fault.end_ns,
        stretches=tuple(FailedTime(*stretch) for stretch in failure.stretches),
        course=failure.course,
        end_ns=end_ns(failure),
        ending=ending_of(failure),
        root_incident_id=identity(failure.root) if failure.root is not None else None,
        severity=severity,
        family_severity=severity,
        sentence=sentence_of(failure, end_ns(failure), start_ns),
        actions=actions_of(failure, observed),
        clients=tuple(sorted(clients_of(failure))),
        encrypted_hosts=tuple(sorted(failure.encrypted_hosts)),
        kept_out_hosts=tuple(sorted(failure.kept_out)),
        n_stalls=len(stalls),
        earlier_stalls=tuple(sorted(stall.stall_id for stall in failure.earlier_stalls)),
        longest_ms=max([failure.waited_ms, failure.refused_ms, *(stall.waited_ms for stall in stalls)]),
        n_records_late=sum(each.n_late for each in harm),
        n_records_failed=sum(each.n_failed for each in harm),
        n_records_again=sum(each.n_again for each in harm),
        harm=harm,
        how_known=how_known(failure),
        evidence=tuple(_evidence(failure)),
    )


def _contrast(failure: Failure) -> str | None:
    """Who was served meanwhile, where packets show a place."""
    n_hosts = len(hosts_of(failure))
    return failure.contrast.sentence(n_hosts) if failure.confidence is not None and n_hosts else None


def actions_of(failure: Failure, observed: Observed) -> tuple[Action, ...]:
    """Returns the advice, one action per owner."""
    return tuple(one_for_each_owner(failure.kind.advice(failure, observed)))


def client_fault(failure: Failure) -> str | None:
    """Returns what was wrong with clients that failed themselves: one of CLIENT_FAULTS; None for other failures."""
    if failure.kind is not CLIENT:
        return None
    if failure.misuse is None:
        return "stalled"
    if failure.misuse.cause == "before_login":
        return "before_login"
    return "auth_failed" if failure.misuse.cause in AUTHENTICATION else "wrong_protocol"


def clients_of(failure: Failure) -> set[str]:
    """Returns the clients that stalled or had to recover."""
    of_misuse = failure.misuse.client_instance_ids if failure.misuse is not None else set()
    named = {stall.client_instance_id for stall in (*failure.stalls, *failure.earlier_stalls)}
    named |= {silence.client_instance_id for silence in failure.silences}
    named |= {recovery.client_instance_id for recovery in failure.recoveries}
    return of_misuse | failure.client_instance_ids | {client for client in named if client is not None}


def end_ns(failure: Failure) -> int | None:
    """Returns when the last stalled client was served again, gave up or ended. The end of the failure counts if nobody
    stalled, and for stalls that went on because of a later failure."""
    stalls = [*failure.stalls, *failure.earlier_stalls]
    if not stalls and any(map(_still_tries, failure.recoveries)):
        return None
    ends = [stall.to_ns for stall in stalls if stall.stall_id not in failure.outlasting]
    if not ends or failure.outlasting:
        ends.append(failure.end_ns)
    return None if None in ends else max(end for end in ends if end is not None)


def _still_tries(recovery: ClientRecovery) -> bool:
    """Whether the client still failed, again and again, when the capture ended."""
    is_closed = SERVER_CLOSED.issuperset(recovery.error_names)
    return recovery.outcome == "still_open" and is_stuck(recovery) and not is_closed


def ending_of(failure: Failure) -> Ending:
    """Returns whether the failure is over for those whom it affected, and as a fault. A move is over once it has
    happened."""
    until_ns, fault = end_ns(failure), fault_of(failure)
    is_fault_over = failure.kind.is_move or fault.start_ns is None or fault.end_ns is not None
    is_over = until_ns is not None and is_fault_over
    if failure.misuse is not None and failure.misuse.unserved:
        return "not_seen" if is_over else "going_on"
    if is_over:
        return "over"
    return "going_on" if failure.shown_until_ns is None else "not_seen"


def severity_of(failure: Failure) -> str:
    """Returns the severity, by the effect on the clients that stalled."""
    stalls = failure.stalls
    earlier_ns = [failure.overlap_ns(stall.from_ns, stall.to_ns) for stall in failure.earlier_stalls]
    if failure.kind.loses_records or any(stall.is_severe or stall.n_records_failed for stall in stalls):
        return "error"
    if max(failure.waited_ms, failure.refused_ms) >= SEVERE_MS:
        return "error"
    if max(earlier_ns, default=0) >= SEVERE_MS * 1_000_000:
        return "error"
    failed_for_good = any(r.outcome == "fatal" and r.first_error_name in FATAL for r in failure.recoveries)
    works_on = failure.misuse is not None and not failure.misuse.unserved
    if failed_for_good and not failure.kind.is_replaced and not works_on:
        return "error"
    if failure.kind.lasting and any(map(is_final, failure.recoveries)):
        return "error"
    if failure.misuse is not None and failure.misuse.unserved:
        return "error"
    if failure.kind.of_listener and any(r.outcome in UNSERVED for r in failure.recoveries):
        return "error"
    if failure.is_recreated and any(map(_is_long_unread, failure.recoveries)):
        return "error"
    if failure.is_routine:
        return "info"
    is_felt = stalls or earlier_ns or (failure.silences and failure.rebalances) or failure.is_lossy
    is_felt = is_felt or failure.is_delayed or failure.kind.holds_replicas
    is_felt = is_felt or failure.is_slow_process or failure.waited_ms > 0 or failed_for_good
    is_felt = is_felt or failure.refused_ms * 1_000_000 >= SECOND
    return "warning" if is_felt else "info"


def _is_long_unread(recovery: ClientRecovery) -> bool:
    """Whether each Fetch of a topic-partition failed for a time that counts as severe, up to the end of the client or
    of the capture."""
    is_fetch = recovery.first_api_key == FETCH and recovery.recovered_ns is None
    return is_fetch and recovery.last_failed_ns - recovery.start_ns >= SEVERE_MS * 1_000_000


def _evidence(failure: Failure) -> list[str]:
    """Returns the evidence: connections of an ended ZooKeeper session, the registration of a restarted broker, then
    requests in the order in which their clients stalled."""
    cause = failure.root if failure.process.session is None and failure.root is not None else failure
    session = list(cause.process.session.conn_ids) if cause.process.session is not None else []
    ordered = sorted(failure.stalls, key=lambda s: (s.from_ns, s.stall_id))
    registration = [] if failure.process.restart is None else [failure.process.restart.registration]
    ids = [*session, *registration, *failure.responses.unanswered, *(i for stall in ordered for i in stall.evidence)]
    ids += [i for silence in failure.silences for i in silence.requests]
    ids += [i for state in failure.states for i in state.requests]
    ids += [i for r in sorted(failure.recoveries, key=lambda r: r.start_ns) for i in r.evidence]
    ids += [i for use in (failure.misuse.uses if failure.misuse is not None else ()) for i in use.evidence]
    return list(dict.fromkeys(ids))[:MOST_EVIDENCE]
