"""Who bootstrapped where: the Java client by its counter, others by what they knew when they connected."""

from kafkascope_analyzer.connections.bootstrap import JAVA, Asker, bootstrap_connections
from kafkascope_analyzer.connections.role_rules import broker_of, is_broker

S = 1_000_000_000


def asker(conn_id, first, last=100, **known):
    told = {"client_id": "app", "asked_ns": first * S, "told_ns": first * S + 1, "seen_from_start": True} | known
    return Asker(conn_id=conn_id, client_ip="192.0.2.9", first_ns=first * S, last_ns=last * S, **told)


def test_the_java_client_begins_its_ids_on_the_bootstrap_connection():
    members = [asker("a", 1, software=JAVA, first_id=0), asker("b", 2, software=JAVA, first_id=3)]
    assert bootstrap_connections(members) == {"a": True}


def test_a_java_client_that_comes_back_after_an_idle_close_does_not_bootstrap():
    members = [asker("a", 1, 2, software=JAVA, first_id=0), asker("b", 50, software=JAVA, first_id=71)]
    assert bootstrap_connections(members) == {"a": True}


def test_two_java_processes_of_one_name_bootstrap_once_each():
    members = [asker(name, at, software=JAVA, first_id=i) for name, at, i in (("a", 1, 0), ("b", 2, 4), ("c", 3, 1))]
    assert bootstrap_connections(members) == {"a": True, "c": True}


def test_another_client_bootstraps_until_it_was_told_of_the_cluster():
    members = [asker("a", 1, told_ns=3 * S), asker("b", 2, told_ns=None), asker("c", 4, only_asked=False)]
    assert bootstrap_connections(members) == {"a": True, "b": True}


def test_a_later_connection_that_only_asked_is_claimed():
    members = [asker("a", 1), asker("b", 4, only_asked=True), asker("c", 5, only_asked=False)]
    assert bootstrap_connections(members) == {"a": True, "b": False}


def test_a_life_begins_anew_when_all_connections_were_gone():
    members = [asker("a", 1, 2, only_asked=False), asker("b", 9, only_asked=False)]
    assert bootstrap_connections(members) == {"a": True, "b": True}


def test_what_began_before_the_capture_is_not_called_a_bootstrap():
    assert bootstrap_connections([asker("a", 1, seen_from_start=False)]) == {}


def test_brokers_are_told_by_the_client_ids_they_give_themselves():
    assert all(is_broker(name) for name in ("broker-3-fetcher-0", "raft-client-9", "Persister-client-1"))
    assert [broker_of(name) for name in ("broker-3-fetcher-0", "raft-client-9", "app", None)] == [3, 9, None, None]
    assert not any(is_broker(name) for name in ("broker-3", "my-raft-client-9", None, "1"))
