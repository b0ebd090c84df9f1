"""Faults at places other than one broker, and of a controller, against what the lab did."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

pytestmark = pytest.mark.spark

PIECES = Path(__file__).parents[4] / "fixtures" / "captures" / "pieces"
NEAR_NS = 500_000_000
Row = dict[str, Any]


def told(dataset: Path) -> Row:
    """The only incident at warning or above that followed from no other."""
    rows: list[Row] = pq.read_table(dataset / "stories" / "incidents").to_pylist()
    (row,) = (row for row in rows if row["severity"] != "info" and row["root_incident_id"] is None)
    return row


def events(name: str) -> list[dict[str, Any]]:
    """What was done to what, in order of time."""
    done: list[dict[str, Any]] = json.loads((PIECES / f"{name}.truth.json").read_text())["events"]
    return done


def fault(name: str) -> tuple[dict[str, Any], int, int]:
    """What was done to what, from when to when."""
    begin, end = events(name)
    return begin["detail"], begin["ts_ns"], end["ts_ns"]


@pytest.mark.parametrize(
    ("name", "kind", "place"),
    [
        ("client_host_cut", "client_host", "client_host"),
        pytest.param("host_hears_nothing", "client_host", "client_host", marks=pytest.mark.lab),
        ("starved_host", "host_slow", "client_host"),
        ("dns_stopped", "dns", "name_server"),
    ],
)
def test_the_fault_is_at_its_place_within_its_brackets(
    dataset_of: Callable[..., Path], name: str, kind: str, place: str
) -> None:
    row, (detail, begin_ns, end_ns) = told(dataset_of(name)), fault(name)
    assert (row["kind"], row["place"], row["node_id"]) == (kind, place, None)
    assert (detail.get("ip") or detail["server"].partition(":")[0]) in row["subject"]
    assert row["fault_start_after_ns"] - NEAR_NS <= begin_ns <= row["fault_start_ns"] + NEAR_NS
    assert row["fault_end_after_ns"] - NEAR_NS <= end_ns <= row["fault_end_ns"] + NEAR_NS


def test_packets_that_are_lost_between_brokers_are_told_with_those_who_wait_for_replicas(
    dataset_of: Callable[..., Path],
) -> None:
    row, (detail, begin_ns, end_ns) = told(dataset_of("lossy_replication")), fault("lossy_replication")
    assert (row["kind"], row["place"], row["n_stalls"] > 0) == ("replication", "replication", True)
    assert row["node_id"] in detail["node_ids"]
    assert row["fault_start_after_ns"] - NEAR_NS <= begin_ns <= row["fault_start_ns"] + NEAR_NS
    assert row["fault_end_after_ns"] - NEAR_NS <= end_ns <= row["fault_end_ns"] + NEAR_NS


def test_connections_are_turned_away_while_the_limit_is_there(dataset_of: Callable[..., Path]) -> None:
    row, (detail, begin_ns, end_ns) = told(dataset_of("connection_limit")), fault("connection_limit")
    assert (row["kind"], row["hosts"], row["severity"]) == ("connection_limit", [detail["ip"]], "error")
    assert begin_ns < row["fault_start_ns"] < row["fault_end_after_ns"] < end_ns


def test_a_consumer_is_too_slow_from_its_first_long_poll_on(dataset_of: Callable[..., Path]) -> None:
    row, (_, begin_ns, end_ns) = told(dataset_of("slow_consumer")), fault("slow_consumer")
    assert (row["kind"], row["place"]) == ("slow_consumer", "client")
    assert row["subject"] == "worker-6 (10.77.0.104)"
    assert begin_ns - NEAR_NS <= row["start_ns"] <= begin_ns + 5 * 1_000_000_000
    assert row["end_ns"] > end_ns


def test_a_path_that_takes_no_long_packets_is_told_before_it_is_over(dataset_of: Callable[..., Path]) -> None:
    """Nobody reports what comes twice here: that a segment was sent again and again shows that it did not arrive."""
    row, (detail, begin_ns, _) = told(dataset_of("mtu_blackhole")), fault("mtu_blackhole")
    assert (row["kind"], row["place"], row["hosts"]) == ("mtu", "path", [detail["ip"]])
    assert row["fault_start_after_ns"] - NEAR_NS <= begin_ns <= row["fault_start_ns"] + NEAR_NS
    assert row["fault_end_ns"] is None


def test_a_listener_that_takes_no_new_connections_is_told_while_open_ones_go_on(
    dataset_of: Callable[..., Path],
) -> None:
    row, (detail, begin_ns, end_ns) = told(dataset_of("not_accepting")), fault("not_accepting")
    assert (row["kind"], row["place"], row["node_id"]) == ("not_accepting", "listener", detail["node_id"])
    assert row["fault_start_after_ns"] <= begin_ns < row["fault_start_ns"] < row["fault_end_after_ns"] < end_ns


def test_connections_that_wait_in_the_queue_of_a_listener_are_told_while_it_accepts_one_a_second(
    dataset_of: Callable[..., Path],
) -> None:
    """Their first requests get late responses or none; that does not make the broker slow."""
    begin, end = events("accepted_late")
    row = told(dataset_of("accepted_late"))
    assert (row["kind"], row["place"], row["node_id"]) == ("not_accepting", "listener", begin["detail"]["node_id"])
    assert row["fault_start_after_ns"] <= begin["ts_ns"] <= row["fault_start_ns"] <= begin["ts_ns"] + NEAR_NS
    assert row["fault_end_after_ns"] - NEAR_NS <= end["ts_ns"] <= row["fault_end_ns"]
    assert "max.connection.creation.rate" in row["actions"][0]["text"]


def test_a_broker_that_data_does_not_reach_fails_until_data_is_acknowledged(dataset_of: Callable[..., Path]) -> None:
    """New connections are accepted meanwhile, and a response comes to what had arrived before."""
    _, begin_ns, end_ns = fault("deaf_broker")
    rows: list[Row] = pq.read_table(dataset_of("deaf_broker") / "stories" / "incidents").to_pylist()
    (row,) = (row for row in rows if row["kind"] == "broker_silent")
    assert (row["subject"], row["severity"]) == ("10.88.3.13:29092", "error")
    assert row["fault_start_after_ns"] - NEAR_NS <= begin_ns <= row["fault_start_ns"] + NEAR_NS
    assert begin_ns < row["fault_end_after_ns"] < end_ns < row["fault_end_ns"] <= end_ns + NEAR_NS


def test_closed_receive_windows_show_a_frozen_broker_to_which_all_send_with_acks_0(
    dataset_of: Callable[..., Path],
) -> None:
    """Nobody waits for a response. The windows of the other broker close for up to 0.7 s each, and say nothing."""
    row, (detail, begin_ns, end_ns) = told(dataset_of("not_reading")), fault("not_reading")
    assert (row["kind"], row["place"], row["node_id"]) == ("broker_frozen", "broker", detail["node_id"])
    assert (row["severity"], row["confidence"]) == ("error", "confirmed")
    assert begin_ns - NEAR_NS <= row["fault_start_ns"] <= begin_ns + NEAR_NS
    assert row["fault_end_after_ns"] <= end_ns <= row["fault_end_ns"] <= end_ns + NEAR_NS


def test_a_broker_whose_disk_hangs_is_told_before_it_is_over(dataset_of: Callable[..., Path]) -> None:
    """It still sends heartbeats; other brokers wait for it as a replica, and are not told."""
    row, (hung,) = told(dataset_of("hung_disk")), events("hung_disk")
    assert (row["kind"], row["place"], row["node_id"]) == ("broker_slow", "broker", hung["detail"]["node_id"])
    assert abs(row["fault_start_ns"] - hung["ts_ns"]) < NEAR_NS
    assert (row["fault_end_ns"], row["end_ns"]) == (None, None)


def test_brokers_that_stop_together_are_one_failure_of_the_cluster(dataset_of: Callable[..., Path]) -> None:
    """The node ids of two are not known: their connections began before the capture."""
    row, done = told(dataset_of("all_restart")), events("all_restart")
    stopping = [event["ts_ns"] for event in done if event["kind"] == "broker_stopping"]
    started = [event["ts_ns"] for event in done if event["kind"] == "broker_started"]
    assert (row["kind"], row["place"], row["severity"]) == ("cluster_down", "cluster", "error")
    assert row["sentence"].startswith("All 3 brokers were unavailable at one time")
    assert row["fault_start_after_ns"] - NEAR_NS <= max(stopping) <= row["fault_start_ns"] + NEAR_NS
    assert row["fault_end_after_ns"] - NEAR_NS <= max(started)
    assert min(started) - NEAR_NS <= row["fault_end_ns"]


def test_a_controller_is_not_called_a_broker(dataset_of: Callable[..., Path]) -> None:
    killed, starting, started = events("controller_down")
    rows: list[Row] = pq.read_table(dataset_of("controller_down") / "stories" / "incidents").to_pylist()
    (row,) = (row for row in rows if row["kind"] == "controller_down")
    assert (row["node_id"], row["severity"], row["confidence"]) == (
        killed["detail"]["controller_id"],
        "info",
        "confirmed",
    )
    assert row["fault_start_after_ns"] - NEAR_NS <= killed["ts_ns"] <= row["fault_start_ns"] + NEAR_NS
    assert starting["ts_ns"] < row["fault_end_ns"] < started["ts_ns"] + NEAR_NS
    assert {row["kind"] for row in rows}.isdisjoint({"broker_down", "broker_silent", "broker_frozen"})


def test_what_members_read_on_hosts_that_were_not_captured_is_not_unread(dataset_of: Callable[..., Path]) -> None:
    """The last members that the capture shows ended long after others had taken over half of the topic-partitions."""
    rows: list[Row] = pq.read_table(dataset_of("one_host") / "stories" / "incidents").to_pylist()
    assert [row["sentence"] for row in rows if row["severity"] != "info"] == []


def test_a_link_of_a_client_host_that_is_too_narrow_is_one_failure_of_that_host(
    dataset_of: Callable[..., Path],
) -> None:
    """Each of its paths is cut for a moment, or loses packets, at another time. What was queued arrives later."""
    row, (detail, begin_ns, end_ns) = told(dataset_of("narrow_host")), fault("narrow_host")
    assert (row["kind"], row["place"], row["hosts"]) == ("host_lossy", "client_host", [detail["ip"]])
    assert row["confidence"] == "confirmed"
    assert row["fault_start_after_ns"] - NEAR_NS <= begin_ns <= row["fault_start_ns"] + NEAR_NS
    assert end_ns < row["fault_end_ns"]


def test_a_frozen_broker_is_told_by_hosts_that_cannot_be_heard(dataset_of: Callable[..., Path]) -> None:
    """All clients speak TLS, and the keys are not there."""
    row, (_, begin_ns, end_ns) = told(dataset_of("frozen_tls")), fault("frozen_tls")
    assert (row["kind"], row["place"], row["severity"]) == ("broker_frozen", "broker", "error")
    assert row["encrypted_hosts"] == ["10.77.0.101", "10.77.0.102", "10.77.0.103"]
    assert abs(row["fault_start_ns"] - begin_ns) < NEAR_NS
    assert row["fault_end_after_ns"] < end_ns < row["fault_end_ns"]
    assert abs(row["longest_ms"] - (end_ns - begin_ns) // 1_000_000) < NEAR_NS // 1_000_000
    assert "Nobody stalled" not in row["sentence"]
    assert "it is not known which clients stalled" in row["sentence"]


def test_a_request_that_waits_at_one_port_proves_that_the_process_is_frozen_at_the_others(
    dataset_of: Callable[..., Path],
) -> None:
    """Clients wait for commits, which need other brokers; a replica waits for its Fetch at another port."""
    dataset, (detail, _, end_ns) = dataset_of("frozen_ports"), fault("frozen_ports")
    row = told(dataset)
    assert (row["kind"], row["subject"]) == ("broker_frozen", f"node 2 ({detail['address']})")
    states: list[Row] = pq.read_table(dataset / "stories" / "broker_states").to_pylist()
    assert {each["server_port"] for each in states if each["state"] == "frozen"} == {9092, 9093}
    assert row["fault_start_after_ns"] - row["fault_start_ns"] <= 0
    assert abs(row["fault_end_ns"] - end_ns) < NEAR_NS


@pytest.mark.parametrize(
    ("name", "kind", "place"),
    [
        ("delayed_path", "path_delayed", "path"),
        ("delayed_broker", "broker_delayed", "broker"),
        ("delayed_host", "host_delayed", "client_host"),
        ("late_broker", "broker_delayed", "broker"),
    ],
)
def test_packets_that_take_long_are_told_where_they_do(
    dataset_of: Callable[..., Path], name: str, kind: str, place: str
) -> None:
    """TCP sends again what is not acknowledged in time, though nothing is lost. Nobody names the nodes here."""
    row, (detail, begin_ns, end_ns) = told(dataset_of(name)), fault(name)
    assert (row["kind"], row["place"]) == (kind, place)
    assert detail.get("address", detail.get("ip")) in row["subject"]
    assert row["hosts"] == ([detail["ip"]] if "ip" in detail else [])
    assert row["fault_start_after_ns"] - NEAR_NS <= begin_ns <= row["fault_start_ns"] + NEAR_NS
    assert row["fault_end_after_ns"] - NEAR_NS <= end_ns <= row["fault_end_ns"] + NEAR_NS


def test_a_link_that_is_down_for_two_seconds_is_that_of_the_broker(dataset_of: Callable[..., Path]) -> None:
    """It was silent to all clients and brokers, of which some asked for nothing meanwhile, and reached none of them."""
    row, (detail, begin_ns, end_ns) = told(dataset_of("broker_link_down")), fault("broker_link_down")
    assert (row["kind"], row["place"], row["node_id"]) == ("broker_silent", "broker", detail["node_id"])
    assert row["fault_start_after_ns"] - NEAR_NS <= begin_ns <= row["fault_start_ns"] + NEAR_NS
    assert row["fault_end_after_ns"] - NEAR_NS <= end_ns <= row["fault_end_ns"] + NEAR_NS


def test_a_host_that_two_brokers_miss_is_unreachable_for_two_seconds_too(dataset_of: Callable[..., Path]) -> None:
    """It had sent nothing to the third broker for longer than that."""
    rows: list[Row] = pq.read_table(dataset_of("host_link_down") / "stories" / "incidents").to_pylist()
    (row,) = rows
    detail, begin_ns, end_ns = fault("host_link_down")
    assert (row["kind"], row["hosts"]) == ("client_host", [detail["ip"]])
    assert row["fault_start_after_ns"] - NEAR_NS <= begin_ns <= row["fault_start_ns"] + NEAR_NS
    assert row["fault_end_after_ns"] - NEAR_NS <= end_ns <= row["fault_end_ns"] + NEAR_NS


def test_a_path_whose_packets_take_less_than_half_a_second_is_slow(dataset_of: Callable[..., Path]) -> None:
    row, (delayed,) = told(dataset_of("slow_path")), events("slow_path")
    detail = delayed["detail"]
    assert (row["kind"], row["node_id"], row["hosts"]) == ("path_delayed", detail["node_id"], [detail["ip"]])
    assert row["fault_start_after_ns"] <= delayed["ts_ns"] <= row["fault_start_ns"] + NEAR_NS


def test_writes_that_wait_for_a_failed_log_directory_belong_to_it(dataset_of: Callable[..., Path]) -> None:
    """Leaders wait for the replicas in it until these are out of sync (replica.lag.time.max.ms, 30 s)."""
    dataset, (full,) = dataset_of("failed_directory"), events("failed_directory")
    row = told(dataset)
    assert (row["kind"], row["node_id"], row["severity"]) == ("log_directory", full["detail"]["node_id"], "error")
    waited: list[Row] = pq.read_table(dataset / "stories" / "stalls").to_pylist()
    elsewhere = [stall for stall in waited if stall["node_id"] not in (None, row["node_id"])]
    assert {stall["incident_id"] for stall in elsewhere if stall["from_ns"] > full["ts_ns"]} == {row["incident_id"]}


def test_brokers_that_throttle_all_their_clients_are_not_frozen(dataset_of: Callable[..., Path]) -> None:
    """They read nothing from a throttled connection for seconds, and send nothing to anybody meanwhile."""
    row: Row
    (row,) = pq.read_table(dataset_of("throttled_clients") / "stories" / "incidents").to_pylist()
    assert (row["kind"], row["severity"]) == ("quota", "error")


def test_brokers_that_do_not_reach_each_other_are_told_though_both_serve_clients(
    dataset_of: Callable[..., Path],
) -> None:
    begin, end = events("replica_cut")
    rows = pq.read_table(dataset_of("replica_cut") / "stories" / "incidents").to_pylist()
    (row,) = rows
    assert (row["kind"], row["place"]) == ("replication", "replication")
    assert row["fault_start_after_ns"] - NEAR_NS <= begin["ts_ns"] <= row["fault_start_ns"] + NEAR_NS
    assert row["fault_end_after_ns"] - NEAR_NS <= end["ts_ns"] <= row["fault_end_ns"] + NEAR_NS


def test_advertised_addresses_at_which_nothing_answers(dataset_of: Callable[..., Path]) -> None:
    (event,) = events("unreachable_listener")
    row = told(dataset_of("unreachable_listener"))
    assert (row["kind"], row["place"], row["severity"]) == ("listener", "listener", "error")
    assert row["subject"].split(", ") == event["detail"]["advertised"]


def test_brokers_that_are_all_late_at_once_are_a_slow_cluster(dataset_of: Callable[..., Path]) -> None:
    """By the brokers' request log each of them took half a second or longer for a Produce, all within a second."""
    row, late = told(dataset_of("cluster_slow")), events("cluster_slow")
    assert (row["kind"], row["place"], row["node_id"]) == ("cluster_slow", "cluster", None)
    assert row["subject"] == ", ".join(f"node {node}" for node in sorted({e["detail"]["node_id"] for e in late}))
    assert row["start_ns"] < late[0]["ts_ns"]
    assert late[-1]["ts_ns"] < row["end_ns"] + NEAR_NS


def test_a_topic_that_another_cluster_has_is_not_to_be_created(dataset_of: Callable[..., Path]) -> None:
    """A balancer sends new connections to another cluster for 14 s; it is the only server of that cluster."""
    misrouted, _ = events("other_cluster")
    row = told(dataset_of("other_cluster"))
    assert (row["kind"], row["subject"]) == ("missing_topic", "telemetry_raw-other_23")
    assert "cluster m3cR0i9qS3Cl0MPm96i5yg has a topic of that name" in row["sentence"]
    (action,) = row["actions"]
    assert action["owner"] == "clients"
    assert f"{misrouted['detail']['ip']}:29092" in action["text"]
    assert "--create" not in action["text"]


def test_a_listener_that_demands_tls_since_a_restart_is_told_with_its_broker(dataset_of: Callable[..., Path]) -> None:
    _, _, tls = events("protocol_changed")
    rows: list[Row] = pq.read_table(dataset_of("protocol_changed") / "stories" / "incidents").to_pylist()
    (row,) = (row for row in rows if row["kind"] == "protocol_changed")
    assert (row["place"], row["node_id"]) == ("listener", tls["detail"]["node_id"])
    assert row["fault_start_after_ns"] <= tls["ts_ns"] <= row["fault_start_ns"]
    assert row["fault_end_ns"] is None


def test_a_broker_that_pauses_again_and_again_is_frozen_as_often_and_not_slow(dataset_of: Callable[..., Path]) -> None:
    """Four of its pauses are in the capture."""
    row, done = told(dataset_of("frozen_again")), events("frozen_again")
    pauses = list(zip(done[::2], done[1::2], strict=True))
    assert (row["kind"], len(row["stretches"])) == ("broker_frozen", 4)
    for stretch, (frozen, resumed) in zip(row["stretches"], pauses, strict=False):
        assert abs(stretch["start_ns"] - frozen["ts_ns"]) < NEAR_NS
        assert abs(stretch["end_ns"] - resumed["ts_ns"]) < NEAR_NS
    assert [action["owner"] for action in row["actions"]] == ["brokers"], "no timeout helps where nobody took over"
