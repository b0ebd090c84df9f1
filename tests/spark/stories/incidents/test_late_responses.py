"""Stalls while responses came late, from stalls and latencies by hand; latencies against rows read one by one."""

import tarfile
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from kafkascope_analyzer.dataset.dataset import Dataset
from kafkascope_analyzer.dataset.table_rows import scan
from kafkascope_parsers.api_keys import FETCH, PRODUCE
from kafkascope_spark.stories.incidents.brokers.late_responses import with_late_responses
from kafkascope_spark.stories.incidents.errors.other_failures import of_unexplained
from kafkascope_spark.stories.incidents.failures.failure import Failure
from kafkascope_spark.stories.incidents.failures.times import Times
from kafkascope_spark.stories.incidents.packets.latencies import LATE_NS, Asked, Latencies, Latency, latencies

from .conftest import NS, MakeStall

DATASET = Path(__file__).parents[4] / "fixtures" / "datasets" / "leader_move.kscope.tar.xz"
SLOW, QUICK = Latency(10, 9, 3 * NS, 2 * NS), Latency(10, 0, NS // 100, NS // 100)
QUEUED = Latency(282, 211, 2 * NS, NS // 5)
ONE, TWO = "10.0.0.21", "10.0.0.22"


Pairs = dict[tuple[str, int], Latency]


def told(stall: MakeStall, pairs: Pairs, *kinds: str, others: Pairs | None = None) -> list[Failure]:
    """Stalls of host 21 at node 1 and of host 22 at node 2. others: how long requests took that nobody waited for."""
    stalls = [stall(kind, 20 + n, n, 10, 14) for kind in kinds for n in (1, 2)]
    asked: list[Asked] = []

    def ask(questions: list[Asked]) -> list[Latencies]:
        asked.extend(questions)
        return [Latencies(pairs if PRODUCE in question.api_keys else others or {}) for question in questions]

    found = list(with_late_responses(of_unexplained(stalls), ask))
    assert {(a.from_ns, a.to_ns) for a in asked} == {(10 * NS, 14 * NS)}
    assert sum(len(failure.stalls) for failure in found) == len(stalls)
    return found


def test_several_brokers_that_respond_late_to_everybody_are_a_slow_cluster(stall: MakeStall) -> None:
    (failure,) = told(stall, {(ONE, 1): SLOW, (TWO, 2): SLOW}, "produce", "consume")
    assert (failure.kind.name, failure.kind.place, failure.subject) == ("cluster_slow", "cluster", "node 1, node 2")
    sentence = failure.kind.sentence(failure, Times(0))
    assert "18 of 20 responses that a client waited for took half a second or longer, up to 3.00 s" in sentence


@pytest.mark.parametrize(("other", "confidence"), [({(TWO, 2): QUICK}, "likely"), ({}, "possible")])
def test_one_broker_that_responds_late_beside_quicker_ones_is_slow(
    stall: MakeStall, other: dict[tuple[str, int], Latency], confidence: str
) -> None:
    """Who waits for another broker meanwhile may wait for a replica there."""
    (failure,) = told(stall, {(ONE, 1): SLOW, **other}, "produce")
    assert (failure.kind.name, failure.node_id, failure.confidence) == ("broker_slow", 1, confidence)
    sentence = failure.kind.sentence(failure, Times(0))
    assert ("while other brokers responded faster" in sentence) == (confidence == "likely")


@pytest.mark.parametrize(("other", "is_alone"), [(QUICK, True), (SLOW, False), (Latency(2, 0, 1), False)])
def test_a_broker_that_answers_other_requests_at_once_is_slow_at_those_alone(
    stall: MakeStall, other: Latency, is_alone: bool
) -> None:
    """Two requests that were quick show no more than chance."""
    (failure,) = told(stall, {(ONE, 1): SLOW}, "produce", others={(TWO, 1): other})
    assert failure.kind.name == "broker_slow"
    assert (failure.subject == "node 1 (Produce alone)") == is_alone
    sentence = failure.kind.sentence(failure, Times(0))
    assert ("Node 1 responded late to Produce" in sentence) == is_alone
    assert ("while it answered its other requests at once" in sentence) == is_alone


def test_a_broker_that_is_quick_to_others_is_not_the_cause_and_the_sentence_says_so(stall: MakeStall) -> None:
    (failure,) = told(stall, {(ONE, 1): SLOW, (TWO, 1): QUICK, (TWO, 2): QUICK}, "produce")
    assert failure.kind.name == "unexplained"
    sentence = failure.kind.sentence(failure, Times(0))
    assert "responses of node 1 to 10.0.0.21 came late, and other responses of these brokers came at once" in sentence


@pytest.mark.parametrize("pairs", [{}, {(ONE, 1): QUICK, (TWO, 2): QUICK}, {(ONE, 1): Latency(10, 2, 3 * NS)}])
def test_where_responses_were_quick_nothing_shows_why(stall: MakeStall, pairs: dict[tuple[str, int], Latency]) -> None:
    (failure,) = told(stall, pairs, "produce")
    assert "nothing in the capture shows why" in failure.kind.sentence(failure, Times(0))


def test_where_responses_are_encrypted_the_sentence_says_what_is_not_known(stall: MakeStall) -> None:
    (failure,) = of_unexplained([stall("produce", 21, 1, 10, 14, claimed=True)])
    sentence = failure.kind.sentence(failure, Times(0))
    assert "responses are encrypted: errors and leader moves are not known" in sentence
    assert "nothing in the capture" not in sentence


def test_a_client_that_waits_behind_its_own_requests_is_not_told_as_a_slow_broker(stall: MakeStall) -> None:
    """Recorded of a librdkafka producer that sends one record in each request: it has up to 57 of them in flight, and
    waits 0.9 s for responses of a broker that takes 16 ms for one."""
    (failure,) = told(stall, {(ONE, 1): QUEUED, (TWO, 2): QUEUED}, "produce")
    assert (failure.kind.name, failure.kind.place) == ("queued_requests", "client")
    assert len(failure.stalls) == 2
    sentence = failure.kind.sentence(failure, Times(0))
    assert sentence.startswith("Requests of client-21 (10.0.0.21), client-22 (10.0.0.22) waited behind earlier ones")
    assert "422 of 564 responses" in sentence
    assert "up to 2.00 s, while the broker itself took at most 200 ms for one" in sentence


def test_own_queues_explain_no_stall_of_another_client(stall: MakeStall) -> None:
    (failure,) = told(stall, {(ONE, 1): QUEUED, (TWO, 2): QUICK}, "produce")
    assert failure.kind.name == "unexplained"


def test_a_stall_of_consumers_alone_shows_no_slow_broker(stall: MakeStall) -> None:
    """A Fetch waits at the broker for records, so that its response says nothing."""
    (failure,) = told(stall, {(ONE, 1): SLOW, (TWO, 2): SLOW}, "consume")
    assert failure.kind.name == "unexplained"


def _as_encrypted(*asked: Any) -> Iterator[pa.RecordBatch]:
    """Rows of a table whose APIs are claimed, and not known."""
    swapped = {"api_key": "claimed_api_key", "claimed_api_key": "api_key"}
    for batch in scan(*asked):
        yield batch.rename_columns([swapped.get(name, name) for name in batch.schema.names])


@pytest.mark.parametrize("is_encrypted", [False, True])
@pytest.mark.parametrize("keys", [{PRODUCE}, {PRODUCE, FETCH}])
def test_latencies_are_those_of_the_rows(
    keys: set[int], is_encrypted: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with tarfile.open(DATASET) as archive:
        archive.extractall(tmp_path, filter="data")
    (path,) = tmp_path.glob("*.kscope")
    rows = pq.read_table(path / "requests").to_pylist()
    if is_encrypted:
        monkeypatch.setattr("kafkascope_spark.stories.incidents.packets.meanwhile.scan", _as_encrypted)
    times = sorted(row["ts_ns"] for row in rows)
    from_ns, to_ns = times[len(times) // 4], times[3 * len(times) // 4]
    expected: dict[tuple[str, int], list[tuple[int, int]]] = defaultdict(list)
    for row in rows:
        is_asked = from_ns <= row["ts_ns"] <= to_ns and row["api_key"] in keys
        is_of_client = row["replica_id"] is None or row["replica_id"] < 0
        if is_asked and is_of_client and None not in (row["client_ip"], row["node_id"], row["response_ns"]):
            took = row["response_ns"] - row["ts_ns"]
            own = took if row["broker_us"] is None else row["broker_us"] * 1_000
            expected[row["client_ip"], row["node_id"]].append((took, own))
    assert expected
    (found,) = latencies(Dataset.open(path), [Asked(from_ns, to_ns, keys)])
    assert found.of_pairs == {
        pair: Latency(
            len(times),
            sum(took >= LATE_NS for took, _ in times),
            max(took for took, _ in times),
            max(own for _, own in times),
        )
        for pair, times in expected.items()
    }
