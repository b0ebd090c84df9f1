"""The rows of `startups` and `startup_steps` for a start that has ended."""

from dataclasses import dataclass

from kafkascope_spark.stories.clients.identity.instances import Instance
from kafkascope_spark.stories.startups.comparison import Comparison, compare
from kafkascope_spark.stories.startups.expected import Sequence, sequence_name, sequence_of
from kafkascope_spark.stories.startups.outcomes import failed_at
from kafkascope_spark.stories.startups.path import number_attempts, on_critical_path, step_rows, total_us
from kafkascope_spark.stories.startups.steps import PHASE_OF_STEP, Step
from kafkascope_spark.stories.startups.table import Phase, StartOutcome, StartupRow, StartupStepRow


@dataclass(frozen=True, slots=True)
class EndedStart:
    """A start that has ended, without its steps.

    ready_ns and ready_request_id are None unless the outcome is ready. metadata_ns is the time of the first Metadata
    response. asks_acks: whether Produce requests expect a response.
    """

    instance: Instance
    library: str
    number: int
    start_ns: int
    outcome: StartOutcome
    ready_ns: int | None
    ready_request_id: str | None
    metadata_ns: int | None
    conn_ids: frozenset[str]
    asks_acks: bool


def rows_of(ended: EndedStart, taken: list[Step]) -> list[StartupRow | StartupStepRow]:
    """The row of the start and the rows of its steps."""
    steps = sorted(taken, key=lambda s: (s.start_ns, s.end_ns, s.order_key))
    number_attempts(steps)
    startup_id = f"{ended.instance.instance_id}-{ended.number}"
    path: dict[int, int] = {}
    if ended.ready_request_id is not None:
        path = on_critical_path(steps, ended.start_ns, ended.ready_request_id)
    phases = [_phase(s, ended) for s in steps]
    return [
        _start_row(startup_id, ended, steps, path),
        *step_rows(startup_id, ended.start_ns, steps, path, phases),
    ]


def _start_row(startup_id: str, ended: EndedStart, steps: list[Step], path: dict[int, int]) -> StartupRow:
    failed = failed_at(steps) if ended.outcome == "failed" else None
    sequence = _sequence(ended)
    compared = _compared(ended, steps, sequence)
    total = total_us(ended.start_ns, ended.ready_ns) if ended.ready_ns is not None else None
    return StartupRow(
        startup_id=startup_id,
        client_instance_id=ended.instance.instance_id,
        start_no=ended.number,
        start_ns=ended.start_ns,
        ready_ns=ended.ready_ns,
        total_ms=total // 1000 if total is not None else None,
        total_us=total,
        outcome=ended.outcome,
        claimed=ended.instance.kind.claimed,
        failed_step=failed.name if failed else None,
        failed_subject=(failed.subject or failed.server) if failed else None,
        error_name=failed.error_name if failed else None,
        critical_path=tuple(steps[i].name for i in sorted(path)),
        expected_sequence=sequence.name,
        expected_steps=sequence.required,
        missing_steps=tuple(compared.missing),
        extra_steps=tuple(compared.extra),
        repeated_steps=tuple(compared.repeated),
        out_of_order_steps=tuple(compared.out_of_order),
        n_connections=len({s.conn_id for s in steps if s.conn_id} | ended.conn_ids),
        incident_id=None,
        evidence=_evidence(ended, failed),
    )


def _sequence(ended: EndedStart) -> Sequence:
    apis: set[int] = set().union(*(c.apis for c in ended.instance.connections))
    name = sequence_name(ended.instance.kind, apis, ended.asks_acks)
    return sequence_of(name, ended.library, is_first=ended.number == 1)


def _compared(ended: EndedStart, steps: list[Step], sequence: Sequence) -> Comparison:
    """The comparison with the expected sequence; only a start that became ready can lack steps."""
    return compare(steps, sequence, whole=ended.outcome == "ready")


def _phase(step: Step, ended: EndedStart) -> Phase:
    if ended.ready_ns is not None and step.start_ns >= ended.ready_ns:
        return "steady"
    if ended.metadata_ns is None or step.start_ns < ended.metadata_ns:
        return "bootstrap"
    return PHASE_OF_STEP.get(step.name, "direct")


def _evidence(ended: EndedStart, failed: Step | None) -> tuple[str, ...]:
    if ended.ready_request_id is not None:
        return (ended.ready_request_id,)
    return failed.request_ids or (failed.conn_id,) if failed else ()
