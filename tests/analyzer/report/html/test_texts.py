"""The words that the page shows, made of rows written by hand."""

from dataclasses import fields, replace
from typing import Any, TypeVar

from kafkascope_analyzer.report.model.apis import Api
from kafkascope_analyzer.report.model.capture import ByteTotals, Capture, Connections
from kafkascope_analyzer.report.model.capture_points import CapturePoints
from kafkascope_analyzer.report.model.client_outcomes import ClientOutcome
from kafkascope_analyzer.report.model.cluster import Cluster
from kafkascope_analyzer.report.model.data_quality import DataQuality, EventCount
from kafkascope_analyzer.report.model.findings import Finding, Findings
from kafkascope_analyzer.report.model.flow import Flow, PartitionLine, SliceFlow, TopicFlow
from kafkascope_analyzer.report.model.incidents.waits import wait_text
from kafkascope_analyzer.report.model.rebalances import GroupRebalances
from kafkascope_analyzer.report.model.recoveries import recoveries_text
from kafkascope_analyzer.report.model.starts import slowest
from kafkascope_analyzer.report.model.traffic import Traffic
from kafkascope_analyzer.report.model.unread_partitions import Rebalance
from kafkascope_analyzer.report.page_model.bands import bands_of
from kafkascope_analyzer.report.page_model.capture_texts import capture_facts, unread_texts
from kafkascope_analyzer.report.page_model.client_texts import name_of, with_client_texts
from kafkascope_analyzer.report.page_model.evidence import Evidence
from kafkascope_analyzer.report.page_model.flow_texts import LagBand, flow_texts
from kafkascope_analyzer.report.page_model.lanes import LaneClient, LaneConnection, Lanes
from kafkascope_analyzer.report.page_model.recovery_texts import causes_of, with_step_texts
from kafkascope_analyzer.report.page_model.starts_and_recoveries import (
    WordedRecovery,
    WordedStart,
    WordedStep,
    first_client,
    worded_start,
)
from kafkascope_analyzer.report.page_model.story_lists import (
    PageTransactionalId,
    WordedTransaction,
    groups_of,
    placed_findings,
    transactional_ids,
    worded_transaction,
)
from kafkascope_analyzer.report.page_model.waits import StallBand
from kafkascope_spark.stories.stalls.table import Stall
from kafkascope_spark.stories.startups.table import StartupStepRow
from kafkascope_spark.stories.transactions.table import BlockedConsumer

S = 1_000_000_000
T0 = 100 * S
K = TypeVar("K")


def of(kind: type[K], /, **values: Any) -> K:
    """A dataclass with these values; the rest is nothing: None, or an empty tuple."""
    empty = {field.name: () if "tuple[" in str(field.type) else None for field in fields(kind)}
    return kind(**empty | values)


def recovery(
    name: str, *, client: str = "p1", cause: str | None = "c1", ms: int | None = 500, **values: Any
) -> WordedRecovery:
    row: dict[str, Any] = {
        "recovery_id": name,
        "client_instance_id": client,
        "cause_id": cause,
        "time_to_recover_ms": ms,
    }
    row |= {"first_error_name": "NOT_LEADER_OR_FOLLOWER", "resource": f"clicks-{name}", "start_ns": T0 + 2 * S}
    row |= {"recovered_ns": None if ms is None else T0 + 2 * S + ms * 1_000_000}
    row |= {"outcome": "still_open" if ms is None else "recovered", "n_errors": 1, "n_wasted_requests": 0, "steps": ()}
    row |= {"ended": "not yet" if ms is None else f"recovered after {ms} ms"}
    return of(WordedRecovery, **row | values)


def start(**values: Any) -> WordedStart:
    row = {"start_no": 1, "start_ns": T0 + S, "ready_ns": T0 + 3 * S, "total_us": 2_000_000, "outcome": "ready"}
    return of(WordedStart, **row | {"client_instance_id": "p1"} | values)


def step(name: str, **values: Any) -> StartupStepRow:
    row = {"step": name, "node_id": 1, "on_critical_path": True, "start_ns": T0 + S}
    return of(StartupStepRow, **row | {"end_ns": T0 + 2 * S, "wait_us": 0, "broker_us": 0, "duration_us": 0} | values)


def test_recoveries_of_one_cause_are_shown_by_one_that_is_not_over_else_by_the_longest() -> None:
    rows = [recovery("a", ms=90), recovery("b", ms=700), recovery("d", cause=None), recovery("e", client="g1", ms=None)]
    found = {row.client_instance_id + row.worst: row for row in causes_of(rows, T0)}
    assert list(found) == ["p1b", "p1d", "g1e"]
    assert found["p1b"].alike == ("a",)
    assert found["p1b"].recovery_ids == ("a", "b")
    assert found["p1b"].heading == "00:02.000 NOT_LEADER_OR_FOLLOWER"
    assert found["p1b"].ended == "recovered after 700 ms · 2 alike"
    assert found["p1d"].ended == "recovered after 500 ms"
    (worst,) = causes_of([recovery("a", ms=9_000), recovery("b", ms=None)], T0)
    assert worst.worst == "b"


def test_recoveries_in_short() -> None:
    assert recoveries_text(0, []) == ""
    assert recoveries_text(1, [recovery("a", ms=None)]) == "1 recovery, still open"
    assert recoveries_text(12, [recovery("a"), recovery("b", ms=1500)]) == "12 recoveries, up to 1.50 s"


def test_steps_of_a_recovery_name_the_error_the_api_and_the_broker_of_their_connection() -> None:
    def taken(name: str, **values: Any) -> WordedStep:
        row = {"step": name, "ts_ns": T0 + 2 * S + 3_000_000, "conn_id": "c9", "request_id": "r1", "duration_us": 40}
        return of(WordedStep, **row | values)

    taken_steps = [taken("error", error_name="NOT_LEADER_OR_FOLLOWER"), taken("retry"), taken("hint", node_id=3)]
    taken_steps += [taken("backoff"), taken("end_txn", request_id=None)]
    row = recovery("a", steps=tuple(taken_steps))
    (worded,) = with_step_texts([row], {"r1": of(Evidence, api_name="Produce")}, {"c9": 2})
    steps = worded.steps
    texts = ["NOT_LEADER_OR_FOLLOWER (Produce)", "tries again: Produce", "answer names the leader: node 3 (KIP-951)"]
    assert [s.text for s in steps] == [*texts, "client pauses", "end txn"]
    assert [s.node_id for s in steps] == [2, 2, 3, 2, 2]
    assert [s.at for s in steps] == ["+3.00 ms"] * 5


def test_a_start_says_where_it_failed_and_what_took_longest() -> None:
    failure = {"outcome": "failed", "ready_ns": None, "total_us": None, "failed_step": "join_group"}
    failure |= {"error_name": "GROUP_AUTHORIZATION_FAILED", "failed_subject": "readers"}
    steps = (step("join_group", broker_us=1_500_000, duration_us=1_600_000), step("metadata", wait_us=90_000))
    known = {"steps": steps, "slowest": slowest(steps)}
    begun, gone = start(**known), start(start_no=2, **failure, **known)
    ready, failed = worded_start(begun, begun, T0), worded_start(gone, gone, T0)
    assert (ready.heading, ready.ended, ready.in_short) == (
        "Start at 00:01.000",
        "ready after 2.00 s",
        "ready 2.00 s",
    )
    assert ready.slowest_text == "join group: broker 1.50 s (75.0 %); join group: network and client 100 ms (5.0 %)"
    assert ready.to_ns == T0 + 3 * S
    assert failed.heading == "Start 2 at 00:01.000"
    assert failed.ended == "failed at join group: GROUP_AUTHORIZATION_FAILED (readers)"
    assert (failed.slowest_text, failed.to_ns) == ("", T0 + 2 * S)


def test_bands_are_starts_and_of_each_cause_the_recovery_that_lasted_longest() -> None:
    begun = start(steps=(step("metadata"), step("fetch", on_critical_path=False)), to_ns=T0 + 3 * S)
    rows = [recovery("a", ms=90), recovery("b", ms=700), recovery("d", cause="c2", ms=None)]
    first, second, third = bands_of([begun], rows, T0 + 9 * S)
    assert (first.kind, first.title, first.steps) == ("start", "start 2.00 s", ("metadata",))
    assert first.lines == ("start: ready", "took 2.00 s")
    assert (second.title, second.to_ns) == ("NOT_LEADER_OR_FOLLOWER 700 ms", T0 + 2_700_000_000)
    assert second.lines[0] == "NOT_LEADER_OR_FOLLOWER on clicks-b"
    assert (third.title, third.to_ns) == ("NOT_LEADER_OR_FOLLOWER still open", None)


def test_the_page_opens_the_client_that_was_in_trouble_longest_and_no_broker() -> None:
    rows = [recovery("a", ms=300), recovery("b", ms=300), recovery("d", client="g1", ms=500)]
    rows += [recovery("e", client="b1", ms=9_000)]
    starts, brokers = [start(client_instance_id="b1"), start(client_instance_id="g7")], {"b1"}
    waits = [StallBand(client, 1, T0, T0 + S, 400, "") for client in ("g1", "b1", None)]
    assert first_client(starts, rows, [], brokers) == "p1"
    assert first_client(starts, rows, waits, brokers) == "g1"
    assert first_client(starts, [recovery("f", client="g3", ms=None)], waits, brokers) == "g3"
    assert first_client(starts, [], [], brokers) == "g7"
    assert first_client(starts[:1], [], [], brokers) == "b1"
    assert first_client([], [], [], set()) == ""


def test_clients_are_named_and_described() -> None:
    known = {"client_instance_id": "p1", "client_id": "svc\x1b", "client_ip": "10.0.0.5", "kind": "consumer"}
    known |= {"software_name": "kgo", "software_version": "1.2", "group_id": "readers", "group_protocol": "classic"}
    times = {"first_ns": T0 + S, "last_ns": T0 + 2 * S}
    figures = {"n_requests": 7, "n_errors": 1, "end_state": "died", "conns": (0,)}
    known |= {"group_instance_id": "m-1", "transactional_id": "pay", "transactions": "v2", "principal": "User:x"}
    unsure = {"identity": "shared", "identity_why": "two groups"}
    found = of(LaneClient, **known, **times, **figures, **unsure)
    rest = of(LaneClient, client_instance_id="address 10.0.0.9", client_ip="10.0.0.9", kind="unassigned", conns=())
    texted = start(in_short="ready 2.00 s")
    lanes = of(Lanes, clients=(found, rest), connections=(of(LaneConnection, sasl_mechanism="PLAIN"),))
    outcomes = {"p1": ClientOutcome("recovered", "stalled 2.00 s")}
    client, rest = with_client_texts(lanes, [texted], [recovery("a")], outcomes, T0)
    assert client.name == r"svc\x1b"
    assert client.what == "consumer · 1 connection · 1 error"
    assert client.facts == (
        "consumer at 10.0.0.5 · kgo 1.2",
        "group readers, static member m-1 · classic protocol",
        "transactional id pay · transactions v2 (KIP-890)",
        "authenticates by PLAIN as User:x",
        "may be more than one client object: two groups",
        "00:01.000 to 00:02.000 · vanished · 7 requests, 1 error",
    )
    assert (client.start, client.start_outcome) == ("ready 2.00 s", "ready")
    assert (client.outcome, client.trouble) == ("recovered", "stalled 2.00 s; 1 recovery, up to 500 ms")
    assert (rest.outcome, rest.trouble) == ("unknown", "not known"), "nobody says that it was served"
    assert (rest.name, rest.what) == ("10.0.0.9", "no client known · 0 connections")
    assert rest.start is None
    assert name_of(of(LaneClient, kind="producer", client_ip="10.0.0.9")) == "(no client id) 10.0.0.9"
    assert name_of(of(LaneClient, principal="User:x", kind="producer")) == "User:x"
    assert name_of(of(LaneClient, client_id="2", client_ip="10.0.0.9", kind="broker")) == "2 at 10.0.0.9"


def test_findings_that_stand_alone_and_notes() -> None:
    listed = [("error", "i1"), ("error", None), ("info", None), ("warning", None), ("info", "i1")]
    rows = tuple(of(Finding, severity=severity, incident_id=incident) for severity, incident in listed)
    found = placed_findings(of(Findings, listed=rows))
    assert (found.title, found.alone, found.notes) == ("Other findings", (1, 3), (2,))
    assert found.notes_title == "1 note: worth knowing"
    assert placed_findings(of(Findings, listed=rows[1:2])).title == "Findings"
    assert placed_findings(of(Findings, listed=())).notes_title == ""


def test_rebalances_by_group_and_transactions_by_id() -> None:
    rows = [of(Rebalance, group_id=g, group_protocol="classic", duration_ms=40) for g in ("b", "a", "b")]
    rows.append(of(Rebalance, group_protocol="classic"))
    unread = "partitions unread for up to 1.20 s"
    groups = groups_of(rows, [of(GroupRebalances, group_id="b", group_protocol="classic", unread_text=unread)])
    assert [(g.name, g.places) for g in groups] == [("b", (0, 2)), ("?", (3,)), ("a", (1,))]
    assert groups[0].in_short == "classic · 2 rebalances, 80.0 ms in all; partitions unread for up to 1.20 s"
    assert groups[2].in_short == "classic · 1 rebalance, 40.0 ms in all"
    listed = [of(WordedTransaction, transactional_id=name) for name in ("y", "x", "y")]
    assert transactional_ids(listed) == (PageTransactionalId("x", (1,)), PageTransactionalId("y", (0, 2)))


def test_a_transaction_names_who_fenced_it_and_whose_reads_it_held_back() -> None:
    held = of(BlockedConsumer, client_instance_id="g1", partition="clicks-0", from_ns=T0, until_ns=T0 + 2 * S)
    consumers = (held, replace(held, client_instance_id=None))
    row = of(WordedTransaction, begin_ns=T0, end_ns=T0 + S, fenced_by="p2", held_back=consumers)
    names = {"p2": "svc", "g1": "reader"}
    row, open_row = worded_transaction(row, names), worded_transaction(of(WordedTransaction, begin_ns=T0), names)
    assert (row.took, row.fenced_by_name) == ("1.00 s", "svc")
    assert row.held_back_text == "reader on clicks-0 for 2.00 s; a consumer on clicks-0 for 2.00 s"
    assert (open_row.took, open_row.fenced_by_name, open_row.held_back_text) == ("", "", "")


def test_topics_say_how_far_readers_were_behind() -> None:
    times = {"created_to_acked_p99_us": 2_000}
    part = {
        "partition": 4,
        "n_records": 1_200,
        "n_fetched": 3,
        "lag_max": 8,
        "lag_max_at": "00:01.000",
        "commit_lag_last": 7,
    }
    slices = [
        of(SliceFlow, ts_ns=T0 + n * S, at=f"00:0{n}.000", n_records=600, n_fetched=0, lag=lag, **times)
        for n, lag in ((1, 2), (2, None))
    ]
    topic = of(
        TopicFlow,
        topic="clicks\x1b",
        reader="readers",
        note="9 records behind",
        n_partitions=3,
        created_to_acked_p50_us=1_000,
        n_records=1_200,
        lag_max=8,
        lag_last=0,
        commit_lag_max=14,
        partitions=(of(PartitionLine, **part, **times),),
        over_time=tuple(slices),
        **times,
    )
    texts = flow_texts(Flow(True, None, 1000, "1 second", 3, (topic,)))
    (one,) = texts.listed
    assert texts.more == "… and 2 topics and readers more (report.json)."
    assert one.figures == ("1,200", "1.00 ms", "2.00 ms", "", "", "8", "0", "14", "")
    assert one.sentence == r"readers on clicks\x1b: 9 records behind"
    assert one.heading == r"clicks\x1b, read by readers: partitions and slices"
    assert one.lags == (LagBand(T0 + S, T0 + 2 * S, 0.25),)
    assert one.partitions == (("4", "unknown node", "1,200", "3", "2.00 ms", "", "8", "00:01.000", "", "", "7"),)
    assert one.more_partitions == "… and 2 partitions more (table partition_flow)."
    figures = ["600", "0", "2.00 ms", ""]
    assert one.slices == (("00:01.000", *figures, "2", ""), ("00:02.000", *figures, "", ""))


def test_the_capture_in_words() -> None:
    ledger = of(ByteTotals, decoded_bytes=999, stream_bytes=1300, zookeeper_bytes=200, tls_bytes=100)
    begun = {"start": "2026-11-21 04:28:34.577 UTC", "duration_us": 34_700_000, "n_packets": 25_501}
    capture = of(Capture, **begun, ledger=ledger, files=(), n_truncated=3)
    unread = of(
        DataQuality, n_connections=9, n_without_start=2, limits_hit={}, tcp_events=(EventCount("zero_window", 1200),)
    )
    cluster = of(Cluster, sentence="Kafka 4.0, in KRaft mode.")
    points = of(CapturePoints, sentences=("2 capture points",))
    of_traffic = {"capture": capture, "capture_points": points, "unread": unread, "cluster": cluster}
    model = of(Traffic, **of_traffic, connections=of(Connections, n=9), apis=(of(Api, n=1),))
    figures = ("34.7 s", "25,501 packets", "9 connections", "1 request", "99.9 % decoded", "Kafka 4.0, in KRaft mode.")
    assert capture_facts(model) == ("2026-11-21 04:28:34.577 UTC", *figures)
    assert unread_texts(model, capture) == (
        "2 capture points",
        "2 of 9 connections began before the capture did, or without their SYN in it",
        "3 of 25,501 packets were cut by the snap length",
        "TCP: 1,200 zero window",
    )


def test_how_a_wait_ended_is_said_where_it_was_not_served() -> None:
    def said(**values: object) -> str:
        return wait_text(of(Stall, kind="produce", topic="clicks", partition=0, waited_ms=1500, **values))

    assert said(to_ns=T0, served=True) == "1.50 s: produce to clicks-0"
    assert said(to_ns=T0, served=False) == "1.50 s, gave up or ended: produce to clicks-0"
    assert said(to_ns=None) == "1.50 s, still waiting: produce to clicks-0"
