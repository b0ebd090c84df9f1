"""Which packets make which state, from events by hand."""

import pytest

S = 1_000_000_000


def test_a_host_that_is_served(trace):
    trace.host("a")
    assert trace.states() == [("a", "serving", 0.1, None)]


def test_no_state_goes_on_over_a_time_that_no_file_covers(trace):
    """Packets of 20 s to 40 s are in no file: the server may have answered in them, or served again and stopped."""
    trace.covered = [(0, 20 * S), (40 * S, 60 * S)]
    trace.host("a")
    trace.signs((0.1, 10.0), (45.5, 59.0), host="a")
    trace.payload((0.1, 10.0), (45.5, 59.0))
    trace.wait("a", 10.2, 20.0, last=18.0, ended_by="hidden")
    trace.wait("a", 40.0, 45.5, last=45.0)
    assert trace.states() == [
        ("a", "serving", 0.1, 10.0),
        ("a", "silent", 10.0, 20.0),
        ("a", "silent", 40.0, 45.5),
        ("a", "serving", 45.5, None),
    ]


def test_a_healthy_server_is_known_where_files_cover_the_time(trace):
    trace.covered = [(0, 20 * S), (40 * S, 60 * S)]
    trace.host("a")
    trace.host("b", first=50.0)
    trace.host("c", last=15.0)
    assert sorted(trace.states()) == [
        ("a", "serving", 0.1, 20.0),
        ("a", "serving", 40.0, None),
        ("b", "serving", 50.0, None),
        ("c", "serving", 0.1, 20.0),
    ]


def test_silent_from_the_last_packet_to_the_next(trace):
    trace.host("a")
    trace.signs((0.1, 10.0), (20.5, 59.0), host="a")
    trace.wait("a", 10.2, 20.5, last=20.0)
    assert trace.states() == [("a", "serving", 0.1, 10.0), ("a", "silent", 10.0, 20.5), ("a", "serving", 20.5, None)]


def test_a_host_that_asks_late_finds_it_silent_only_then(trace):
    trace.host("a", last=5.0)
    trace.signs((0.1, 5.0), host="a")
    trace.wait("a", 30.0, None, last=59.0)
    assert trace.states()[1:] == [("a", "silent", 30.0, None)]


def test_a_host_that_gives_up_knows_nothing_any_more(trace):
    trace.host("a", last=58.0)
    trace.signs((0.1, 10.0), (58.0, 58.0), host="a")
    trace.wait("a", 10.2, None, last=13.0)
    assert trace.states()[1:] == [
        ("a", "silent", 10.0, 13.0),
        ("a", "unknown", 13.0, 58.0),
        ("a", "serving", 58.0, None),
    ]


def test_others_show_that_it_stays_silent(trace):
    for host, last in (("a", 13.0), ("b", 39.0)):
        trace.host(host, last=58.0)
        trace.signs((0.1, 10.0), (40.0, 58.0), host=host)
        trace.wait(host, 10.2, 40.0, last=last)
    trace.signs((0.1, 10.0), (40.0, 58.0), scope="process", layer="packet")
    assert [row[2:] for row in trace.states() if row[1] == "silent"] == [(10.0, 40.0)] * 2


def test_each_attempt_is_a_connection_of_its_own(trace):
    """An ICMP message ends each attempt at once; no packet of TCP comes."""
    trace.host("a")
    trace.signs((0.1, 10.0), (40.0, 59.0), host="a")
    for at in (20.0, 24.0, 30.0, 38.0):
        trace.wait("a", at, None, last=at)
    assert [row[2:] for row in trace.states() if row[1] == "silent"] == [(20.0, 40.0)]


def test_one_packet_that_was_lost_is_no_silence(trace):
    """The host did not send again: the capture lacks the acknowledgment."""
    trace.host("a")
    trace.signs((0.1, 10.0), (20.5, 59.0), host="a")
    trace.wait("a", 10.2, 20.5, last=10.2)
    assert [state for _, state, _, _ in trace.states()] == ["serving"]


def test_a_connection_that_stays_dead_while_others_are_served(trace):
    trace.host("a")
    trace.signs((0.1, 10.0), (13.5, 59.0), host="a")
    trace.wait("a", 10.2, None, last=40.0)
    assert [state for _, state, _, _ in trace.states()] == ["serving"]


def test_what_a_living_host_does_not_acknowledge(trace):
    """The server sends and sends again: between the two nothing arrives."""
    trace.host("a", "broker")
    trace.signs((0.1, 59.0), host="a")
    trace.signs((0.1, 10.0), (25.0, 59.0), host="a", scope="from_host", layer="packet")
    trace.wait("a", 10.1, 25.0, "delivery", last=20.0, is_proof=True)
    assert trace.states()[1] == ("a", "silent", 10.0, 25.0)


def test_what_the_broker_sends_does_not_arrive_though_it_hears_the_host(trace):
    """As recorded: packets to the host are dropped for 10 s. The broker acknowledges what the host sends, and answers
    its attempts to connect; the host acknowledges nothing until one of these arrives."""
    trace.host("a")
    trace.signs((0.1, 10.0), (20.0, 59.0), host="a", layer="payload")
    trace.signs((0.1, 11.9), (16.0, 16.0), (17.0, 17.0), (20.0, 59.0), host="a", layer="packet")
    trace.signs((0.1, 10.0), (16.0, 16.0), (17.0, 17.0), (20.0, 59.0), host="a", scope="from_host", layer="packet")
    for asked in (9.5, 9.9, 10.0):
        trace.wait("a", asked, 23.0 + asked / 10, "delivery", last=22.9)
    trace.wait("a", 16.0, 17.0, "delivery", ended_by="syn_ack")
    rows = [row for row in trace.table() if row.state == "silent"]
    assert [(row.from_ns / 1e9, row.to_ns / 1e9, row.unacknowledged) for row in rows] == [(10.0, 20.0, "broker")]


@pytest.mark.parametrize(("layers", "whose"), [(("packet",), "host"), (("packet", "delivery"), "both")])
def test_whose_packets_were_not_acknowledged(trace, layers, whose):
    trace.host("a")
    trace.signs((0.1, 10.0), (25.0, 59.0), host="a")
    trace.signs((0.1, 10.0), (15.0, 15.0), (25.0, 59.0), host="a", scope="from_host", layer="packet")
    for layer in layers:
        trace.wait("a", 10.1, 25.0, layer, last=20.0)
    assert [row.unacknowledged for row in trace.table()] == [None, whose, None]


def frozen(trace, proof=True, hosts=("a", "b")):
    for host in hosts:
        trace.host(host)
        trace.signs((0.1, 10.0), (22.0, 59.0), host=host)
        trace.signs((15.0, 15.0), host=host, layer="packet")
        trace.wait(host, 10.1, 22.0, "request", is_proof=proof, request_id=f"{host}-1")
    trace.signs((15.0, 15.0), scope="process", layer="packet")
    trace.payload((0.1, 10.0), (22.0, 59.0))


def test_frozen_while_its_kernel_answers(trace):
    frozen(trace)
    rows = [row for row in trace.table() if row.state == "frozen"]
    assert [(row.host, row.from_ns, row.to_ns) for row in rows] == [
        (host, 10_000_000_000, 22_000_000_000) for host in "ab"
    ]
    assert rows[0].requests == ("a-1",)
    assert rows[0].packets == (100, 101, 220)


def test_a_request_that_is_never_answered_shows_one_pause_at_most(trace):
    """Its host is gone. The process runs for seconds between its pauses, and others need nothing in them."""
    trace.host("a", last=10.1)
    trace.signs((0.1, 10.0), host="a")
    trace.wait("a", 10.1, None, "request", is_proof=True, request_id="a-1")
    trace.payload((0.1, 10.0), (14.0, 20.0), (30.0, 40.0), (50.0, 59.0))
    assert [row[2:] for row in trace.states() if row[1] == "frozen"] == [(10.0, 14.0)]


def test_requests_that_wait_for_other_brokers_prove_nothing(trace):
    frozen(trace, proof=False)
    assert {state for _, state, _, _ in trace.states()} == {"serving"}


def test_what_waits_at_another_port_proves_it_for_all_ports_of_the_process(trace):
    frozen(trace, proof=False)
    trace.signs((10.1, 22.0), scope="owed", layer="payload")
    found = [row for row in trace.states() if row[1] == "frozen"]
    assert found == [(host, "frozen", 10.0, 22.0) for host in "ab"]


def test_a_process_that_goes_on_sending_heartbeats_while_it_owes_a_response_is_not_frozen(trace):
    """Its disk hangs: it stalls for hardly longer than a second each time."""
    trace.host("a")
    trace.wait("a", 13.0, None, "request", request_id="a-1")
    trace.payload((0.1, 10.8), (11.8, 12.8), *((at + 0.83, at + 0.83) for at in range(13, 59)))
    trace.signs((11.1, 59.0), scope="owed", layer="payload")
    assert {state for _, state, _, _ in trace.states()} == {"serving"}


def test_whoever_is_served_shows_that_the_process_runs(trace):
    frozen(trace)
    trace.signs((15.0, 15.0), scope="process", layer="payload")
    ends = [(begin, end) for _, state, begin, end in trace.states() if state == "frozen"]
    assert ends
    assert all(end <= 15.0 or begin >= 15.0 for begin, end in ends)


@pytest.mark.parametrize(("hosts", "found"), [("a", False), ("abc", True)])
def test_encrypted_requests_prove_it_together(trace, hosts, found):
    for host in hosts:
        trace.host(host)
        trace.signs((0.1, 10.0), (22.0, 59.0), host=host)
        trace.wait(host, 10.1, 22.0, "payload")
    trace.payload((0.1, 10.0), (22.0, 59.0))
    assert any(state == "frozen" for _, state, _, _ in trace.states()) == found


def test_long_polls_of_encrypted_clients_are_usual(trace):
    """No topic has news: every poll takes 5 s."""
    times = [5.0 * i for i in range(12)]
    for host in "abc":
        trace.host(host)
        trace.signs(*((at, at + 0.1) for at in times), host=host)
        for at in times:
            trace.wait(host, at + 0.1, at + 5.0, "payload")
    trace.payload(*((at, at + 0.1) for at in times))
    assert {state for _, state, _, _ in trace.states()} == {"serving"}


@pytest.mark.parametrize(("n", "found"), [(1, []), (2, [("slow", 10.0, 14.0)])])
def test_slow_on_several_connections_at_once(trace, n, found):
    trace.host("a")
    trace.payload((0.1, 59.0))
    for at in (10.0, 11.0)[:n]:
        trace.wait("a", at, at + 3.0, "request", is_proof=True, is_slow=True, request_id=f"r{at}")
    assert [row[1:] for row in trace.states() if row[1] == "slow"] == found


def test_slow_as_long_as_responses_are_late_that_wait_for_other_brokers_too(trace):
    """Late Produce responses alone may be the fault of a replica; between late Fetch responses they show that the
    broker is slow all the time."""
    trace.host("a")
    trace.payload((0.1, 59.0))
    for at in (10.0, 11.0, 18.0):
        trace.wait("a", at, at + 1.0, "request", is_proof=True, is_slow=True, request_id=f"r{at}")
    for at in (13.0, 15.0, 17.0, 30.0, 31.0):
        trace.wait("a", at, at + 1.0, "request", is_slow=True, request_id=f"r{at}")
    assert [row[1:] for row in trace.states() if row[1] == "slow"] == [("slow", 10.0, 19.0)]


def lossy(trace, *losses):
    """A host whose connection loses packets at these times, each from the first to the last copy of a packet."""
    trace.host("a")
    trace.signs((0.1, 59.0), host="a")
    trace.signs((0.1, 59.0), host="a", scope="from_host")
    trace.payload((0.1, 59.0))
    for layer, asked, until in losses:
        trace.wait("a", asked, until, layer, last=until - 0.01)


def test_packets_that_are_lost_again_and_again_make_a_path_lossy(trace):
    """As recorded with 40 % of the packets between a host and a broker dropped for 14 s: each side goes on sending."""
    lossy(trace, ("packet", 10.0, 10.9), ("packet", 13.7, 14.6), ("delivery", 14.7, 17.0))
    assert trace.states() == [
        ("a", "serving", 0.1, 10.0),
        ("a", "lossy", 10.0, 17.0),
        ("a", "serving", 17.0, None),
    ]


@pytest.mark.parametrize(
    "losses",
    [
        [("packet", 10.0, 10.9), ("packet", 13.7, 14.6)],
        [("packet", 10.0, 10.9), ("packet", 10.1, 10.8), ("delivery", 10.2, 11.5), ("packet", 13.0, 13.9)],
        [("packet", 10.0, 10.9), ("packet", 20.0, 20.9), ("packet", 30.0, 30.9)],
    ],
    ids=["two", "together", "far apart"],
)
def test_single_losses_make_no_path_lossy(trace, losses):
    lossy(trace, *losses)
    assert {state for _, state, _, _ in trace.states()} == {"serving"}


def test_a_short_silence_beside_losses_is_one_of_them(trace):
    trace.host("a")
    trace.signs((0.1, 8.0), (9.2, 59.0), host="a")
    trace.signs((0.1, 8.0), (9.2, 59.0), host="a", scope="from_host")
    trace.payload((0.1, 59.0))
    for asked, until in ((8.1, 9.2), (10.0, 10.9), (12.0, 12.7), (13.7, 14.6)):
        trace.wait("a", asked, until, last=until - 0.01)
    assert [row[1:] for row in trace.states() if row[1] != "serving"] == [("lossy", 8.0, 14.6)]


def stopped(trace, *hosts):
    for host in hosts:
        trace.host(host)
        trace.signs((0.1, 10.0), (30.0, 59.0), host=host)
        trace.lost(host, "fin_server", 0.0, 10.1)
    trace.payload((0.1, 10.0), (30.0, 59.0))


def test_down_from_the_first_fin_until_it_serves(trace):
    stopped(trace, "a", "b")
    trace.lost("a", "refused", 12.0, 12.0)
    assert trace.states() == [
        ("a", "serving", 0.1, 10.1),
        ("a", "down", 10.1, 30.0),
        ("a", "serving", 30.0, None),
        ("b", "serving", 0.1, 10.1),
        ("b", "down", 10.1, 30.0),
        ("b", "serving", 30.0, None),
    ]


def test_a_connection_that_is_older_than_the_capture_was_torn_however_late_its_first_packet_comes(trace):
    """As recorded: the controller of a ZooKeeper cluster sends to a broker only when that asks for its shutdown, and
    refuses nothing; it connects again 6 s later."""
    stopped(trace, "a", "b")
    trace.host("c", kind="broker")
    trace.lost("c", "fin_server", 9.9, 10.12, first_packet_no=0)
    trace.lost("c", "refused", 16.0, 16.0)
    assert [row for row in trace.states() if row[0] == "c"] == [
        ("c", "serving", 0.1, 10.12),
        ("c", "down", 10.12, 30.0),
        ("c", "serving", 30.0, None),
    ]


def down_with_payload(trace, at, *, accepted=False):
    """A server that is down from 10 to 20 s, and sends something at a time."""
    trace.host("a")
    trace.signs((0.1, 10.0), (at, at + 0.2), (20.0, 59.0), host="a")
    trace.payload((0.1, 10.0), (at, at + 0.2), (20.0, 59.0))
    trace.lost("a", "rst_server", 0.0, 10.1)
    for refused in (11.0, 13.0, 16.0, 18.0):
        trace.lost("a", "refused", refused, refused)
    if accepted:
        trace.lost("a", "accepted", at, at, accepted_ns=int(at * 1e9), accepted_packet_no=int(at * 10))
    return [row[2:] for row in trace.states() if row[1] == "down"]


def test_a_late_response_while_connections_are_refused_is_no_service(trace):
    """Recorded: a firewall resets what comes to a broker; a response that was delayed there still leaves it."""
    assert down_with_payload(trace, 15.0) == [(10.1, 20.0)]


def test_a_server_that_accepts_a_connection_is_back(trace):
    assert down_with_payload(trace, 15.0, accepted=True) == [(10.1, 15.0), (16.0, 20.0)]


def test_nothing_is_known_of_a_host_that_had_left_before_it_went_down(trace):
    """A controlled shutdown stops the fetchers of the other brokers first; they come back when it leads again. What
    comes to the broker later for the first time says nothing of before."""
    stopped(trace, "a", "b")
    trace.lost("a", "refused", 12.0, 12.0)
    trace.host("c", kind="broker")
    trace.host("d", first=40.0)
    assert [row for row in trace.states() if row[0] in "cd"] == [
        ("c", "serving", 0.1, 10.1),
        ("c", "unknown", 10.1, 30.0),
        ("c", "serving", 30.0, None),
        ("d", "serving", 40.0, None),
    ]


def test_a_host_that_is_first_seen_as_the_broker_goes_down_is_not_served_by_it(trace):
    """As recorded: the broker's FIN on a connection that the host had closed already."""
    stopped(trace, "a", "b")
    trace.lost("a", "refused", 12.0, 12.0)
    trace.host("c", first=10.12)
    assert [row for row in trace.states() if row[0] == "c"] == [
        ("c", "unknown", 10.12, 30.0),
        ("c", "serving", 30.0, None),
    ]


def test_nothing_is_known_any_more_of_a_host_that_never_came_back(trace):
    stopped(trace, "a", "b")
    trace.lost("a", "refused", 12.0, 12.0)
    trace.host("c", last=5.0)
    assert [row for row in trace.states() if row[0] == "c"] == [
        ("c", "serving", 0.1, 10.1),
        ("c", "unknown", 10.1, None),
    ]


def test_a_restart_that_nobody_noticed_ended_everything_at_once(trace):
    stopped(trace, "a", "b", "c")
    assert [row[1:] for row in trace.states() if row[1] == "down"] == [("down", 10.1, 30.0)] * 3


def test_closing_idle_connections_is_no_state(trace):
    for host in "abc":
        trace.host(host)
        trace.signs((0.1, 1.0), (30.0, 59.0), host=host)
        trace.lost(host, "fin_server", 0.0, 10.1, idle_ms=9_100)
    trace.payload((0.1, 1.0), (30.0, 59.0))
    assert {state for _, state, _, _ in trace.states()} == {"serving"}


def test_refusing_one_host_while_another_is_served(trace):
    for host in "ab":
        trace.host(host)
    trace.signs((0.1, 10.0), (16.0, 59.0), host="a")
    trace.lost("a", "rst_server", 0.0, 10.1)
    for at in (10.2, 12.0, 15.0):
        trace.lost("a", "refused", at, at)
    trace.lost("a", "accepted", 15.9, 16.0, accepted_ns=16_000_000_000, accepted_packet_no=160)
    trace.payload((0.1, 59.0))
    assert trace.states() == [
        ("a", "serving", 0.1, 10.1),
        ("a", "refusing", 10.1, 16.0),
        ("a", "serving", 16.0, None),
        ("b", "serving", 0.1, None),
    ]


def test_accepting_once_in_between_makes_two_stretches(trace):
    trace.host("a")
    trace.signs((0.1, 59.0), host="a")
    for at in (10.0, 12.0, 20.0, 21.0):
        trace.lost("a", "refused", at, at)
    for at in (13.0, 22.0):
        trace.lost("a", "accepted", at, at, accepted_ns=int(at * 1e9), accepted_packet_no=int(at * 10))
    trace.payload((0.1, 59.0))
    assert [row[2:] for row in trace.states() if row[1] == "refusing"] == [(10.0, 13.0), (20.0, 22.0)]


def test_a_host_that_tried_nothing_while_another_was_accepted_again_was_refused_twice(trace):
    """Recorded: a firewall rejected new connections from 22 to 28 s and from 34 to 41 s. librdkafka waits up to 10 s
    between its attempts."""
    for host in "ab":
        trace.host(host)
        trace.signs((0.1, 59.0), host=host)
    for at in (22.6, 24.0, 27.5, 34.1, 38.0):
        trace.lost("a", "refused", at, at)
    for at in (28.4, 41.3):
        trace.lost("a", "accepted", at, at, accepted_ns=int(at * 1e9), accepted_packet_no=int(at * 10))
    for at in (22.5, 26.6, 36.6):
        trace.lost("b", "refused", at, at)
    trace.lost("b", "accepted", 47.7, 47.7, accepted_ns=47_700_000_000, accepted_packet_no=477)
    trace.payload((0.1, 59.0))
    refusing = [(host, *row) for host, state, *row in trace.states() if state == "refusing"]
    assert refusing == [("a", 22.6, 28.4), ("a", 34.1, 41.3), ("b", 22.5, 28.4), ("b", 36.6, 41.3)]


def test_a_host_that_goes_on_trying_is_refused_although_another_is_accepted(trace):
    for host in "ab":
        trace.host(host)
        trace.signs((0.1, 59.0), host=host)
    trace.lost("a", "refused", 22.0, 22.0)
    trace.lost("a", "accepted", 24.0, 24.0, accepted_ns=24_000_000_000, accepted_packet_no=240)
    for at in (21.0, 23.0, 25.0, 27.0, 29.0):
        trace.lost("b", "refused", at, at)
    trace.lost("b", "accepted", 30.0, 30.0, accepted_ns=30_000_000_000, accepted_packet_no=300)
    trace.payload((0.1, 59.0))
    assert [row[2:] for row in trace.states() if row[:2] == ("b", "refusing")] == [(21.0, 30.0)]


@pytest.mark.parametrize(("process", "state"), [([(0.2, 60.0)], "refusing"), ([(0.2, 11.0), (19.0, 60.0)], "down")])
def test_a_broker_whose_process_works_with_its_peers_is_not_down(trace, process, state):
    """A firewall rejects all clients from 10 to 20 s; or the process stops for most of that time, and is back when it
    sends something and refuses nobody any more."""
    for host in ("a", "b"):
        trace.host(host, is_client=True)
        trace.signs((0.2, 10.0), (20.0, 59.0), host=host)
        for refused in (10.2, 13.0, 16.0, 19.5):
            trace.lost(host, "refused", refused, refused)
    for scope in ("server", "listeners"):
        trace.signs((0.2, 10.0), (20.0, 60.0), scope=scope, layer="payload")
    for layer in ("packet", "payload"):
        trace.signs(*process, scope="process", layer=layer)
    back = 20.0 if state == "refusing" else 19.5
    bad = [row[1:] for row in trace.states() if row[1] not in ("serving", "unknown")]
    assert bad == [(state, 10.2, back)] * 2


def test_a_broker_that_serves_on_another_port_is_back_where_nobody_tries_this_one(trace):
    """As recorded of a rolling restart: leaders do not move back by themselves, and no client needs the broker until
    the next one stops; its process registers 10 s and its followers fetch 9 s earlier."""
    for host in ("a", "b"):
        trace.host(host)
        trace.signs((0.1, 10.0), (30.0, 59.0), host=host)
        trace.lost(host, "fin_server", 0.0, 10.1)
    trace.lost("a", "refused", 12.0, 12.0)
    trace.signs((0.1, 10.0), (30.0, 59.0), scope="server", layer="payload")
    trace.signs((0.1, 10.0), (21.0, 59.0), scope="listeners", layer="payload")
    trace.signs((0.1, 10.0), (20.0, 59.0), scope="process", layer="payload")
    assert [row for row in trace.states() if row[0] == "a"] == [
        ("a", "serving", 0.1, 10.1),
        ("a", "down", 10.1, 20.0),
        ("a", "unknown", 20.0, 30.0),
        ("a", "serving", 30.0, None),
    ]


def test_a_host_that_was_down_itself_was_not_served_meanwhile(trace):
    """Two brokers are killed, one second apart. The first asks the second again 25 s later, when it is back."""
    for host, kind in (("a", "client"), ("b", "client"), ("other", "broker")):
        trace.host(host, kind)
    for host in ("a", "b"):
        trace.signs((0.1, 10.0), (42.0, 59.0), host=host)
        trace.lost(host, "rst_server", 0.1, 10.0)
        trace.lost(host, "refused", 12.0, 12.0)
        trace.lost(host, "refused", 36.0, 36.0)
    trace.signs((0.1, 9.0), (43.0, 59.0), host="other")
    trace.lost("other", "refused", 35.0, 35.0)
    trace.payload((0.1, 10.0), (42.0, 59.0))
    of_other = [state for state in trace.states() if state[0] == "other"]
    assert of_other == [
        ("other", "serving", 0.1, 10.0),
        ("other", "unknown", 10.0, 35.0),
        ("other", "down", 35.0, 42.0),
        ("other", "serving", 42.0, None),
    ]


def test_a_wait_during_which_the_clock_was_set_back_is_no_state(trace):
    trace.host("a")
    trace.signs((0.1, 10.0), host="a")
    trace.wait("a", 30.0, None, last=20.0)
    trace.wait("a", 30.6, None, last=20.1)
    assert trace.states() == [("a", "serving", 0.1, None)]
