"""The rules of roles name Kafka's APIs and errors, and decide as the brokers' answers mean."""

import pyarrow as pa
import pytest

from kafkascope_analyzer.connections import role_rules
from kafkascope_analyzer.connections.role_rules import FOLLOWER_FETCH, PARTITION_LEADER, REQUEST_RULES, RoleRule
from kafkascope_analyzer.connections.roles import (
    RoleCounts,
    added_up,
    request_roles,
    verdicts,
)
from kafkascope_analyzer.dataset.tables import ROLES
from kafkascope_analyzer.scan.exchanges import SETTLED_SCHEMA
from kafkascope_parsers.schema import api_keys, api_name, error_codes, error_name

KEYS = {api_name(key): key for key in api_keys()}
CODES = {error_name(code): code for code in error_codes()}
RULES = [rule for rule in vars(role_rules).values() if isinstance(rule, RoleRule)]


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.role)
def test_rules_name_what_kafka_has(rule):
    assert rule.role in ROLES
    assert set(rule.refused_by) <= set(CODES)
    old = {"LeaderAndIsr", "StopReplica", "UpdateMetadata", "ControlledShutdown"}  # of ZooKeeper's time
    assert set(rule.apis) - set(KEYS) <= old


def test_every_role_but_bootstrap_has_a_rule():
    assert {rule.role for rule in (*REQUEST_RULES, PARTITION_LEADER, FOLLOWER_FETCH)} == set(ROLES) - {"bootstrap"}


def roles(*requests):
    rows = [
        {
            "conn": 0,
            "number": i,
            "ts_ns": i * 10,
            "api_key": KEYS[api],
            "api_version": 1,
            "error_code": CODES.get(error),
            **more,
        }
        for i, (api, error, more) in enumerate(requests)
    ]
    table = added_up(request_roles(pa.Table.from_pylist(rows, SETTLED_SCHEMA)))
    said = verdicts(table["n_confirmed"], table["n_refused"]).to_pylist()
    return {(row["role"], row["subject"]): (verdict, row) for row, verdict in zip(table.to_pylist(), said, strict=True)}


GROUP, TXN = {"group_id": "g"}, {"transactional_id": "x"}


@pytest.mark.parametrize(
    ("api", "error", "about", "place", "verdict"),
    [
        ("Heartbeat", "NONE", GROUP, ("group_coordinator", "g"), "confirmed"),
        ("Heartbeat", "NOT_COORDINATOR", GROUP, ("group_coordinator", "g"), "refused"),
        ("OffsetFetch", "COORDINATOR_NOT_AVAILABLE", GROUP, ("group_coordinator", "g"), "refused"),
        ("JoinGroup", "COORDINATOR_LOAD_IN_PROGRESS", GROUP, ("group_coordinator", "g"), "claimed"),
        ("JoinGroup", None, GROUP, ("group_coordinator", "g"), "claimed"),
        ("DescribeGroups", "NONE", {"described": "g"}, ("group_coordinator", "g"), "confirmed"),
        ("InitProducerId", "NONE", TXN, ("transaction_coordinator", "x"), "confirmed"),
        ("EndTxn", "NOT_COORDINATOR", TXN, ("transaction_coordinator", "x"), "refused"),
        ("DescribeTransactions", "NONE", {"described": "x"}, ("transaction_coordinator", "x"), "confirmed"),
        ("WriteShareGroupState", "NONE", GROUP, ("share_coordinator", "g"), "confirmed"),
        ("BrokerHeartbeat", "NONE", {}, ("controller", None), "confirmed"),
        ("AlterPartition", "NOT_CONTROLLER", {}, ("controller", None), "refused"),
        ("Envelope", "NONE", {}, ("inter_broker", None), "confirmed"),
        ("Fetch", "NONE", {"replica_id": 2}, ("inter_broker", None), "confirmed"),
        ("CreateTopics", "TOPIC_ALREADY_EXISTS", {}, ("admin", None), "confirmed"),
        ("PushTelemetry", "NONE", {}, ("telemetry", None), "confirmed"),
    ],
)
def test_what_an_answer_says_of_a_role(api, error, about, place, verdict):
    assert roles((api, error, about))[place][0] == verdict


def test_an_idempotent_producer_has_no_coordinator():
    assert roles(("InitProducerId", "NONE", {})) == {}


def test_a_role_that_was_refused_later_ends_before():
    found = roles(("Heartbeat", "NONE", GROUP), ("Heartbeat", "NONE", GROUP), ("Heartbeat", "NOT_COORDINATOR", GROUP))
    verdict, row = found["group_coordinator", "g"]
    assert (verdict, row["n_confirmed"], row["n_refused"]) == ("confirmed", 2, 1)
    assert (row["confirmed_first_ns"], row["confirmed_last_ns"], row["last_ns"]) == (0, 10, 20)


def test_adding_up_in_between_changes_nothing(monkeypatch):
    rows = [
        {
            "conn": i % 7,
            "number": i,
            "ts_ns": i * 10,
            "api_key": KEYS["Heartbeat"],
            "api_version": 1,
            "group_id": f"g{i % 3}",
            "error_code": CODES["NOT_COORDINATOR"] if i % 5 == 0 else 0,
        }
        for i in range(400)
    ]
    said = []
    for limit in (10**9, 25):
        monkeypatch.setattr("kafkascope_analyzer.connections.roles.COMPACT_ROWS", limit)
        counts = RoleCounts()
        for start in range(0, len(rows), 20):
            counts.add(request_roles(pa.Table.from_pylist(rows[start : start + 20], SETTLED_SCHEMA)))
        said.append(sorted(counts.total().to_pylist(), key=lambda r: (r["conn"], r["subject"])))
    assert len(said[0]) == 21
    assert all(len(row["evidence"]) == 3 for row in said[0])
    assert said[0] == said[1]
