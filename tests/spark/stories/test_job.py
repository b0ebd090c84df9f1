"""What becomes of the rows of the machines, and that each key of an event has one."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import pytest

from kafkascope_analyzer.dataset.failed_parts import FailedParts
from kafkascope_analyzer.dataset.row_types import empty_row
from kafkascope_analyzer.dataset.tables.events import EVENTS
from kafkascope_spark.client_stage import CLIENT, PARTITION
from kafkascope_spark.stories import job
from kafkascope_spark.stories.clients.table import ClientRow
from kafkascope_spark.stories.keyed import Origin
from kafkascope_spark.stories.recoveries.client_recovery import ClientRecovery
from kafkascope_spark.stories.stage_rows import PassedOn, StageRow
from kafkascope_spark.stories.stalls.stall import StallLimits
from kafkascope_spark.stories.startups.table import StartupRow
from kafkascope_spark.stories.transactions.table import TransactionRow

AROUND = job.Surroundings((0, 100), StallLimits(100, 10), FailedParts())


def test_each_kind_of_key_is_followed_once() -> None:
    kinds = [each.key_kind for each in job.FOLLOWERS]
    assert len(kinds) == len(set(kinds))
    assert {*EVENTS.column("key_kind").values} - {CLIENT, PARTITION} <= set(kinds)
    assert {each.key_kind for each in job.FOR_INCIDENTS} <= set(kinds)


def test_each_class_for_incidents_is_listed_once() -> None:
    classes = [each.row for each in job.FOR_INCIDENTS]
    assert len(classes) == len(set(classes))


def test_a_start_that_became_ready_is_written() -> None:
    start = replace(empty_row(StartupRow), startup_id="ci-1-1", start_ns=7, outcome="failed")
    assert not job.is_written(start)
    assert job.passed_on(start) == PassedOn(job.INCIDENT, "ci-1-1", start, "ci-1-1", 7)
    assert job.is_written(replace(start, outcome="ready"))


def test_a_transaction_that_went_well_is_written() -> None:
    transaction = replace(empty_row(TransactionRow), transactional_id="t", transaction_no=3, outcome="aborted")
    assert job.is_written(replace(transaction, outcome="committed"))
    hanging = replace(transaction, outcome="hanging", begin_ns=5)
    assert not job.is_written(hanging)
    assert job.incident_place(hanging)[1:] == (5, "t:3")


def test_a_row_that_no_incident_is_made_from_is_written() -> None:
    assert job.is_written(empty_row(ClientRow))


def test_a_row_of_no_table_that_nobody_takes_is_an_error() -> None:
    @dataclass(slots=True)
    class Unknown(StageRow):
        pass

    with pytest.raises(KeyError):
        job.passed_on(Unknown())


def test_recoveries_of_all_clients_are_followed_together() -> None:
    recovery = replace(empty_row(ClientRecovery), recovery_id="rec-1", start_ns=3)
    assert job.passed_on(recovery).key_kind == job.RECOVERY
    assert job.passed_on(recovery).key == ""
    followers = job.Followers(AROUND)
    (found,) = followers.feed(job.RECOVERY, "", [(Origin(0, 3, 0, 0, "rec-1", 0, None, None), recovery)])
    assert isinstance(found, ClientRecovery)
    assert found.cause_id is not None
    assert not list(followers.finish())


def test_a_machine_over_a_new_kind_of_key_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    class Counter:
        def __init__(self) -> None:
            self._n = 0

        def take(self, event: int, origin: Origin) -> None:
            self._n += event

        def finish(self) -> Iterator[ClientRow]:
            yield replace(empty_row(ClientRow), first_ns=self._n)

    line = job.Follower("number", "numbers", lambda around, key: Counter())
    monkeypatch.setattr(job, "FOLLOWERS", (*job.FOLLOWERS, line))
    followers = job.Followers(AROUND)
    assert not list(followers.feed("number", "a", [(Origin(0, n, 0, 0, "", 0, None, None), n) for n in (1, 2)]))
    (row,) = followers.finish()
    assert isinstance(row, ClientRow)
    assert row.first_ns == 3
