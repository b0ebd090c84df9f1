"""ZooKeeper sessions from connections, by the rules of ZooKeeper's programmer's guide (ZooKeeper Sessions): a client
that reconnects in time keeps its session id, one that comes too late gets a timeout of 0 and opens a new session.
"""

from kafkascope_analyzer.dataset.zookeeper_sessions import ZooKeeperConnection, sessions_of

S = 1_000_000_000
END_NS = 60 * S


def connection(conn_id, client, session, begin, end=None, **more):
    """A connection from begin to end, in seconds (None: open); the client was silent for the last second."""
    columns = {
        "conn_id": conn_id,
        "client_ip": client,
        "server_ip": "10.0.0.9",
        "server_port": 2181,
        "zookeeper_session": session,
        "zookeeper_timeout_ms": 6_000 if session else None,
        "zookeeper_closed": False,
        "first_ns": begin * S,
        "last_ns": (59 if end is None else end) * S,
        "close_ns": None if end is None else end * S,
        "close_kind": "open" if end is None else "rst_server",
        "idle_before_close_ms": None if end is None else 1_000,
    }
    return ZooKeeperConnection(**columns | more)


def seconds(*times):
    return tuple(None if time is None else time // S for time in times)


def test_a_session_that_another_connection_takes_up_is_one_and_lives_on():
    rows = [connection("a", "10.0.0.1", "0x1", 0, 10), connection("b", "10.0.0.1", "0x1", 12)]
    (session,) = sessions_of(rows, END_NS)
    assert (session.conn_ids, session.ended_ns, session.expired_ns) == (("a", "b"), None, None)


def test_a_session_that_none_takes_up_expires_after_its_timeout_and_is_replaced():
    rows = [connection("a", "10.0.0.1", "0x1", 0, 10), connection("b", "10.0.0.1", "0x2", 20)]
    lost, fresh = sessions_of(rows, END_NS)
    assert seconds(lost.heard_ns, lost.expired_ns, lost.reopened_ns) == (9, 15, 20)
    assert lost.is_replaced
    assert (fresh.expired_ns, fresh.is_replaced) == (None, False)


def test_a_session_is_not_replaced_by_one_of_another_client_or_before_it_expired():
    rows = [connection("a", "10.0.0.1", "0x1", 0, 10), connection("b", "10.0.0.2", "0x2", 20)]
    assert not any(session.is_replaced for session in sessions_of(rows, END_NS))
    rows = [connection("a", "10.0.0.1", "0x1", 0, 10), connection("b", "10.0.0.1", "0x2", 3)]
    assert not any(session.is_replaced for session in sessions_of(rows, END_NS))


def test_sessions_that_were_refused_are_none_and_prove_that_the_ones_before_expired():
    """An answer for an expired session has timeout 0 and session id 0, whoever asked."""
    rows = [connection(f"{name}1", f"10.0.0.{name}", f"0x{name}", 0, 10) for name in (1, 2)]
    refused = {"zookeeper_timeout_ms": 0, "close_kind": "fin_server"}
    rows += [connection(f"{name}2", f"10.0.0.{name}", "0x0", 18, 19, **refused) for name in (1, 2)]
    found = sessions_of(rows, END_NS)
    assert [(s.client_ip, s.conn_ids, s.is_replaced) for s in found] == [
        ("10.0.0.1", ("11",), True),
        ("10.0.0.2", ("21",), True),
    ]


def test_a_session_that_its_client_closed_does_not_expire():
    (session,) = sessions_of([connection("a", "10.0.0.1", "0x1", 0, 10, zookeeper_closed=True)], END_NS)
    assert (session.is_closed, session.expired_ns) == (True, None)


def test_a_capture_that_ends_before_the_timeout_does_not_show_that_the_session_expired():
    (session,) = sessions_of([connection("a", "10.0.0.1", "0x1", 0, 10)], 14 * S)
    assert session.expired_ns is None


def test_a_session_from_before_the_capture_has_the_timeout_of_the_next_one():
    rows = [connection("a", "10.0.0.1", None, 0, 10), connection("b", "10.0.0.1", "0x2", 20)]
    old, _ = sessions_of(rows, END_NS)
    assert (old.session, old.timeout_ms, *seconds(old.expired_ns)) == (None, 6_000, 15)
