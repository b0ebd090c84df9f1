"""Findings, rebalances and transactions in report.json and on the terminal, from rows whose truth is known."""

import shutil
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

from kafkascope_analyzer.dataset.dataset import Dataset
from kafkascope_analyzer.report.commands import at_place
from kafkascope_analyzer.report.model.report import Report, report_model
from kafkascope_analyzer.report.plain import plain
from kafkascope_analyzer.report.terminal.page import page_of
from kafkascope_analyzer.report.terminal.report import render

Write = Callable[..., Path]
ReportOf = Callable[..., Report]

UNREAD = "clicks-0 (reader → m-2) was unread for 2.90 s from 00:00.610 to 00:03.510"


def test_findings_come_gravest_first_with_their_proof(report_of: ReportOf) -> None:
    found = plain(report_of(), clip=True)["findings"]
    assert [row["finding_id"] for row in found["listed"]] == ["f-1", "f-2", "f-3"]
    assert found["by_severity"] == {"error": 1, "warning": 1, "info": 1}
    lost, storm, tiny = found["listed"]
    assert [(proof["id"], proof["packets"]) for proof in storm["evidence"]] == [("c1:9", [31, 32]), ("c1:0", [])]
    assert storm["evidence"][0]["error_name"] == "NOT_LEADER_OR_FOLLOWER"
    assert storm["clients"] == ["svc"]
    assert lost["evidence"] == [
        {
            **dict.fromkeys(("api_name", "error_name", "ts_ns", "capture_id", "latency_us", "node_id", "server_port")),
            "id": "c3",
            "packets": [],
            "took": "",
        }
    ]
    assert storm["evidence"][0]["took"] == "10.0 ms"
    assert (tiny["n_evidence"], len(tiny["evidence"])) == (30, 20)


def test_the_command_that_cuts_a_finding_names_the_dataset_only_where_it_is_shown(dataset: Write) -> None:
    place = dataset()
    model = plain(report_model(Dataset.open(place)), clip=True)
    assert model["findings"]["listed"][0]["cut"] == "kafkascope cut OUT.kscope --finding f-1 -o f-1.pcapng"
    shown = at_place(report_model(Dataset.open(place)), "my captures/a.kscope").findings.listed[0].cut
    assert shown == "kafkascope cut 'my captures/a.kscope' --finding f-1 -o f-1.pcapng"
    assert model["findings"]["listed"][0]["cut"].startswith("kafkascope cut OUT.kscope ")


def test_a_group_tells_what_was_unread_and_who_came_last(report_of: ReportOf) -> None:
    found = plain(report_of(), clip=True)["rebalances"]
    (group,) = found["groups"]
    assert (found["n"], group["n"], group["unread_ms"], group["longest_ms"]) == (2, 2, 2900, 3000)
    assert group["triggers"] == {"first": 1, "member_joined": 1}
    first, second = group["listed"]
    assert [row["generation"] for row in (first, second)] == [1, 2]
    assert group["unread_text"] == "partitions unread for up to 2.90 s"
    assert (first["unread_ms"], first["unread_text"], second["unread_ms"]) == (None, "", 2900)
    assert second["unread_text"] == UNREAD
    assert [(p["partition"], p["unread_ms"]) for p in second["partitions"]] == [(0, 2900), (1, None)]
    assert [member["client_id"] for member in second["members"]] == ["reader", "svc"]
    assert second["last_joiner_client_id"] == "svc"


def test_transactional_ids_in_trouble_come_first(report_of: ReportOf) -> None:
    found = plain(report_of(), clip=True)["transactions"]
    pay, calm = found["ids"]
    assert (pay["transactional_id"], calm["transactional_id"]) == ("pay", "calm")
    assert {outcome: n for outcome, n in pay["outcomes"].items() if n} == {"committed": 1, "hanging": 1, "aborted": 1}
    assert (pay["n_unwell"], [row["outcome"] for row in pay["unwell"]]) == (2, ["hanging", "aborted"])
    assert [row["duration_us"] for row in pay["unwell"]] == [None, 40_000]
    assert (pay["unwell"][0]["n_partitions"], len(pay["unwell"][0]["partitions"])) == (12, 10)
    assert pay["max_us"] == 40_000
    assert (calm["n_unwell"], calm["unwell"]) == (0, [])


def test_of_many_transactions_the_gravest_are_kept(dataset: Write, small: ModuleType) -> None:
    place = dataset()
    row = {"transactional_id": "t", "begin_ns": small.T0}
    many = [{**row, "transaction_no": n, "outcome": "aborted", "end_ns": small.T0 + 1000 * n} for n in range(300)]
    many += [{**row, "transaction_no": n, "outcome": "hanging"} for n in range(300, 305)]
    small.write_table(place, small.TABLES["transactions"], many)
    (result,) = plain(report_model(Dataset.open(place)), clip=True)["transactions"]["ids"]
    assert result["n_unwell"] == 305
    assert [r["transaction_no"] for r in result["unwell"] if r["outcome"] == "hanging"] == [300, 301, 302, 303, 304]
    assert [r["transaction_no"] for r in result["unwell"] if r["outcome"] == "aborted"] == list(range(15))


@pytest.mark.slow
def test_older_stories_say_why_a_section_is_empty(dataset: Write, small: ModuleType) -> None:
    place = dataset()
    for name in ("findings", "rebalances", "transactions"):
        shutil.rmtree(place / "stories" / name)
    small.relist(place)
    model = plain(report_model(Dataset.open(place)), clip=True)
    for name in ("findings", "rebalances", "transactions"):
        assert model[name]["n"] == 0
        assert "kafkascope stories" in model[name]["why_not"]
        assert "older" in model[name]["why_not"]
    assert "older than this part" in page_of(render(report_model(Dataset.open(place))), 100, ascii_only=False)
    shutil.rmtree(place / "stories")
    small.relist(place)
    assert "Java 17" in plain(report_model(Dataset.open(place)), clip=True)["findings"]["why_not"]


def test_the_terminal_begins_with_incidents_and_tells_of_groups_and_transactions(report_of: ReportOf) -> None:
    page = page_of(render(report_of(), everything=True), 80, ascii_only=False)
    for said in (
        "error    broker_lost · 00:00.031 to 00:05.100",
        "         warning  leader_storm · 3 times, 00:04.990 to 00:05.100",
        "do: raise retry.backoff.ms",
        "packets 31, 32",
        "seen on 1 connection",
        "kafkascope cut OUT.kscope --incident incident-1 -o incident-1.pcapng",
        "readers · classic protocol · 2 generations · partitions unread for up to 2.90 s",
        "00:00.500    2  member joined        2   3.00 s  2.90 s  svc",
        "00:00.500 clicks-0 (reader → m-2) was unread for 2.90 s from 00:00.610",
        "00:00.200 hanging · epoch 1, 12 partitions, 5 records",
        "00:00.300 aborted after 40.0 ms",
    ):
        assert said in page, page
    order = ["Incidents (1)", "Other findings (2)", "Cluster", "Rebalances (2)", "Transactions (4)", "Clients (2)"]
    assert sorted(order, key=page.index) == order


def test_no_finding_is_good_news_and_said(dataset: Write, small: ModuleType) -> None:
    place = dataset()
    small.write_table(place, small.TABLES["findings"], [])
    assert "no rule found a problem" in page_of(render(report_model(Dataset.open(place))), 80, ascii_only=False)


def test_a_long_command_is_cut_in_two_as_a_shell_reads_it(dataset: Write) -> None:
    place = dataset()
    model = at_place(report_model(Dataset.open(place)), "a/rather/long/place/of/captures/incident.kscope")
    page = page_of(render(model), 80, ascii_only=False)
    assert (
        "kafkascope cut a/rather/long/place/of/captures/incident.kscope \\\n"
        "  --incident incident-1 \\\n"
        "  -o incident-1.pcapng\n"
    ) in page


def test_packets_of_several_files_name_the_file(dataset: Write, small: ModuleType) -> None:
    place = dataset()
    rows = small.ingest_rows("")
    second = rows["captures"][0] | {"capture_id": 1, "path": "second.pcap"}
    small.write_table(place, small.TABLES["captures"], [*rows["captures"], second])
    requests = [r | {"capture_id": 1} if r["request_id"] == "c1:9" else r for r in rows["requests"]]
    small.write_table(place, small.TABLES["requests"], requests)
    page = page_of(render(report_model(Dataset.open(place)), everything=True), 80, ascii_only=False)
    assert page.count("packets 1:31, 1:32") == 3  # the incident, leader_storm, tiny_batches
