"""A part of the stories that fails because of a defect is recorded, and the rest stands.

The three stages of the story job run in this process, on the events of a capture: a defect can be put into them.
"""

import dataclasses
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from kafkascope_analyzer.dataset.dataset import Dataset
from kafkascope_analyzer.dataset.failed_parts import MOST_NAMES, FailedPart, FailedParts, joined_parts
from kafkascope_analyzer.dataset.manifest import DatasetFile
from kafkascope_analyzer.dataset.tables.events import EVENT_ORDER
from kafkascope_parsers.errors import UsageError
from kafkascope_spark.client_stage import SHARED, client_stage
from kafkascope_spark.event_reader import event_reader, splits_of
from kafkascope_spark.incident_stage import FOUND, FOUND_ORDER, incident_stage
from kafkascope_spark.queries.finding_rows import finding_writer
from kafkascope_spark.shared_stage import shared_stage
from kafkascope_spark.stories.clients.table import ClientRow
from kafkascope_spark.stories.findings.causes import Causes
from kafkascope_spark.stories.findings.registry import RULES
from kafkascope_spark.story_job import BY_CLIENT
from kafkascope_spark.story_writer import StoryRun
from kafkascope_spark.task_reports import TaskReport, failed_parts_of, reports_of

FIXTURES = Path(__file__).parents[2] / "fixtures"
SECRET = "S3cret-of-the-capture"


class Stories:
    """What the job gave: the parts that failed, and the rows of each table."""

    def __init__(self, reported: list[TaskReport], folder: Path) -> None:
        self.failed = failed_parts_of(reported)
        self._files = [(report.table, folder / report.path) for report in reported if report.path is not None]

    def rows(self, table: str) -> list[dict[str, Any]]:
        return [row for name, path in self._files if name == table for row in pq.read_table(path).to_pylist()]

    def ids(self, table: str, column: str) -> set[str]:
        return {row[column] for row in self.rows(table)}


@pytest.fixture(scope="module")
def events(ingested: Callable[..., Path]) -> tuple[Dataset, pa.Table]:
    """A dataset, and its events in the order of the first stage."""
    dataset = Dataset.open(ingested(FIXTURES / "captures" / "leader_move.pcap.zst"))
    splits = splits_of(dataset)
    read = event_reader(dataset, splits)
    table = pa.Table.from_batches(list(read([pa.record_batch({"id": pa.array(range(len(splits)))})])))
    return dataset, table.sort_by([(name, "ascending") for name in BY_CLIENT.order])


@pytest.fixture
def job(events: tuple[Dataset, pa.Table], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[], Stories]:
    """Runs the job."""
    dataset, first = events

    def write_here(self: Dataset, relative: str, table: pa.Table) -> DatasetFile:
        (tmp_path / relative).parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(table, tmp_path / relative)
        return DatasetFile(relative, table.num_rows, 1)

    monkeypatch.setattr(Dataset, "write_file", write_here)

    def run() -> Stories:
        stages = ((client_stage, SHARED, EVENT_ORDER), (shared_stage, FOUND, FOUND_ORDER), (incident_stage, None, ()))
        table = first
        for number, (stage, schema, order) in enumerate(stages):
            made = stage(StoryRun(dataset, dataset.capture_span or (0, 0), f"stage{number}"))
            table = pa.Table.from_batches(list(made(table.to_batches(max_chunksize=500))), schema)
            table = table.sort_by([(name, "ascending") for name in order]) if order else table
        return Stories(reports_of(table), tmp_path)

    return run


@pytest.fixture
def whole(job: Callable[[], Stories]) -> Stories:
    """The stories without a defect."""
    stories = job()
    assert stories.failed == ()
    return stories


def failing_where(is_it: Callable[..., bool], function: Callable[..., Any]) -> Callable[..., Any]:
    """The function, with a defect where the arguments are such."""

    def run(*args: Any, **named: Any) -> Any:
        if is_it(*args):
            raise KeyError(SECRET)
        return function(*args, **named)

    return run


def check_record(part: FailedPart, kind: str, name: str | None = None) -> None:
    assert part.kind == kind
    assert name is None or name in part.names
    assert "KeyError" in part.sentence
    assert "test_failed_parts" not in str(part.plain())
    assert any(place.startswith("kafkascope_") for place in part.places)
    assert SECRET not in str(part.plain())


def test_a_client_that_fails_costs_no_other(
    job: Callable[[], Stories], whole: Stories, monkeypatch: pytest.MonkeyPatch
) -> None:
    from kafkascope_spark.stories.clients.client import Client

    every = sorted(whole.ids("clients", "client_instance_id"))
    victim = sorted(whole.ids("recoveries", "client_instance_id"))[0]
    monkeypatch.setattr(
        Client, "_on_request", failing_where(lambda c, _: c.instance.instance_id == victim, Client._on_request)
    )
    stories = job()
    (part,) = stories.failed
    check_record(part, "client", victim)
    assert sorted(stories.ids("clients", "client_instance_id")) == every, "its own row stands too"
    for table in ("startups", "cadences"):
        assert stories.ids(table, "client_instance_id") == whole.ids(table, "client_instance_id") - {victim}


def test_a_section_of_a_client_that_fails_costs_no_other_section(
    job: Callable[[], Stories], whole: Stories, monkeypatch: pytest.MonkeyPatch
) -> None:
    from kafkascope_spark.stories.cadences.tracker import Cadences

    monkeypatch.setattr(Cadences, "finish", failing_where(lambda _: True, Cadences.finish))
    stories = job()
    (part,) = stories.failed
    check_record(part, "cadences of client")
    assert part.n == len(whole.rows("clients"))
    assert not stories.rows("cadences")
    for table in ("clients", "startups", "recoveries", "rebalances", "stalls", "incidents"):
        assert stories.rows(table) == whole.rows(table)


def test_an_address_that_fails_costs_no_other(
    job: Callable[[], Stories], whole: Stories, monkeypatch: pytest.MonkeyPatch
) -> None:
    import kafkascope_spark.stories.clients.address as module

    addresses = sorted(whole.ids("clients", "client_ip"))
    assert len(addresses) > 1
    failing = failing_where(lambda client_ip, _: client_ip == addresses[0], module.instances_of)
    monkeypatch.setattr(module, "instances_of", failing)
    stories = job()
    check_record(stories.failed[0], "client address", addresses[0])
    assert sorted(stories.ids("clients", "client_ip")) == addresses[1:]


def test_a_group_that_fails_costs_no_other(
    job: Callable[[], Stories], whole: Stories, monkeypatch: pytest.MonkeyPatch
) -> None:
    from kafkascope_spark.stories.groups.stories import Group

    victim = sorted(whole.ids("rebalances", "group_id"))[0]
    monkeypatch.setattr(Group, "finish", failing_where(lambda group: group.group_id == victim, Group.finish))
    stories = job()
    (part,) = stories.failed
    check_record(part, "group", victim)
    assert stories.ids("rebalances", "group_id") == whole.ids("rebalances", "group_id") - {victim}
    assert stories.rows("partition_flow") == whole.rows("partition_flow")


@pytest.mark.parametrize("detector", ["broker_failures", "client_failures", "of_errors", "of_rebalances", "give_roots"])
def test_a_detector_of_incidents_that_fails_costs_no_other(
    job: Callable[[], Stories], whole: Stories, monkeypatch: pytest.MonkeyPatch, detector: str
) -> None:
    import kafkascope_spark.stories.incidents.detection as module

    monkeypatch.setattr(module, detector, failing_where(lambda *_: True, getattr(module, detector)))
    stories = job()
    (part,) = stories.failed
    check_record(part, "incident detector")
    assert not {row["kind"] for row in stories.rows("incidents")} - {row["kind"] for row in whole.rows("incidents")}
    for table, column in (("stalls", "stall_id"), ("recoveries", "recovery_id"), ("rebalances", "rebalance_id")):
        assert stories.ids(table, column) >= whole.ids(table, column), "what belongs to no incident is still there"


def test_an_incident_that_cannot_be_described_costs_no_other(
    job: Callable[[], Stories], whole: Stories, monkeypatch: pytest.MonkeyPatch
) -> None:
    import kafkascope_spark.stories.incidents.rows.incident_rows as module

    victim = whole.rows("incidents")[0]
    failing = failing_where(lambda failure, *_: failure.subject == victim["subject"], module.sentence_of)
    monkeypatch.setattr(module, "sentence_of", failing)
    stories = job()
    check_record(stories.failed[0], "incident", f"{victim['kind']} {victim['subject']}")
    left = stories.ids("incidents", "incident_id")
    assert left == {row["incident_id"] for row in whole.rows("incidents") if row["subject"] != victim["subject"]}
    named = [row["incident_id"] for table in ("stalls", "recoveries", "rebalances") for row in stories.rows(table)]
    assert set(named) - {None} <= left, "nothing names an incident that is not there"
    assert stories.ids("stalls", "stall_id") == whole.ids("stalls", "stall_id")


def test_a_row_that_no_column_can_hold_costs_no_other(
    job: Callable[[], Stories], whole: Stories, monkeypatch: pytest.MonkeyPatch
) -> None:
    import kafkascope_spark.stories.clients.client as module

    def row_of(*args: Any) -> ClientRow:
        row: ClientRow = made(*args)
        return dataclasses.replace(row, n_requests=1 << 70) if row.client_instance_id == victim else row

    made, victim = module.client_row, sorted(whole.ids("clients", "client_instance_id"))[0]
    monkeypatch.setattr(module, "client_row", row_of)
    stories = job()
    (part,) = stories.failed
    assert part.kind == "row of table"
    assert stories.ids("clients", "client_instance_id") == whole.ids("clients", "client_instance_id") - {victim}


def test_a_rule_whose_sentence_fails_costs_no_other() -> None:
    good, bad = RULES[0], dataclasses.replace(RULES[0], name="a_defect")
    facts = '{"client_instance_id": null, "conn_ids": null, "n": 1, "first_ns": 1, "last_ns": 2, "evidence": []}'

    def detector(fails: bool) -> Any:
        def sentence(_: Any) -> str:
            return {}[SECRET] if fails else "found"

        return dataclasses.replace(good.detectors[0], sentence=sentence, subject=lambda _: None, advice=None)

    failed = FailedParts()
    detectors = {"good/0": (good, detector(False)), "bad/0": (bad, detector(True))}
    columns = {"detector": ["bad/0", "good/0", "bad/0"], "software_name": [None] * 3, "facts": [facts] * 3}
    batch = pa.record_batch(columns, pa.schema([(name, pa.string()) for name in columns]))
    (made,) = finding_writer(detectors, 0, Causes, failed)([batch])
    assert made.column("rule").to_pylist() == [good.name]
    (part,) = failed.taken()
    assert (part.kind, part.names, part.n) == ("rule", ("a_defect",), 2)
    assert SECRET not in str(part)


def test_what_is_no_defect_of_a_part_goes_on() -> None:
    failed = FailedParts()
    for error in (UsageError("say it"), OSError(28, "No space left on device"), MemoryError(), KeyboardInterrupt()):
        with pytest.raises(type(error)), failed.part("rule", "x"):
            raise error
    assert failed.taken() == ()


def test_rows_before_a_defect_stand() -> None:
    def rows() -> Iterator[int]:
        yield 1
        raise ValueError

    failed = FailedParts()
    assert list(failed.rows("client", "x", rows)) == [1]
    assert len(failed.taken()) == 1


def test_parts_that_fail_in_one_place_are_one_record() -> None:
    (part,) = joined_parts(FailedPart("client", (f"c{number}",), 1, "why", ()) for number in range(100))
    assert part.n == 100
    assert len(part.names) == MOST_NAMES
    assert part.sentence == "client c0, c1, c10 and 97 more: why"
