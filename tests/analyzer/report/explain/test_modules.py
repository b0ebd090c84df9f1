"""What each explainer says, from rows that were written by hand, and whose numbers it has to repeat."""

from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

from kafkascope_analyzer.dataset.dataset import Dataset
from kafkascope_analyzer.report.explain.cause import load_cause
from kafkascope_analyzer.report.explain.client import explain_client
from kafkascope_analyzer.report.explain.explanation import explain
from kafkascope_analyzer.report.explain.groups import explain_rebalance, explain_transaction
from kafkascope_analyzer.report.explain.identities import (
    CAUSE,
    CLIENT,
    FINDING,
    INCIDENT,
    REBALANCE,
    RECOVERY,
    STALL,
    START,
    TRANSACTION,
    Identity,
    has_id,
    identity_of,
)
from kafkascope_analyzer.report.explain.incidents import explain_finding, explain_incident, explain_stall
from kafkascope_analyzer.report.explain.model import MOST_PROOFS, Explanation, numbers, proof_sentences
from kafkascope_analyzer.report.explain.names import explain_name, names_of
from kafkascope_analyzer.report.explain.recovery import explain_recovery
from kafkascope_analyzer.report.explain.start import explain_start
from kafkascope_analyzer.report.model.episode import episode_model
from kafkascope_analyzer.report.model.proofs import Proof
from kafkascope_parsers.errors import UsageError

RULES = {"acks_zero": "Acks are 0"}


@pytest.fixture
def found(dataset: Callable[..., Path]) -> Dataset:
    return Dataset.open(dataset())


Explain = Callable[[Dataset, Identity], Explanation]


@pytest.mark.parametrize(
    ("explainer", "identity", "sentences", "cut"),
    [
        (
            explain_client,
            Identity(CLIENT, "p1"),
            [
                "It had 2 connections, to node 1 (10.0.0.11:9092).",
                "From 00:04.990 on it waited 4.00 s: produce to clicks-0 (stall-1).",
                "At 00:05.000 it got NOT_LEADER_OR_FOLLOWER on clicks-3: recovered after 103 ms (move).",
            ],
            "--client p1 -o p1.pcapng",
        ),
        (
            explain_start,
            Identity(START, "g1:1"),
            [
                "reader (consumer at 10.0.0.101) began its start number 1 at 2026-11-21 04:28:08.020 UTC: failed at "
                "join group."
            ],
            "--startup g1:1 -o g1:1.pcapng",
        ),
        (
            explain_recovery,
            Identity(RECOVERY, "p1:r3"),
            [
                "+1.00 ms: the client paused 1.50 ms.",
                "Recovered at node 2 (before: node 1) after 103 ms.",
                "It is one of 4 recoveries of one cause (move), which affected 1 client (svc): 4 partitions.",
            ],
            "--recovery p1:r3 -o p1:r3.pcapng",
        ),
        (
            explain_recovery,
            Identity(CAUSE, "move"),
            ["Errors: NOT_LEADER_OR_FOLLOWER; 4 errors in all, 4 wasted requests.", "Outcomes: 4 recovered."],
            "--recovery p1:r3 -o p1:r3.pcapng",
        ),
        (
            explain_rebalance,
            Identity(REBALANCE, "r2"),
            [
                "Partition clicks-0 (reader → m-2) was unread for 2.90 s from 00:00.610 to 00:03.510.",
                "The others waited for m-2, which joined last.",
            ],
            "--group readers --from +0.500000s --to +3.501000s -o rebalance.pcapng",
        ),
        (
            explain_transaction,
            Identity(TRANSACTION, "pay", 2),
            [
                "Transactional id pay: 1 transaction.",
                "Number 2 of svc began at 2026-11-21 04:28:08.200 UTC, wrote 5 records to 12 partitions, and was "
                "hanging.",
            ],
            "",
        ),
        (
            explain_incident,
            Identity(INCIDENT, "incident-1"),
            [
                "3 stalls of 2 clients belong to it:",
                "What followed: 4 recoveries from errors.",
                "Produce to unknown node [packets 31 and 32] was answered after 10.0 ms with NOT_LEADER_OR_FOLLOWER.",
            ],
            "--incident incident-1 -o incident-1.pcapng",
        ),
        (
            explain_stall,
            Identity(STALL, "stall-3"),
            [
                "Meanwhile 2 requests for it were sent; no error came back.",
                "It belongs to incident-2: leader moved: node 1 (10.0.0.11:9092).",
                "JoinGroup to unknown node got no answer.",
            ],
            "--stall stall-3 -o stall-3.pcapng",
        ),
        (
            explain_finding,
            Identity(FINDING, "f-1"),
            ["Error, rule broker_lost: node 1 was lost."],
            "--finding f-1 -o f-1.pcapng",
        ),
    ],
    ids=lambda value: value.__name__ if callable(value) else None,
)
def test_what_is_said(found: Dataset, explainer: Explain, identity: Identity, sentences: list[str], cut: str) -> None:
    said = explainer(found, identity)
    assert [one for one in sentences if one not in said.sentences] == []
    assert said.cut == (f"kafkascope cut OUT.kscope {cut}" if cut else "")


def test_an_episode_and_its_cause_have_the_numbers_of_their_rows(found: Dataset) -> None:
    cause, episode = load_cause(found, "move"), episode_model(found, "p1:r3")
    assert (cause.n_recoveries, cause.n_errors, cause.clients, cause.resources) == (4, 4, ("svc",), {"partition": 4})
    assert (cause.affected, cause.ended) == ("1 client (svc): 4 partitions", "4 recovered")
    assert cause.end_ns - cause.start_ns == 103_000_000
    assert [step.step for step in episode.recovery.steps] == ["error", "backoff", "metadata", "retry", "success"]
    assert episode.client is not None
    assert episode.client.client_id == "svc"
    with pytest.raises(ValueError, match="empty"):
        load_cause(found, "no-such-cause")


@pytest.mark.parametrize(
    ("name", "identity"),
    [
        ("incident-1", Identity(INCIDENT, "incident-1")),
        ("pay", Identity(TRANSACTION, "pay")),
        ("pay:2", Identity(TRANSACTION, "pay", 2)),
        ("p1:r3", Identity(RECOVERY, "p1:r3")),
        ("r2", Identity(REBALANCE, "r2")),
        ("move", Identity(CAUSE, "move")),
    ],
)
def test_an_id_names_one_thing(found: Dataset, name: str, identity: Identity) -> None:
    assert has_id(found, name)
    assert identity_of(found, name) == identity


def test_a_beginning_names_what_no_other_id_begins_with(found: Dataset, small: ModuleType) -> None:
    row = {"clients": [], "n_stalls": 0, "severity": "info", "start_ns": 1, "sentence": "x", "kind": "leader_move"}
    place = found.local_folder
    ids = ("incident-abcdef01", "incident-abcdff02", "incident-9999ffff")
    small.write_table(place, small.TABLES["incidents"], [{**row, "incident_id": identity} for identity in ids])
    again = Dataset.open(place or "")
    assert identity_of(again, "9999f", INCIDENT).id == "incident-9999ffff"
    assert identity_of(again, "incident-abcde").id == "incident-abcdef01"
    with pytest.raises(UsageError, match=r"abcd is ambiguous: 2 ids begin so \(incident-abcdef01, incident-abcdff02\)"):
        identity_of(again, "abcd")
    with pytest.raises(UsageError, match="no incident with the id 999"):
        identity_of(again, "999", INCIDENT)
    assert not has_id(again, "incident-abcde")


@pytest.mark.parametrize(
    ("name", "kind", "first"),
    [
        ("svc", CLIENT, "svc:"),
        ("group:readers", "group", "Group readers: 1 client (reader)."),
        ("node 1", "node", "Node 1: 10.0.0.11:9092."),
        ("10.0.0.12:9092", "node", "Node 2: 10.0.0.12:9092."),
        ("rule:acks_zero", "rule", "Rule acks_zero: Acks are 0. 0 findings of it in this capture."),
    ],
)
def test_names_are_explained_as_what_they_are(found: Dataset, name: str, kind: str, first: str) -> None:
    said = explain(found, name, RULES)
    assert (said.asked_for, said.sentences[0]) == (kind, first)
    named = names_of(found, RULES)
    assert explain_name(found, "nobody", named) is None
    assert explain_name(found, "client:readers", named) is None
    assert {"svc", "readers", "clicks", "1", "10.0.0.12:9092", "acks_zero"} <= set(named.all())


def test_proofs_in_sentences() -> None:
    proof = Proof("r", "Fetch", "NONE", 1, 1, (4, 9), 5, "5 µs", 2, 9092)
    nothing = Proof("c", None, None, None, None, (), None, "", None, None)
    said = proof_sentences([nothing, proof], 3, several_files=True)
    assert said == [
        "It is proved by:",
        "Fetch to node 2 [packets 4 and 9] of file 1 was answered after 5 µs.",
        "… and 2 more.",
    ]
    assert len(proof_sentences([proof] * 30, 30, several_files=False)) == MOST_PROOFS + 2
    assert proof_sentences([nothing], 1, several_files=False) == []
    assert (numbers([]), numbers([7])) == ("", " [packet 7]")
