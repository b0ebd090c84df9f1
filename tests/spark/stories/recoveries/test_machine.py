"""Recoveries of all clients get their causes one by one."""

import pytest

from kafkascope_analyzer.dataset.failed_parts import FailedParts
from kafkascope_analyzer.dataset.row_types import empty_row
from kafkascope_spark.stories.keyed import Origin
from kafkascope_spark.stories.recoveries.causes import Causes
from kafkascope_spark.stories.recoveries.client_recovery import ClientRecovery
from kafkascope_spark.stories.recoveries.machine import RecoveryCauses

ORIGIN = Origin(0, 0, 0, 0, "", 0, None, None)


def recovery(name: str, at_ns: int, error: str = "CONNECTION_CLOSED") -> ClientRecovery:
    made = empty_row(ClientRecovery)
    made.recovery_id, made.start_ns, made.first_error_name = name, at_ns, error
    made.resource_kind, made.resource, made.old_node_id = "connection", "10.0.0.3:9092", 3
    return made


def test_recoveries_of_one_broker_share_their_cause() -> None:
    machine = RecoveryCauses(FailedParts())
    first, second = (next(machine.take(recovery(name, at), ORIGIN)) for name, at in (("a", 1), ("b", 2)))
    assert first.cause_id == second.cause_id
    assert first.cause_id is not None
    assert list(machine.finish()) == []


def test_one_without_a_cause_keeps_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    cause_of = Causes.cause_of

    def fails(causes: Causes, episode: ClientRecovery) -> str:
        if episode.recovery_id == "odd":
            raise ZeroDivisionError
        return cause_of(causes, episode)

    monkeypatch.setattr(Causes, "cause_of", fails)
    failed = FailedParts()
    machine = RecoveryCauses(failed)
    rows = [row for name in ("a", "odd", "b") for row in machine.take(recovery(name, 1), ORIGIN)]
    assert [row.cause_id is None for row in rows] == [False, True, False]
