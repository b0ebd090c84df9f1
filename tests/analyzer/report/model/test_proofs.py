"""Proofs in words: packet numbers of one file and of several, and how long an answer took."""

import pytest

from kafkascope_analyzer.dataset.dataset import Dataset
from kafkascope_analyzer.report.model.proofs import (
    MOST_PACKETS,
    MOST_PROOFS,
    Proof,
    latency_text,
    load_proofs,
    packets_text,
    proofs_of,
)


def proof(*packets: int, file: int | None = 0) -> Proof:
    return Proof("r", "Fetch", None, 1, file, packets, 5, "5 µs", 1, 9092)


@pytest.mark.parametrize(
    ("proofs", "n_evidence", "n_files", "text"),
    [
        ([proof(12)], 1, 1, "packet 12"),
        ([proof(15, 12), proof(12)], 2, 1, "packets 12, 15"),
        ([proof(2, file=1), proof(7, file=None)], 2, 2, "packets 0:7, 1:2"),
        ([proof(*range(1, MOST_PACKETS + 4))], 1, 1, "packets 1, 2, 3, 4, 5, 6 … and 3 more"),
        ([proof(1)], 900, 1, "packet 1 (900 requests prove it)"),
        ([proof()], 1, 1, "seen on 2 connections"),
    ],
)
def test_packets_in_words(proofs: list[Proof], n_evidence: int, n_files: int, text: str) -> None:
    assert packets_text(proofs, n_evidence, 2, n_files) == text


def test_without_packets_and_connections_there_is_nothing_to_say() -> None:
    assert packets_text([], 0, 0, 1) == ""


@pytest.mark.parametrize(
    ("status", "latency_us", "text"),
    [
        ("ok", 27_000_000, "27.0 s"),
        ("unanswered", None, "no answer"),
        ("unanswered", 0, "0 µs"),
        ("not_captured", None, "answer not in the capture"),
        ("no_response_expected", None, "no answer expected"),
        (None, None, "not known"),
    ],
)
def test_how_long_an_answer_took(status: str | None, latency_us: int | None, text: str) -> None:
    assert latency_text(status, latency_us) == text


def test_an_id_that_is_no_request_is_a_connection(dataset) -> None:
    found = load_proofs(Dataset.open(dataset()), [["c1:9", "c3"], None, ["c2:0"]])
    assert found.keys() == {"c1:9", "c2:0"}
    assert (found["c1:9"].packets, found["c1:9"].error_name) == ((31, 32), "NOT_LEADER_OR_FOLLOWER")
    assert found["c2:0"].took == "no answer"
    listed = proofs_of(["c3", "c1:9"], found)
    assert [(one.id, one.api_name) for one in listed] == [("c3", None), ("c1:9", "Produce")]
    assert len(proofs_of([f"x{n}" for n in range(MOST_PROOFS + 5)], {})) == MOST_PROOFS
    assert proofs_of(None, found) == ()
