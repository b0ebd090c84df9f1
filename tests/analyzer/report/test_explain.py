"""`kafkascope explain`: full sentences for every id that a report prints, with packets and the cut command."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from typer.testing import CliRunner

from kafkascope_analyzer.cli.app import app
from kafkascope_analyzer.dataset.dataset import Dataset
from kafkascope_analyzer.report.model.report import report_model
from kafkascope_analyzer.report.plain import plain

Write = Callable[..., Path]


def explained(place: Path, name: str, *more: str) -> str:
    result = CliRunner().invoke(app, ["explain", str(place), name, *more])
    assert result.exit_code == 0, result.output
    return result.output


def flat(text: str) -> str:
    return " ".join(text.split())


EXPECTED: dict[str, tuple[str, ...]] = {
    "incident-1": (
        "Error: broker silent: node 1 (10.0.0.11:9092), from 00:04.900 (04:28:12.900 UTC), not over when the capture "
        "ended, on 2026-11-21.",
        "Node 1 sent nothing from 4.9 s on.",
        "3 stalls of 2 clients belong to it:",
        "reader waited 5.00 s from 00:05.000 on (fetch from clicks-0 (group readers)) and was still waiting when the "
        "capture ended (stall-3).",
        "svc waited 4.00 s from 00:04.990 on (produce to clicks-0) and was served then (stall-1).",
        "What followed: 1 incident. The leader of clicks-0 moved from node 1 to node 2 (incident-2).",
        "What followed: 4 recoveries from errors.",
        "00:05.000 svc: NOT_LEADER_OR_FOLLOWER on clicks-3, recovered after 103 ms (p1:r3).",
        "What to change, operator of the brokers: Look at the host of node 1.",
        "Shown by: no segment came.",
        "Produce to unknown node [packets 31 and 32] was answered after 10.0 ms with NOT_LEADER_OR_FOLLOWER.",
        "--incident incident-1 -o incident-1.pcapng",
    ),
    "incident-2": (
        "It followed from incident-1: broker silent: node 1 (10.0.0.11:9092).",
        "1 stall of 1 client belongs to it:",
        "--incident incident-2 -o incident-2.pcapng",
    ),
    "incident-3": ("Info: coordinator moved: group readers", "Nobody stalled for 1 s or longer because of it."),
    "stall-1": (
        "svc waited 4.00 s from 00:04.990 on (produce to clicks-0) and was served then.",
        "It waited from 2026-11-21 04:28:12.990 UTC until 2026-11-21 04:28:16.990 UTC.",
        "It waited on node 1 first.",
        "Meanwhile 2 requests for it were sent; the errors were NOT_LEADER_OR_FOLLOWER.",
        "It belongs to incident-1: broker silent: node 1 (10.0.0.11:9092).",
        "[packets 31 and 32]",
        "--stall stall-1 -o stall-1.pcapng",
    ),
    "f-2": (
        "Warning, rule leader_storm: svc met it.",
        "It was seen 3 times, 00:04.990 to 00:05.100 (04:28:12.990 to 04:28:13.100 UTC).",
        "It is a consequence of incident-1: broker silent: node 1 (10.0.0.11:9092).",
        "--finding f-2 -o f-2.pcapng",
    ),
    "f-1": ("Error, rule broker_lost: node 1 was lost.",),
    "p1:r3": (
        "got NOT_LEADER_OR_FOLLOWER on partition clicks-3.",
        "Recovered at node 2 (before: node 1) after 103 ms.",
    ),
    "p1:1": (
        "svc (producer at 10.0.0.101) began its start number 1 at 2026-11-21 04:28:08.000 UTC: ready",
        "+310 ms: first produce (clicks-0) at node 1 took 90.0 ms, of it the broker 36.0 ms, after a wait of 300 ms.",
        "--startup p1:1 -o p1:1.pcapng",
    ),
    "g1:1": ("reader (consumer at 10.0.0.101) began its start number 1", "failed at join group."),
    "r2": (
        "Group readers (classic protocol, generation 2, coordinator node 2) rebalanced from 2026-11-21 04:28:08.500 "
        "UTC on for 3.00 s. Its trigger: member joined.",
        "Member reader joined 0 µs after its begin; it was assigned 0 partitions.",
        "Partition clicks-0 (reader → m-2) was unread for 2.90 s from 00:00.610 to 00:03.510.",
        "Partition clicks-1 (reader → m-2) has another owner.",
        "The others waited for m-2, which joined last.",
        "--group readers --from +0.500000s --to +3.501000s -o rebalance.pcapng",
    ),
    "pay:2": (
        "Transactional id pay: 1 transaction.",
        "Number 2 of svc began at 2026-11-21 04:28:08.200 UTC, wrote 5 records to 12 partitions, and was hanging.",
    ),
    "p1": (
        "svc: producer at 10.0.0.101",
        "It started at 00:00.000: ready (p1:1).",
        "From 00:04.990 on it waited 4.00 s: produce to clicks-0 (stall-1).",
        "NOT_LEADER_OR_FOLLOWER",
        "--client p1 -o p1.pcapng",
    ),
    "pay": ("Transactional id pay: 3 transactions.", "Number 3 of svc began", "and was aborted."),
}


@pytest.mark.parametrize("name", EXPECTED)
def test_every_id_is_explained_in_sentences(dataset: Write, name: str) -> None:
    text = flat(explained(dataset(), name, "--format", "rich"))
    for sentence in EXPECTED[name]:
        assert sentence in text, text


@pytest.mark.parametrize("name", EXPECTED)
def test_the_same_as_json_with_the_rows_behind_it(dataset: Write, name: str) -> None:
    shown = json.loads(explained(dataset(), name, "--format", "json"))
    text = flat(explained(dataset(), name))
    assert all(flat(sentence) in text for sentence in shown["sentences"])
    assert shown["id"] == name.removesuffix(":2")
    assert set(shown) > {"asked_for", "id", "sentences", "cut", "wireshark"}


def ids_in(model: Any) -> set[tuple[str, str]]:
    """(key, id) of everything in report.json that explain should take."""
    keys = {"incident_id", "finding_id", "startup_id", "recovery_id", "cause_id", "rebalance_id", "client_instance_id"}
    found: set[tuple[str, str]] = set()
    if isinstance(model, list):
        return set().union(*map(ids_in, model)) if model else found
    if isinstance(model, dict):
        for key, value in model.items():
            if key in keys and isinstance(value, str):
                found.add((key, value))
            elif key in ("stall_ids", "finding_ids") or (key == "ids" and "sentences" in model):
                found |= {(key, one) for one in value}
            else:
                found |= ids_in(value)
    return found


@pytest.mark.slow
def test_every_id_of_the_report_can_be_explained(dataset: Write) -> None:
    place = dataset()
    ids = ids_in(plain(report_model(Dataset.open(place)), clip=True))
    assert {key for key, _ in ids} >= {"incident_id", "finding_id", "startup_id", "rebalance_id", "stall_ids", "ids"}
    for _, identity in sorted(ids):
        assert explained(place, identity)


def test_the_report_and_the_explanation_have_the_same_words_and_numbers(dataset: Write) -> None:
    place = dataset()
    incident = plain(report_model(Dataset.open(place)), clip=True)["incidents"]["listed"][0]
    shown = json.loads(explained(place, "incident-1", "--format", "json"))
    assert shown["incident"] == {
        key: value.replace("OUT.kscope", str(place)) if key in ("cut", "explain") else value
        for key, value in incident.items()
    }


def test_an_unknown_id_is_one_sentence_that_names_ids_that_there_are(dataset: Write) -> None:
    result = CliRunner().invoke(app, ["explain", str(dataset()), "nothing"])
    assert (result.exit_code, result.stdout) == (2, "")
    (sentence,) = result.stderr.splitlines()
    assert "has nothing called nothing; it has, for example, incident incident-1, stall stall-1," in sentence


NAMES: dict[str, tuple[str, ...]] = {
    "svc": ("svc:", "--client p1 -o"),
    "readers": ("Group readers: 1 client (reader).", "group readers rebalances", "--group readers -o group.pcapng"),
    "clicks": ("Topic clicks: ", "stall-1", "--topic clicks -o topic.pcapng"),
    "node 2": ("Node 2: 10.0.0.12:9092.", "coordinator moved", "--connection 10.0.0.12:9092 -o node.pcapng"),
    "2": ("Node 2: ",),
    "10.0.0.12:9092": ("Node 2: ",),
    "leader_storm": (
        "Rule leader_storm: ",
        "1 finding of it in this capture.",
        "(f-2)",
        "--finding f-2 -o rule.pcapng",
    ),
    "idle_reset": ("Rule idle_reset: ", "0 findings of it in this capture.", "kafkascope rules idle_reset"),
    "group:readers": ("Group readers: ",),
}


@pytest.mark.parametrize("name", NAMES)
def test_names_are_explained_too(dataset: Write, name: str) -> None:
    text = flat(explained(dataset(), name))
    assert all(part in text for part in NAMES[name]), text


@pytest.mark.parametrize(
    ("name", "near"), [("reader5", "reader"), ("click", "clicks"), ("leader_strom", "leader_storm")]
)
def test_a_name_that_is_not_there_gets_those_that_are_alike(dataset: Write, name: str, near: str) -> None:
    result = CliRunner().invoke(app, ["explain", str(dataset()), name])
    assert (result.exit_code, result.stdout) == (2, "")
    assert f"has nothing called {name} (did you mean {near}" in result.stderr


@pytest.mark.parametrize("kind", ["client", "group", "topic", "rule"])
def test_hostile_names_that_are_explained_stay_text(dataset: Write, kind: str) -> None:
    hostile = "\x1b[31m\u202e"
    name = {
        "client": f"svc{hostile}",
        "group": f"readers{hostile}",
        "topic": f"clicks{hostile}",
        "rule": "leader_storm",
    }
    assert not re.search("[\x1b\u202e]", explained(dataset(text=hostile), name[kind]))


def test_a_transaction_that_the_id_did_not_have_is_said(dataset: Write) -> None:
    result = CliRunner().invoke(app, ["explain", str(dataset()), "pay:77"])
    assert result.exit_code == 2
    assert "has no transaction 77 of pay" in result.stderr


@pytest.mark.parametrize("name", ["incident-1", "stall-1", "f-2", "p1:1", "r2", "p1:r3"])
def test_hostile_names_stay_text(dataset: Write, name: str) -> None:
    text = explained(dataset(text="\x1b[31m\u202e"), name)
    assert not re.search("[\x1b\u202e]", text)
    sentences, _, _ = text.partition("For Wireshark:")
    assert max(map(len, sentences.splitlines())) <= 80


def test_without_stories_it_says_how_to_make_them(dataset: Write, small: ModuleType) -> None:
    result = CliRunner().invoke(app, ["explain", str(dataset(stories=False)), "incident-1"])
    assert result.exit_code == 2
    assert "kafkascope stories" in result.stderr
