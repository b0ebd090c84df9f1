"""Who bootstrapped where: the Java client by its counter, others by what they knew when they connected."""

import numpy as np
import pyarrow as pa
import pytest

from kafkascope_analyzer.connections.bootstrap import JAVA, AskedRequests, Askers
from kafkascope_analyzer.connections.bootstrapped import NEVER, NO, PROVEN, SASL_IDS_FROM, Asked, judge
from kafkascope_parsers.broker_clients import broker_of, is_broker

S = 1_000_000_000


def asker(name, first, last=100, **known):
    result = {"first_ns": first * S, "last_ns": last * S, "seen_from_start": True, "asked_ns": first * S}
    result |= {"metadata_ns": first * S + 1, "first_id": SASL_IDS_FROM, "only_asked": True}
    return name, result | known


def bootstraps(members, *, is_java=False):
    """Names of the connections that bootstrapped the client, and whether that is proven."""
    n, verdicts = len(members), np.full(len(members), NO, np.uint8)
    asked = Asked(*(np.array([result[name] for _, result in members]) for name in Asked._fields))
    judge(np.arange(n), np.zeros(n, np.int64), np.array([is_java]), asked, verdicts)
    return {name: bool(v == PROVEN) for (name, _), v in zip(members, verdicts, strict=True) if v != NO}


def test_the_java_client_begins_its_ids_on_the_bootstrap_connection():
    members = [asker("a", 1, first_id=0), asker("b", 2, first_id=3)]
    assert bootstraps(members, is_java=True) == {"a": True}


def test_a_java_client_that_comes_back_after_an_idle_close_does_not_bootstrap():
    members = [asker("a", 1, 2, first_id=0), asker("b", 50, first_id=71)]
    assert bootstraps(members, is_java=True) == {"a": True}


def test_two_java_processes_of_one_name_bootstrap_once_each():
    members = [asker(name, at, first_id=i) for name, at, i in (("a", 1, 0), ("b", 2, 4), ("c", 3, 1))]
    assert bootstraps(members, is_java=True) == {"a": True, "c": True}


def test_another_client_bootstraps_until_it_was_told_of_the_cluster():
    members = [asker("a", 1, metadata_ns=3 * S), asker("b", 2, metadata_ns=NEVER), asker("c", 4, only_asked=False)]
    assert bootstraps(members) == {"a": True, "b": True}


def test_a_later_connection_that_only_asked_is_claimed():
    members = [asker("a", 1), asker("b", 4, only_asked=True), asker("c", 5, only_asked=False)]
    assert bootstraps(members) == {"a": True, "b": False}


def test_a_life_begins_anew_when_all_connections_were_gone():
    members = [asker("a", 1, 2, only_asked=False), asker("b", 9, only_asked=False)]
    assert bootstraps(members) == {"a": True, "b": True}


def test_what_began_before_the_capture_is_not_called_a_bootstrap():
    assert bootstraps([asker("a", 1, seen_from_start=False)]) == {}


def test_brokers_are_told_by_the_client_ids_they_give_themselves():
    assert all(is_broker(name) for name in ("broker-3-fetcher-0", "raft-client-9", "Persister-client-1"))
    assert [broker_of(name) for name in ("broker-3-fetcher-0", "raft-client-9", "app", None)] == [3, 9, None, None]
    assert not any(is_broker(name) for name in ("broker-3", "my-raft-client-9", None, "1"))


def connections(*rows):
    columns = ("conn_id", "client_ip", "first_ns", "last_ns", "seen_from_start")
    types = (pa.string(), pa.string(), pa.int64(), pa.int64(), pa.bool_())
    return pa.table([pa.array([row[i] for row in rows], kind) for i, kind in enumerate(types)], columns)


def asked(*rows):
    """Settled Metadata requests: (connection, number, time, correlation id, client id, software)."""
    names = ("conn", "number", "ts_ns", "correlation_id", "client_id", "software_name")
    types = (pa.int64(), pa.int64(), pa.int64(), pa.int32(), pa.string(), pa.string())
    table = pa.table([pa.array([row[i] for row in rows], kind) for i, kind in enumerate(types)], names)
    table = table.append_column("api_key", pa.array([3] * len(rows), pa.int16()))
    return table.append_column("response_last_ns", pa.array([row[2] + 1 for row in rows], pa.int64()))


@pytest.mark.parametrize("together", [True, False])
def test_a_client_of_two_buckets_is_one_client(together):
    """Its connections' numbers begin anew in each bucket, and a batch may bring its requests in any order."""
    first = connections(("b", "192.0.2.9", 5 * S, 9 * S, True), ("x", "192.0.2.7", 1 * S, 9 * S, False))
    second = connections(("a", "192.0.2.9", 4 * S, 9 * S, True))
    of_first, of_second = AskedRequests(first.num_rows), AskedRequests(second.num_rows)
    of_second.note(asked((0, 0, 4 * S, 0, "app", None)))
    late = [(0, 1, 6 * S, 7, "app", None), (0, 2, 7 * S, 8, "app", None), (1, 0, 2 * S, 0, "other", None)]
    for batch in [late] if together else [late[2:], late[1:2], late[:1]]:
        of_first.note(asked(*batch))
    in_first, in_second = Askers([first, second], [of_first, of_second]).bootstraps()
    claimed = {"conn": 0, "is_proven": False, "n_asked": 2, "first_ns": 6 * S, "last_ns": 7 * S, "number": 1}
    proven = {"conn": 0, "is_proven": True, "n_asked": 1, "first_ns": 4 * S, "last_ns": 4 * S, "number": 0}
    assert in_first.to_pylist() == [claimed]
    assert in_second.to_pylist() == [proven]


@pytest.mark.parametrize("together", [True, False])
def test_a_connection_is_of_the_client_that_its_first_request_names(together):
    """Requests come when they are settled: one that waits long for its response comes after later ones."""
    requests = AskedRequests(1)
    settled = [(0, 1, 2 * S, 1, "second", None), (0, 2, 3 * S, 2, "third", "other"), (0, 0, S, 0, "first", JAVA)]
    for batch in [settled] if together else [[request] for request in settled]:
        requests.note(asked(*batch))
    askers = Askers([connections(("a", "192.0.2.9", S, 9 * S, True))], [requests])
    assert askers.client_ids[0] == "first"
    assert askers.bootstraps()[0]["is_proven"].to_pylist() == [True]


def test_one_connection_of_the_java_client_makes_all_of_its_name_java():
    rows = connections(("a", "192.0.2.9", S, 9 * S, True), ("b", "192.0.2.9", 2 * S, 9 * S, True))
    requests = AskedRequests(2)
    requests.note(asked((0, 0, S, 0, "app", JAVA), (1, 0, 3 * S, 9, "app", None)))
    assert Askers([rows], [requests]).bootstraps()[0]["conn"].to_pylist() == [0]


def test_a_capture_without_connections_has_no_bootstraps():
    assert Askers([], []).bootstraps() == []
