"""The row of a start and the rows of its steps."""

from collections.abc import Callable

from kafkascope_spark.stories.clients.identity.instances import Instance
from kafkascope_spark.stories.model import Connection
from kafkascope_spark.stories.startups.startup_rows import EndedStart, rows_of
from kafkascope_spark.stories.startups.steps import Step
from kafkascope_spark.stories.startups.table import StartupRow, StartupStepRow


def ended(instance: Instance, **changes: object) -> EndedStart:
    columns: dict[str, object] = {"instance": instance, "library": "java", "number": 2, "start_ns": 0}
    columns |= {"outcome": "failed", "ready_ns": None, "ready_request_id": None, "metadata_ns": None}
    columns |= {"conn_ids": frozenset({"c1"}), "asks_acks": True}
    return EndedStart(**columns | changes)  # type: ignore[arg-type]


def test_a_failed_start_names_its_step_and_proof(
    connection: Callable[..., Connection], instance: Callable[..., Instance]
) -> None:
    opened = Step("tcp_connect", "c1", "c1", 1, 0, 1_000, None, "10.0.0.1:9092", "ok", None)
    denied = Step("metadata", "r1", "c1", 1, 2_000, 5_000, 1, None, "error", "CLUSTER_AUTHORIZATION_FAILED", ("r1",))
    start, *steps = rows_of(ended(instance(connection("c1"))), [denied, opened])
    assert isinstance(start, StartupRow)
    assert (start.start_no, start.failed_step, start.failed_words) == (2, "metadata", " at metadata")
    assert (start.evidence, start.total_us, start.took_us, start.is_repeated) == (("r1",), None, None, True)
    assert [step.step for step in steps if isinstance(step, StartupStepRow)] == ["tcp_connect", "metadata"]
    assert [step.seq for step in steps if isinstance(step, StartupStepRow)] == [1, 2]


def test_a_ready_start_has_its_critical_path(
    connection: Callable[..., Connection], instance: Callable[..., Instance]
) -> None:
    opened = Step("tcp_connect", "c1", "c1", 1, 0, 1_000, None, "10.0.0.1:9092", "ok", None)
    answered = Step("metadata", "r1", "c1", 1, 2_000, 5_000, 1, None, "ok", None, ("r1",))
    ready = ended(instance(connection("c1")), outcome="ready", ready_ns=5_000, ready_request_id="r1")
    start = rows_of(ready, [opened, answered])[0]
    assert isinstance(start, StartupRow)
    assert start.critical_path == ("tcp_connect", "metadata")
    assert (start.total_us, start.took_us, start.total_ms) == (5, 5, 0)
