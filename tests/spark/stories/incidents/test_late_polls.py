"""Consumers that fetched late, from stalls written by hand. Times are seconds."""

from collections.abc import Sequence
from pathlib import Path

import pytest
from tests.analyzer.report.small_dataset import write_table

from kafkascope_analyzer.dataset.dataset import Dataset
from kafkascope_analyzer.dataset.manifest import MANIFEST, Manifest, written_files
from kafkascope_analyzer.dataset.tables import REQUESTS
from kafkascope_spark.stories.incidents.course.sightings import Packets
from kafkascope_spark.stories.incidents.machine import Incidents
from kafkascope_spark.stories.incidents.packets.fetch_counts import FetchedBy, fetch_counts
from kafkascope_spark.stories.incidents.table import IncidentRow

from .conftest import NS, MakeRow, MakeStall
from .test_machine import advised, tell

GROUP = {"group_id": "orders-app"}


def test_records_that_nobody_asked_for_waited_for_their_consumer(stall: MakeStall) -> None:
    """Recorded of a Java consumer whose application takes 3.5 s for what each poll brings."""
    late = [stall("consume", 21, 1, at, at + 3.4, unasked_ms=3_000, **GROUP) for at in (18.2, 21.7, 25.2)]
    late.append(stall("consume", 21, 1, 100, 103, unasked_ms=3_000, **GROUP))
    (first, second), kinds = tell([], late)
    assert set(kinds.values()) == {"slow_consumer"}
    assert (first["place"], first["clients"], first["n_stalls"], second["n_stalls"]) == ("client", ["ci-21"], 3, 1)
    assert (first["severity"], first["hosts"]) == ("warning", ["10.0.0.21"])
    assert "client-21 (10.0.0.21) fetched late" in first["sentence"]
    assert "what the application does with each batch" in advised(first)


@pytest.mark.parametrize("ends", [(21.7, None), (None, 25.0), (None, None)])
def test_a_consumer_that_never_asked_again_is_late_to_the_end(
    stall: MakeStall, ends: tuple[float | None, float | None]
) -> None:
    late = [
        stall("consume", 21, 1, at, end, unasked_ms=3_000, **GROUP) for at, end in zip((18.2, 20), ends, strict=True)
    ]
    (incident,), _ = tell([], late)
    assert (incident["kind"], incident["n_stalls"], incident["end_ns"]) == ("slow_consumer", 2, None)
    assert "to the end of the capture" in incident["sentence"]


def test_records_that_were_asked_for_are_not_late_for_their_consumer(stall: MakeStall) -> None:
    _, kinds = tell([], [stall("consume", 21, 1, 18.2, 21.7, **GROUP)])
    assert set(kinds.values()) == {"unexplained"}


class Fetched(Packets):
    """Has so many Fetch requests of each client."""

    def __init__(self, n: int) -> None:
        super().__init__()
        self._n = n

    def fetches(self, questions: Sequence[FetchedBy]) -> list[int]:
        assert [(each.client_ip, each.to_ns) for each in questions] == [("10.0.0.21", 30 * NS - 1)]
        return [self._n for _ in questions]


@pytest.mark.parametrize(("n", "kind"), [(25, "not_fetched"), (11, "slow_consumer")])
def test_a_consumer_that_fetches_other_partitions_all_the_time_left_this_one_out(
    stall: MakeStall, n: int, kind: str
) -> None:
    """An application pauses a partition (pause()) for 12 s, and reads another one meanwhile
    (https://github.com/akka/alpakka-kafka/issues/353)."""
    machine = Incidents(0, packets=Fetched(n))
    machine.take(stall("consume", 21, 1, 18, 30, unasked_ms=12_000, **GROUP))
    (incident,) = (row for row in machine.finish() if isinstance(row, IncidentRow))
    assert (incident.kind, incident.severity) == (kind, "error")
    if kind == "not_fetched":
        assert "did not fetch orders-0 from" in incident.sentence
        assert "25 Fetch requests for other topic-partitions" in incident.sentence


def test_fetches_are_counted_by_client_and_time(tmp_path: Path) -> None:
    row = {"api_key": 1, "status": "ok", "client_ip": "10.0.0.21", "client_id": "app"}
    others = [{"client_ip": "10.0.0.22"}, {"client_id": None}, {"api_key": 0}, {"status": "unanswered"}]
    rows = [{**row, "ts_ns": at} for at in (4, 5, 6, 9, 10)] + [{**row, **other, "ts_ns": 7} for other in others]
    write_table(tmp_path, REQUESTS, rows)
    (tmp_path / MANIFEST).write_text(Manifest(written_files(tmp_path), {}).to_json())
    questions = [FetchedBy("10.0.0.21", "app", 5, 9), FetchedBy("10.0.0.21", None, 0, 99)]
    assert fetch_counts(Dataset.open(tmp_path), questions) == [3, 1]
    assert fetch_counts(None, questions) == [0, 0]


def test_a_consumer_that_waits_for_its_commit_is_not_late(stall: MakeStall) -> None:
    late = stall("consume", 21, 1, 18.2, 21.7, unasked_ms=3_000, **GROUP)
    for host, kind in ((21, "unexplained"), (22, "slow_consumer")):
        _, kinds = tell([], [late, stall("commit", host, 2, 18.3, 21, **GROUP)])
        assert kinds[late.stall_id] == kind


def test_what_explains_more_comes_first(stall: MakeStall, rebalance: MakeRow) -> None:
    late = stall("consume", 21, 2, 10, 17, unasked_ms=3_000, **GROUP)
    assert set(tell([], [late], [], [rebalance(9, 16)])[1].values()) == {"member"}


def test_a_rebalance_without_an_end_is_over_when_the_next_one_begins(stall: MakeStall, rebalance: MakeRow) -> None:
    """Recorded when a group forms: two more members join before the first generation is complete."""
    late = stall("consume", 21, 1, 18, 21, unasked_ms=3_000, **GROUP)
    assert set(tell([], [late], [], [rebalance(5.6, None), rebalance(6, 6.1)])[1].values()) == {"slow_consumer"}
    assert set(tell([], [late], [], [rebalance(5.6, 5.9), rebalance(6, None)])[1].values()) == {"member"}


def test_what_the_consumer_read_late_at_about_that_time_belongs_to_it(stall: MakeStall) -> None:
    """Recorded of sarama, whose Fetch requests leave out topic-partitions with which its application is behind."""
    late = stall("consume", 21, 1, 32, 38, unasked_ms=3_000, **GROUP)
    others = [stall("consume", 21, 1, at, end, **GROUP) for at, end in ((29, 30.5), (35, None))]
    other, unrelated = stall("consume", 22, 1, 33, 36, **GROUP), stall("consume", 21, 1, 200, 203, **GROUP)
    _, kinds = tell([], [late, *others[:1], other, unrelated])
    assert [kinds[s.stall_id] for s in (late, others[0], other, unrelated)] == ["slow_consumer"] * 2 + [
        "unexplained"
    ] * 2
    (incident,), _ = tell([], [late, *others])
    assert (incident["n_stalls"], incident["start_ns"], incident["end_ns"]) == (3, 29 * NS, None)


@pytest.mark.parametrize(("n", "kind"), [(5, "slow_consumer"), (4, "unexplained")])
def test_a_consumer_that_is_late_for_a_second_each_time_is_late_if_that_is_often(
    stall: MakeStall, n: int, kind: str
) -> None:
    """Recorded of a consumer whose host ran it for a tenth of a second in every two."""
    late = [stall("consume", 21, 1, 10 + 2 * i, 11.8 + 2 * i, unasked_ms=1_700, **GROUP) for i in range(n)]
    assert set(tell([], late)[1].values()) == {kind}
