"""Clients in words."""

from dataclasses import fields
from typing import Any

import pytest

from kafkascope_analyzer.dataset.dataset import Dataset
from kafkascope_analyzer.report.model.client_names import NamedClient, client_ids, named_clients
from kafkascope_analyzer.report.model.client_texts import client_facts, client_name, job_text, kind_text, software_text
from kafkascope_analyzer.report.model.clients import ClientFacts, Job

T0 = 5_000_000_000


def client(**values: Any) -> ClientFacts:
    return ClientFacts(**{field.name: values.get(field.name) for field in fields(ClientFacts)})


def job(**values: Any) -> Job:
    rest = {"first_ns": None, "subjects": (), "n_subjects": len(values.get("subjects", ())), "n_requests": 1}
    return Job(**rest | values)


def test_names_and_kinds() -> None:
    assert client_name("svc", "10.0.0.1") == "svc"
    assert client_name(None, "10.0.0.1") == "(no client id) 10.0.0.1"
    assert client_name(None) == "(no client id)"
    assert client_name("\x1b[2J") == "\\x1b[2J"
    assert (kind_text("transactional_producer"), kind_text(None)) == ("transactional producer", "client")
    named = NamedClient("ci", None, "10.0.0.1", "producer", None, "librdkafka", None)
    assert (named.name, software_text(named), software_text(None)) == ("10.0.0.1", "librdkafka", "")


def test_what_is_known_of_a_client_a_line_each() -> None:
    group = {"group_id": "g", "group_protocol": "consumer", "group_instance_id": "i-1"}
    times = {"first_ns": T0 + 10**9, "last_ns": T0 + 2 * 10**9, "n_requests": 1, "n_errors": 1204, "end_state": "died"}
    facts = client_facts(
        client(kind="consumer", client_ip="10.0.0.1", identity="shared", identity_why="two versions", **group, **times),
        ["PLAIN", None, "PLAIN"],
        T0,
    )
    assert facts == (
        "consumer at 10.0.0.1",
        "group g, static member i-1 · consumer protocol (KIP-848)",
        "authenticates by PLAIN",
        "may be more than one client object: two versions",
        "00:01.000 to 00:02.000 · vanished · 1 request, 1,204 errors",
    )
    by_certificate = client_facts(
        client(kind="producer", principal="CN=x", transactional_id="t", transactions="v2"), [], T0
    )
    assert by_certificate[:3] == (
        "producer at ?",
        "transactional id t · transactions v2 (KIP-890)",
        "authenticates by TLS as CN=x",
    )


@pytest.mark.parametrize(
    ("values", "text"),
    [
        ({"role": "bootstrap", "verdicts": {"confirmed": 1}}, "bootstrap"),
        (
            {"role": "partition_leader", "subjects": ("t-0", "t-1"), "verdicts": {"confirmed": 2}},
            "partition leader of t-0, t-1",
        ),
        (
            {"role": "group_coordinator", "subjects": ("g",), "verdicts": {"refused": 1}},
            "group coordinator of g (refused)",
        ),
        (
            {
                "role": "partition_leader",
                "subjects": ("a-0",),
                "n_subjects": 1204,
                "verdicts": {"confirmed": 3, "asked": 2},
            },
            "partition leader of 1,204: a-0 … (2 asked)",
        ),
    ],
)
def test_jobs_of_a_connection(values: dict[str, Any], text: str) -> None:
    assert job_text(job(**values)) == text


def test_names_of_clients_come_from_their_table(dataset) -> None:
    found = Dataset.open(dataset())
    assert client_ids(found, ["p1", None, "nobody", "g1"]) == {"p1": "svc", "g1": "reader"}
    assert named_clients(found, ["b1"])["b1"].kind == "broker"
    assert named_clients(found, []) == {}
