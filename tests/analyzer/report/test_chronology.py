"""`kafkascope timeline`: what happened in order of time, from rows whose truth is known."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from kafkascope_analyzer.cli.app import app
from kafkascope_analyzer.dataset.dataset import Dataset
from kafkascope_analyzer.report.model.chronology import KINDS, chronology
from kafkascope_analyzer.report.model.incidents.broker_lanes import broker_lanes
from kafkascope_analyzer.report.model.report import report_model
from kafkascope_analyzer.report.plain import plain
from kafkascope_analyzer.report.terminal.chronology import render_chronology
from kafkascope_analyzer.report.terminal.page import page_of

Write = Callable[..., Path]
SILENT = "broker silent: node 1 (10.0.0.11:9092)"
UNREAD = "clicks-0 (reader → m-2) was unread for 2.90 s from 00:00.610 to 00:03.510"
ALL = [
    ("00:00.000", "start", "svc starts: ready"),
    ("00:00.020", "start", "reader starts: failed at join group"),
    ("00:00.060", "rebalance", "group readers rebalances: first, generation 1, 30.0 ms"),
    ("00:00.500", "incident", "coordinator moved: group readers begins (info)"),
    ("00:00.500", "rebalance", f"group readers rebalances: member joined, generation 2, 3.00 s; {UNREAD}"),
    ("00:00.600", "incident", "coordinator moved: group readers is over after 100 ms"),
    ("00:04.900", "incident", f"{SILENT} begins (error), not over when the capture ended"),
    ("00:04.900", "broker", "node 1 (10.0.0.11:9092) silent to 10.0.0.101 for 4.10 s"),
    ("00:04.990", "stall", "svc waits 4.00 s: produce to clicks-0"),
    ("00:04.990", "stall", "svc waits 2.00 s: produce to clicks-1"),
    (
        "00:05.000",
        "incident",
        "leader moved: node 1 (10.0.0.11:9092) begins (warning), not over when the capture ended",
    ),
    ("00:05.000", "stall", "reader waits 5.00 s, still waiting: fetch from clicks-0 (group readers)"),
    ("00:09.000", "client", "svc closed its connections"),
    ("00:09.000", "client", "reader closed its connections"),
]


def run(*args: object) -> Result:
    return CliRunner().invoke(app, ["timeline", *(str(arg) for arg in args)])


def entries(result: Result) -> list[tuple[str, str, str]]:
    assert result.exit_code == 0, result.output
    shown = [json.loads(one) for one in result.stdout.splitlines()]
    return [(entry["at"], entry["kind"], entry["text"]) for entry in shown]


def test_everything_stands_in_order_of_time(dataset: Write) -> None:
    found = entries(run(dataset(), "--format", "json"))
    assert sorted(found) == sorted(ALL)
    assert [at for at, _, _ in found] == [at for at, _, _ in ALL]


@pytest.mark.parametrize(
    ("options", "texts"),
    [
        (("--node", "2"), ["coordinator moved", "readers rebalances", "coordinator moved", "readers rebalances"]),
        (
            ("--client", "svc", "--from", "+4.95s"),
            ["svc waits 4", "svc waits 2", "leader moved", "leader moved", "svc closed"],
        ),
        (("--group", "readers", "--to", "+0.1s"), ["svc starts", "reader starts", "group readers"]),
        (("--from", "2026-11-21T04:28:16Z", "--client", "reader"), ["reader closed"]),
        (("--client", "svc", "--node", "2", "--from", "+1s"), []),
        (
            ("--client", "svc", "--client", "reader", "--from", "2026-11-21T04:28:16Z"),
            ["svc closed", "reader closed"],
        ),
        (("--node", "2", "--from", "2026-11-21T04:28:16Z"), []),
    ],
)
def test_it_is_filtered(dataset: Write, options: tuple[str, ...], texts: list[str]) -> None:
    found = [text for _, _, text in entries(run(dataset(), *options, "--format", "json"))]
    assert len(found) == len(texts), found
    assert all(any(one.startswith(text) or text in one for one in found) for text in texts)


def test_a_node_or_group_that_the_dataset_does_not_have_is_refused(dataset: Write) -> None:
    result = run(dataset(), "--node", "9")
    assert (result.exit_code, result.stdout) == (2, "")
    assert "no such broker; its node ids: 1, 2" in result.stderr
    result = run(dataset(), "--group", "readers", "--group", "raeders")
    assert (result.exit_code, result.stdout) == (2, "")
    assert "no such group (did you mean readers?); its groups: readers" in result.stderr


def test_in_a_pipe_each_is_one_line_with_its_id_however_long(dataset: Write) -> None:
    page = run(dataset(), "--format", "plain").stdout
    lines = [line.split(maxsplit=2) for line in page.splitlines()]
    assert page.isascii()
    assert [(at, kind) for at, kind, _ in lines] == [(at, kind) for at, kind, _ in ALL]
    assert sorted(
        (at, kind, rest.removeprefix("incident-1").strip()) for at, kind, rest in lines if SILENT in rest
    ) == [entry for entry in sorted(ALL) if SILENT in entry[2]]
    assert run(dataset(), "--node", "2", "--from", "+6s").stdout == "nothing of this is in the capture\n"


def test_on_a_terminal_of_80_columns_nothing_is_cut(dataset: Write) -> None:
    entries_ = chronology(Dataset.open(dataset()))
    page = page_of(render_chronology(entries_, 80), 80, ascii_only=True)
    *lines, last = page.splitlines()
    assert max(map(len, page.splitlines())) <= 80
    assert last == "ids for kafkascope explain: 110 columns or more, a pipe, or --format json"
    words = " ".join(page.split())
    assert all(" ".join(text.replace("→", ">").split()) in words for _, _, text in ALL)
    assert "~" not in page
    indent = " " * len("00:00.000  rebalance  ")
    assert all(line.startswith(indent) or line[2] == ":" for line in lines)


def test_a_broker_with_two_ports_is_one_line(dataset: Write, small: object) -> None:
    place = dataset()
    at = small.at  # type: ignore[attr-defined]
    state = {"node_id": 1, "server_ip": "10.0.0.11", "state": "silent", "to_ns": at(3000), "host_kind": "client"}
    rows = [
        {**state, "server_port": 9092, "host": "a", "from_ns": at(1000)},
        {**state, "server_port": 9093, "host": "b", "from_ns": at(2000)},
        {**state, "server_port": 9093, "host": "b", "from_ns": at(6000), "to_ns": at(7000)},
    ]
    small.write_table(place, small.TABLES["broker_states"], rows)  # type: ignore[attr-defined]
    found = [text for _, kind, text in entries(run(place, "--format", "json")) if kind == "broker"]
    assert found == [
        "node 1 (10.0.0.11:9092, :9093) silent to all 2 hosts for 2.00 s",
        "node 1 (10.0.0.11:9092, :9093) silent to 1 of 2 hosts (b) on port 9093 for 1.00 s",
    ]


def test_its_words_are_those_of_the_report(dataset: Write) -> None:
    opened = Dataset.open(dataset())
    incident = plain(report_model(opened), clip=True)["incidents"]["listed"][0]
    texts = [entry.text for entry in chronology(opened)]
    assert any(text.startswith(f"{incident['title']} begins") for text in texts)
    for wait in incident["waits"]:
        assert any(f"{wait['who']} waits {wait['lasted']}" in text for text in texts)


def test_every_kind_of_line_is_known(dataset: Write) -> None:
    assert {entry.kind for entry in chronology(Dataset.open(dataset()))} <= set(KINDS)


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (("--client", "nobody"), "no client nobody"),
        (("--client", "svc", "--client", "readr"), "no client readr (did you mean reader?)"),
        (("--from", "+1s", "--from", "+2s"), "--from is given twice, and takes one value"),
        (("--from", "+2s", "--to", "+1s"), "--from is after --to"),
        (("--from", "noon"), "not a time"),
        (("p1:1",), "an ID goes with --start"),
        (("--start", "ci-1", "--node", "1"), "--start ID is one client's already: leave --client, --node"),
        (("--recovery", "r1", "--topic", "clicks"), "--recovery ID is one client's already: leave --client, --node"),
        (("--start", "--recovery", "p1:r3"), "two different pictures"),
        (("--start", "nothing"), "has no start with the id nothing"),
    ],
)
def test_what_does_not_fit_together_is_said(dataset: Write, args: tuple[str, ...], said: str) -> None:
    result = run(dataset(), *args)
    assert result.exit_code == 2
    assert said in result.stderr


def test_a_broker_is_silent_to_those_hosts_that_it_does_not_serve(dataset: Write, small: object) -> None:
    place = dataset()
    at = small.at  # type: ignore[attr-defined]
    state = {"node_id": 1, "server_ip": "10.0.0.11", "server_port": 9092, "host_kind": "client", "n_waiting": 1}
    rows = [
        {**state, "host": "a", "state": "silent", "from_ns": at(1000), "to_ns": at(3000)},
        {**state, "host": "b", "state": "silent", "from_ns": at(2000), "to_ns": at(5000)},
        {**state, "host": "c", "state": "serving", "from_ns": at(0), "to_ns": None},
        {**state, "host": "a", "state": "slow", "from_ns": at(6000), "to_ns": None},
        {**state, "host": "a", "state": "unknown", "from_ns": at(3000), "to_ns": at(6000)},
    ]
    small.write_table(place, small.TABLES["broker_states"], rows)  # type: ignore[attr-defined]
    (lane,) = broker_lanes(Dataset.open(place))
    assert [(s.text, s.from_ns, s.to_ns) for s in lane.failing] == [
        ("silent to 2 of 3 hosts (a, b) (to fewer after 2.00 s)", at(1000), at(5000)),
        ("slow to 1 of 3 hosts (a)", at(6000), None),
    ]
    assert [(s.from_ns, s.to_ns) for s in lane.serving] == [(at(0), None)]
