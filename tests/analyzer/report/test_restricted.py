"""A report that is restricted to clients, brokers, groups, topics or a time, against the requests that the lab's
brokers logged for each socket, and the rows of the tables themselves."""

import json
import shlex
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import duckdb
import pytest
from typer.testing import CliRunner, Result

from kafkascope_analyzer.cli.app import app
from kafkascope_analyzer.dataset.dataset import Dataset
from kafkascope_analyzer.dataset.restriction import Asked, Restriction
from kafkascope_analyzer.dataset.tables import INGEST_TABLES
from kafkascope_analyzer.report.commands import at_place
from kafkascope_analyzer.report.explain.restricting import restricted
from kafkascope_analyzer.report.model.report import Report, report_model
from kafkascope_analyzer.report.model.restricted import restricted_to, with_restriction
from kafkascope_parsers.errors import UsageError
from kafkascope_spark.stories.tables import STORY_TABLES

TOPIC = "clicks-leader60"
START_NS = 1795235314577032028
S = 1_000_000_000


@pytest.fixture(scope="module")
def of_client(whole: Dataset) -> Report:
    return report_model(whole.concerning(Restriction(clients=("order-api-5",))))


@pytest.fixture(scope="module")
def of_node_and_time(whole: Dataset) -> Report:
    return report_model(whole.concerning(Restriction(nodes=(3,), from_ns=START_NS + 20 * S, to_ns=START_NS + 26 * S)))


def rows(dataset: Dataset, table: str) -> list[dict[str, Any]]:
    return [row for batch in dataset.batches(table) for row in batch.to_pylist()]


def requests(dataset: Dataset) -> Counter[str]:
    """Those that were answered: a broker logs no others."""
    names = (row["api_name"] for row in rows(dataset, "requests") if row["response_ns"])
    return Counter(name.replace("_", "").upper() for name in names)


def of_sockets(sockets: Iterator[Mapping[str, Any]]) -> Counter[str]:
    """Requests by API on sockets, as the brokers logged them."""
    found: Counter[str] = Counter()
    for socket in sockets:
        for api, n in socket["requests"].items():
            found[api.rpartition(" ")[0].replace("_", "")] += n
    return found


def run(*args: object, command: str = "report") -> Result:
    return CliRunner().invoke(app, [command, *(str(arg) for arg in args)])


def test_a_client_has_the_requests_of_its_sockets(whole: Dataset, truth: Any) -> None:
    for client in truth["clients"]:
        found = whole.concerning(Restriction(clients=(client["client_id"],)))
        assert requests(found) == of_sockets(iter(client["sockets"]))


def test_a_client_at_a_node_has_the_requests_of_its_sockets_there(whole: Dataset, truth: Any) -> None:
    for client in truth["clients"]:
        sockets = (socket for socket in client["sockets"] if socket["remote_node"] in (1, 3))
        found = whole.concerning(Restriction(clients=(client["client_id"],), nodes=(1, 3)))
        assert requests(found) == of_sockets(sockets)


def test_a_group_has_the_requests_of_its_members(whole: Dataset, truth: Any) -> None:
    for group in truth["groups"]:
        members = [client for client in truth["clients"] if client["group"] == group]
        found = whole.concerning(Restriction(groups=(group,)))
        expected = of_sockets(socket for client in members for socket in client["sockets"])
        assert expected
        assert requests(found) == expected
        assert {row["client_id"] for row in rows(found, "stories/clients")} == {c["client_id"] for c in members}
        assert {row["group_id"] for row in rows(found, "stories/rebalances")} == {group}


def test_a_topic_has_the_requests_that_name_it(whole: Dataset, told_leader_move: Path) -> None:
    found = whole.concerning(Restriction(topics=(TOPIC,)))
    files = f"'{told_leader_move}/partitions/**/*.parquet'"
    named = duckdb.sql(f"select request_id from {files} where topic = '{TOPIC}'").fetchall()
    assert {row["request_id"] for row in rows(found, "requests")} == {request_id for (request_id,) in named}
    assert {row["topic"] for row in rows(found, "partitions")} == {TOPIC}
    assert found.rows("partitions") == len(named)


def test_a_time_has_what_was_under_way(whole: Dataset) -> None:
    begin, end = START_NS + 13 * S, START_NS + 14 * S
    found = whole.concerning(Restriction(from_ns=begin, to_ns=end))
    expected = {
        row["request_id"]
        for row in rows(whole, "requests")
        if row["ts_ns"] <= end and (row["response_last_ns"] or row["ts_ns"]) >= begin
    }
    assert {row["request_id"] for row in rows(found, "requests")} == expected
    assert {row["incident_id"] for row in rows(found, "stories/incidents")} == {"incident-d008367eb99e0cfc"}
    assert {row["stall_id"] for row in rows(found, "stories/stalls")} == {
        row["stall_id"]
        for row in rows(whole, "stories/stalls")
        if row["from_ns"] <= end and (row["to_ns"] or end) >= begin
    }


@pytest.mark.parametrize(
    "wanted",
    [
        Restriction(clients=("order-api-5",)),
        Restriction(nodes=(3,)),
        Restriction(groups=("billing-leader29",)),
        Restriction(topics=(TOPIC,)),
        Restriction(from_ns=START_NS + 13 * S),
        Restriction(clients=("svc-a-1", "svc-a-4"), nodes=(3,), topics=(TOPIC,), to_ns=START_NS + 20 * S),
    ],
    ids=["client", "node", "group", "topic", "time", "all"],
)
def test_every_table_is_restricted(whole: Dataset, wanted: Restriction) -> None:
    """No table fails, none has more rows than before, and steps are those of the starts and recoveries that stay."""
    found = whole.concerning(wanted)
    for table in (*INGEST_TABLES, *STORY_TABLES):
        assert found.rows(table.stored_as) <= whole.rows(table.stored_as)
    keys = {"startups": ("startup_steps", "startup_id"), "recoveries": ("recovery_steps", "recovery_id")}
    for parent, (steps, key) in keys.items():
        kept = {row[key] for row in rows(found, f"stories/{parent}")}
        assert {row[key] for row in rows(found, f"stories/{steps}")} == kept


def test_a_report_of_a_client_counts_that_client(of_client: Report) -> None:
    assert of_client.headline.sentence.startswith("Restricted to client order-api-5. 2 incidents (2 warnings)")
    assert (of_client.headline.n_clients, of_client.headline.n_stalled_clients) == (1, 1)
    assert [client.client_id for client in of_client.clients.listed] == ["order-api-5"]
    assert of_client.clients.listed[0].n_requests == of_client.n_requests
    assert {wait.who for incident in of_client.incidents.listed for wait in incident.waits} == {"order-api-5"}
    assert all(incident.clients == ("order-api-5",) for incident in of_client.incidents.listed)
    assert of_client.capture.ledger is not None


def test_packets_that_prove_an_incident_are_all_of_them(of_client: Report, whole: Dataset) -> None:
    assert of_client.incidents.listed[0].packets == report_model(whole).incidents.listed[0].packets


def test_totals_that_are_not_known_are_left_out(of_node_and_time: Report) -> None:
    report = of_node_and_time
    assert report.capture.ledger is None
    assert [(broker.node_id, broker.n_requests) for broker in report.cluster.brokers] == [(3, None)]
    assert {client.n_requests for client in report.clients.listed} == {None}
    assert {connection.node_id for client in report.clients.listed for connection in client.connections} == {3}
    assert report.capture.packets == "25,501 packets in the whole capture"
    assert any("left out" in sentence for sentence in report.headline.details)
    assert "node 3, from 00:20.000 (04:28:54.577 UTC) to 00:26.000" in report.headline.sentence


def test_a_report_of_everything_is_not_restricted(whole: Dataset, of_client: Report) -> None:
    assert whole.concerning(Restriction()).restriction is None
    assert restricted_to(whole, START_NS) is None
    headline = replace(of_client.headline, sentence="As it is.")
    assert with_restriction(headline, None) is headline


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (["--client", "order-api"], "has no client order-api (did you mean order-api-5 or order-api-2?)"),
        (["--group", "billing"], "--group billing: {} has no such group (did you mean billing-leader29?)"),
        (["--topic", "clicks-leader"], f"--topic clicks-leader: {{}} has no such topic (did you mean {TOPIC}?)"),
        (["--node", "9"], "--node 9: {} has no such broker; its node ids: 1, 2, 3"),
        (["--from", "+9s", "--to", "+8s"], "--from is after --to"),
        (["--from", "noon"], "--from noon: not a time"),
        (["--from", "+1h"], "no connection concerns everything that was asked for"),
    ],
)
def test_what_is_not_there_is_one_sentence(told_leader_move: Path, options: list[str], sentence: str) -> None:
    result = run(told_leader_move, *options)
    assert (result.exit_code, result.stdout) == (2, "")
    (said,) = result.stderr.splitlines()
    assert sentence.format(told_leader_move) in said


def test_every_form_says_what_it_is_restricted_to(told_leader_move: Path, tmp_path: Path) -> None:
    forms = ("html", "markdown", "json")
    places = [part for form in forms for part in (f"--{form}", tmp_path / form)]
    result = run(told_leader_move, "--group", "billing-leader29", "--to", "+20s", *places)
    assert result.exit_code == 0, result.output
    for form in forms:
        assert "Restricted to group billing-leader29, to 00:20.000" in (tmp_path / form).read_text()
    (client,) = json.loads((tmp_path / "json").read_text())["clients"]["listed"]
    assert client["client_id"] == "order-api-5"


def test_an_incident_says_how_many_others_it_affected(of_client: Report, truth: Any) -> None:
    """Node 3 served all clients of the truth."""
    others = len(truth["clients"]) - 1
    worst = of_client.incidents.listed[0]
    assert worst.n_clients_outside == others == 5
    assert worst.sentence.endswith(" Of the clients that it affected, 5 are outside the restriction.")


@pytest.mark.slow
def test_advice_is_for_owners_of_the_clients_of_a_report(of_client: Report, whole: Dataset) -> None:
    """order-api-5 is of franz-go, as the truth of the capture says."""
    everybody = [action.owner for action in report_model(whole).incidents.listed[0].actions]
    assert everybody[0] == "operator of the brokers"
    assert len(everybody) == 5
    owners = ["operator of the brokers", "owner of the clients (franz-go: order-api-5)"]
    assert [action.owner for action in of_client.incidents.listed[0].actions] == owners


def test_what_others_waited_and_lost_is_not_said_of_the_clients_of_a_report(of_client: Report, whole: Dataset) -> None:
    """worker-3 alone stalled when the leader moved; order-api-5 was told of it."""
    assert [incident.who for incident in of_client.incidents.listed] == ["1 of 1 client, longest 5.11 s", "1 client"]
    moved = report_model(whole).incidents.listed[1]
    assert (moved.who, moved.waits[0].who) == ("1 of 6 clients, longest 1.08 s, 1 record late", "worker-3")


def test_commands_of_a_report_are_restricted_as_it_is(of_node_and_time: Report, told_leader_move: Path) -> None:
    """And they work: the command that explains the worst incident, as it is printed."""
    options = ["--node", "3", "--from", "2026-11-21T04:28:54.577032028Z", "--to", "2026-11-21T04:29:00.577032028Z"]
    worst = of_node_and_time.incidents.listed[0]
    assert worst.explain == " ".join(["kafkascope explain OUT.kscope", worst.incident_id, *options])
    assert of_node_and_time.commands.report_all == " ".join(["kafkascope report OUT.kscope", *options, "--all"])
    words = shlex.split(at_place(worst, str(told_leader_move)).explain)[2:]
    explained = run(*words, command="explain")
    assert explained.exit_code == 0, explained.output
    assert "Restricted to node 3, from 00:20.000" in " ".join(explained.stdout.split())


def test_an_explanation_is_of_what_the_restriction_takes(told_leader_move: Path, truth: Any) -> None:
    incident = "incident-d008367eb99e0cfc"
    found = run(told_leader_move, incident, "--client", "svc-a-1", "--format", "json", command="explain")
    waits = json.loads(found.stdout)["incident"]["waits"]
    assert {wait["who"] for wait in waits} == {"svc-a-1"}
    strangers = {client["client_id"] for client in truth["clients"]} - {"svc-a-1"}
    stalls = [sentence for sentence in json.loads(found.stdout)["sentences"] if " waited " in sentence]
    assert stalls
    assert not any(stranger in sentence for stranger in strangers for sentence in stalls)
    outside = run(told_leader_move, incident, "--to", "+1s", command="explain")
    assert (outside.exit_code, outside.stdout) == (2, "")
    assert f"{incident} does not concern what was asked for" in outside.stderr
    stranger = run(told_leader_move, "svc-a-4", "--client", "svc-a-1", command="explain")
    assert "svc-a-4 does not concern what was asked for" in stranger.stderr


def test_an_explained_client_has_no_counts_of_more_than_the_restriction_takes(told_leader_move: Path) -> None:
    whole, part = (
        run(told_leader_move, "svc-a-1", "--format", "json", *options, command="explain")
        for options in (["--client", "svc-a-1"], ["--node", "3"])
    )
    assert json.loads(whole.stdout)["client"]["n_requests"] > 0
    assert json.loads(part.stdout)["client"]["n_requests"] is None
    assert "requests" not in part.stdout.partition('"sentences"')[2].partition("It had")[0]


def test_a_timeline_of_a_topic_has_its_moves_and_nobody_elses(told_leader_move: Path, whole: Dataset) -> None:
    found = run(told_leader_move, "--topic", TOPIC, "--format", "json", command="timeline")
    moves = [entry["text"] for entry in map(json.loads, found.stdout.splitlines()) if entry["kind"] == "move"]
    leaders = [text for text in moves if text.startswith(f"leader of {TOPIC}-")]
    assert moves == leaders != []
    stalls = [row["stall_id"] for row in rows(whole, "stories/stalls") if row["topic"] == TOPIC]
    shown = [entry["id"] for entry in map(json.loads, found.stdout.splitlines()) if entry["kind"] == "stall"]
    assert sorted(shown) == sorted(stalls)


def test_a_dataset_is_restricted_further(whole: Dataset) -> None:
    groups = restricted(whole, Asked(groups=["billing-leader29"], end="+20s"))
    found = restricted(groups, Asked(["order-api-5"], [3], start="+10s", end="+30s")).restriction
    span = START_NS + 10 * S, START_NS + 20 * S
    assert found == Restriction(("order-api-5",), (3,), ("billing-leader29",), (), *span)
    with pytest.raises(UsageError, match="has no client svc-a-1"):
        restricted(groups, Asked(["svc-a-1"]))


def test_a_restriction_within_another_takes_what_both_take() -> None:
    outer = Restriction(clients=("a", "b"), from_ns=5)
    assert Restriction(clients=("b",), nodes=(1,), from_ns=3, to_ns=9).within(outer) == Restriction(
        clients=("b",), nodes=(1,), from_ns=5, to_ns=9
    )
    with pytest.raises(UsageError, match="clients are restricted to a, b already; c is none of them"):
        Restriction(clients=("a", "c")).within(outer)
