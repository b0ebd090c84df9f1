from collections.abc import Callable
from typing import Any

import pytest

from kafkascope_analyzer.dataset.tables.event_kinds.connections import Silence
from kafkascope_parsers.api_keys import (
    API_VERSIONS,
    FETCH,
    FIND_COORDINATOR,
    HEARTBEAT,
    INIT_PRODUCER_ID,
    JOIN_GROUP,
    METADATA,
    PRODUCE,
)
from kafkascope_spark.stories.clients.identity.grouping import group_connections
from kafkascope_spark.stories.clients.identity.instances import instances_of
from kafkascope_spark.stories.model import Connection

MS = 1_000_000
Make = Callable[..., Connection]
LIBRDKAFKA = {"software_name": "librdkafka"}


def refused(make: Make, conn_id: str, at: int, server: str = "10.0.0.2:9092") -> Connection:
    return make(
        conn_id,
        at,
        at,
        server=server,
        protocol="empty",
        close_kind="refused",
        up_ns=None,
        client_id=None,
        software_name=None,
        first_request_ns=None,
        last_request_ns=None,
        n_requests=0,
    )


def names(connections: list[Connection]) -> set[frozenset[str]]:
    return {frozenset(c.conn_id for c in g.connections) for g in group_connections(connections)}


def test_different_names_are_different_clients(connection: Make) -> None:
    assert names([connection("a"), connection("b", client_id="other")]) == {frozenset("a"), frozenset("b")}


def test_the_bootstrap_connection_that_is_closed_first_stays_with_its_client(connection: Make) -> None:
    boot = connection("boot", 0, 10, apis={METADATA}, ids=[(1, 1)], **LIBRDKAFKA)
    rest = connection("rest", 15, 9_000, apis={FETCH}, ids=[(16, 1)], **LIBRDKAFKA)
    assert names([boot, rest]) == {frozenset({"boot", "rest"})}


def test_a_process_that_ended_and_one_that_began_are_two(connection: Make) -> None:
    first = connection("first", 0, 1_000, apis={METADATA, PRODUCE}, ids=[(1, 1)], **LIBRDKAFKA)
    second = connection("second", 5_000, 6_000, apis={METADATA, PRODUCE}, ids=[(1, 1)], **LIBRDKAFKA)
    assert names([first, second]) == {frozenset({"first"}), frozenset({"second"})}


def test_who_asks_for_the_api_versions_once_goes_on_when_it_reconnects(connection: Make) -> None:
    kafkajs = {"software_name": None, "client_id": "js"}
    first = connection("first", 0, 1_000, apis={API_VERSIONS, METADATA, PRODUCE}, ids=[(1, 0)], **kafkajs)
    second = connection("second", 2_500, 6_000, apis={METADATA, PRODUCE}, ids=[(2_500, 0)], **kafkajs)
    third = connection("third", 9_000, 9_900, apis={API_VERSIONS, METADATA, PRODUCE}, ids=[(9_000, 0)], **kafkajs)
    assert names([first, second, third]) == {frozenset({"first", "second"}), frozenset({"third"})}


def test_two_members_at_one_time_are_two_clients(connection: Make) -> None:
    def member(conn_id: str, member_id: str) -> Connection:
        return connection(
            conn_id, 0, 9_000, members={member_id}, member_first_ns=0, member_last_ns=8_000 * MS, **LIBRDKAFKA
        )

    assert names([member("a", "m1"), member("b", "m2")]) == {frozenset("a"), frozenset("b")}
    assert names([member("a", "m1"), member("b", "m1")]) == {frozenset("ab")}


def test_clients_of_one_name_come_apart_by_the_moment_they_close(connection: Make) -> None:
    def started(prefix: str, at: int, until: int) -> list[Connection]:
        boot = connection(f"{prefix}1", at, until, apis={METADATA}, first_api=METADATA, **LIBRDKAFKA)
        return [boot, connection(f"{prefix}2", at + 5, until, apis={INIT_PRODUCER_ID, PRODUCE}, **LIBRDKAFKA)]

    found = names(started("a", 0, 700) + started("b", 300, 1_000))
    assert found == {frozenset({"a1", "a2"}), frozenset({"b1", "b2"})}


def test_a_refused_connection_goes_to_the_only_client_that_was_there(connection: Make) -> None:
    found = instances_of("10.0.0.9", [connection("a", 0, 9_000), refused(connection, "r", 500)])
    assert found["r"] is found["a"]


def test_a_refused_connection_that_two_could_have_tried_goes_to_nobody(connection: Make) -> None:
    both = [connection("a", 0, 9_000), connection("b", 0, 9_000, client_id="other")]
    assert "r" not in instances_of("10.0.0.9", [*both, refused(connection, "r", 500)])


def test_who_uses_a_connection_to_that_server_did_not_try_another(connection: Make) -> None:
    busy = connection("a", 0, 9_000, server="10.0.0.2:9092", last_request_ns=8_000 * MS)
    found = instances_of(
        "10.0.0.9", [busy, connection("b", 0, 9_000, client_id="other"), refused(connection, "r", 500)]
    )
    assert found["r"] is found["b"]


def test_a_request_that_finds_its_connection_reset_shows_no_use_of_it(connection: Make) -> None:
    """franz-go holds several connections to a broker; a firewall resets each at its next request."""
    ends = {"server": "10.0.0.2:9092", "close_kind": "rst_server"}
    dead = connection("a", 0, 525, last_request_ns=524 * MS, **ends)
    other = connection("b", 0, 9_000, client_id="other")
    assert "r" not in instances_of("10.0.0.9", [dead, other, refused(connection, "r", 500)])
    busy = connection("a", 0, 8_000, last_request_ns=6_000 * MS, **ends)
    found = instances_of("10.0.0.9", [busy, other, refused(connection, "r", 500)])
    assert found["r"] is found["b"]


def test_refused_connections_of_nobody_else_are_a_client(connection: Make) -> None:
    found = instances_of("10.0.0.9", [refused(connection, "r1", 0), refused(connection, "r2", 100)])
    assert found["r1"] is found["r2"]
    assert found["r1"].kind.kind == "unknown"


def test_ids_do_not_depend_on_the_order_of_rows(connection: Make) -> None:
    connections = [connection("a"), connection("b", client_id="other"), refused(connection, "r", 5)]
    forth = {c: i.instance_id for c, i in instances_of("10.0.0.9", connections).items()}
    back = {c: i.instance_id for c, i in instances_of("10.0.0.9", connections[::-1]).items()}
    assert forth == back


def test_of_two_clients_the_one_whose_metadata_named_the_server_tried_it(connection: Make) -> None:
    informed = connection("a", 0, 9_000, named_servers={"10.0.0.2:9092"})
    other = connection("b", 0, 9_000, client_id="other", named_servers={"10.0.0.1:9092"})
    found = instances_of("10.0.0.9", [informed, other, refused(connection, "r", 500)])
    assert found["r"] is found["a"]


def test_a_name_may_be_any_address_until_it_is_known_to_be_one(connection: Make) -> None:
    informed = connection("a", 0, 9_000, named_servers={"kafka-2:9092"})
    other = connection("b", 0, 9_000, client_id="other", named_servers={"kafka-1:9092"})
    assert "r" not in instances_of("10.0.0.9", [informed, other, refused(connection, "r", 500)])
    other.advertised = "kafka-1:9092"
    found = instances_of("10.0.0.9", [informed, other, refused(connection, "r", 500)])
    assert found["r"] is found["a"]


def test_who_is_about_to_begin_may_have_tried(connection: Make) -> None:
    there = connection("a", 0, 30_000, named_servers={"10.0.0.2:9092"})
    found = instances_of("10.0.0.9", [there, refused(connection, "r", 500)])
    assert found["r"] is found["a"]
    soon = connection("b", 4_000, 9_000, client_id="other", named_servers={"10.0.0.1:9092"})
    found = instances_of("10.0.0.9", [there, soon, refused(connection, "r", 500)])
    assert "r" not in found
    assert {i.group.n_ambiguous_attempts for i in found.values()} == {1}


def test_what_leads_up_to_a_first_connection_at_one_interval_is_of_its_client(connection: Make) -> None:
    server = {"server": "10.0.0.2:9092"}
    others = [connection(c, 0, 30_000, client_id=c, server="10.0.0.1:9092") for c in ("a", "b")]
    soon = connection("late", 15_000, 30_000, client_id="late", **server)
    in_step = [refused(connection, "r1", 5_000), refused(connection, "r2", 10_001)]
    chance = refused(connection, "r3", 8_300)
    found = instances_of("10.0.0.9", [*others, soon, *in_step, chance])
    assert found["r1"] is found["late"]
    assert found["r2"] is found["late"]
    assert "r3" not in found
    alone = instances_of("10.0.0.9", [*others, soon, in_step[1], chance])
    assert "r2" not in alone, "one interval is no rhythm"


def test_who_has_closed_everything_does_not_try_any_more(connection: Make) -> None:
    done = connection("a", 0, 1_000, apis={METADATA, PRODUCE})
    there = connection("b", 0, 9_000, client_id="other")
    found = instances_of("10.0.0.9", [done, there, refused(connection, "r", 2_000)])
    assert found["r"] is found["b"]


def test_one_producer_id_is_one_client(connection: Make) -> None:
    asked = {"apis": {INIT_PRODUCER_ID}, "first_api": METADATA, "last_request_ns": 8_000 * MS, **LIBRDKAFKA}
    first = connection("a1", 0, 9_000, producer_ids={7}, **asked)
    second = connection("b1", 5, 9_000, producer_ids={8}, **asked)
    of_first = connection("a2", 9, None, apis={PRODUCE}, producer_ids={7}, **LIBRDKAFKA)
    of_second = connection("b2", 8, None, apis={PRODUCE}, producer_ids={8}, **LIBRDKAFKA)
    found = names([first, second, of_first, of_second])
    assert found == {frozenset({"a1", "a2"}), frozenset({"b1", "b2"})}


def test_two_that_produce_to_one_broker_at_one_time_are_two_clients(connection: Make) -> None:
    def started(prefix: str, at: int) -> list[Connection]:
        boot = connection(f"{prefix}1", at, None, apis={METADATA}, first_api=METADATA, **LIBRDKAFKA)
        span = ((at + 9) * MS, 9_000 * MS)
        work = connection(f"{prefix}2", at + 5, None, apis={PRODUCE}, produce_span=span, **LIBRDKAFKA)
        return [boot, work]

    found = names(started("a", 0) + started("b", 300))
    assert found == {frozenset({"a1", "a2"}), frozenset({"b1", "b2"})}


def test_behind_an_address_of_several_brokers_that_proves_nothing(connection: Make) -> None:
    def work(conn_id: str, at: int) -> Connection:
        span = (at * MS, 9_000 * MS)
        return connection(conn_id, at, None, apis={PRODUCE}, produce_span=span, node_id=None, **LIBRDKAFKA)

    boot = connection("boot", 0, None, apis={METADATA}, first_api=METADATA, **LIBRDKAFKA)
    assert names([boot, work("a", 5), work("b", 8)]) == {frozenset({"boot", "a", "b"})}


def test_who_goes_on_counting_is_the_same_client(connection: Make) -> None:
    before = connection("a", 0, 1_000, apis={PRODUCE}, ids=[(1, 1)], last_id=57, **LIBRDKAFKA)
    after = connection("b", 60_000, 61_000, apis={PRODUCE}, ids=[(60_001 * MS, 58)], last_id=60, **LIBRDKAFKA)
    assert names([before, after]) == {frozenset({"a", "b"})}
    after.ids, after.last_id = [(60_001 * MS, 1)], 3
    assert names([before, after]) == {frozenset({"a"}), frozenset({"b"})}


def test_who_looks_for_the_cluster_every_second_is_one_client(connection: Make) -> None:
    """As recorded of a librdkafka producer that could not look up what brokers advertise: a connection in two seconds,
    closed before the next is opened."""
    times = [(1_780, 2_803), (3_782, 4_792), (5_785, 6_787), (7_788, 8_788), (8_790, 9_791), (10_792, 12_000)]
    looks = {"apis": {API_VERSIONS, METADATA}, "first_api": METADATA, **LIBRDKAFKA}
    tries = [connection(f"c{at}", at, until, ids=[((at + 1) * MS, 1)], last_id=2, **looks) for at, until in times]
    assert len(names(tries)) == 1


def test_counting_goes_on_from_the_clients_close_not_from_what_came_after_it(connection: Make) -> None:
    """A broker that was paused answers a socket that the client has closed long ago."""
    other = connection("c", 10, 61_000, members={"m-2"}, ids=[(11 * MS, 1)], last_id=20, **LIBRDKAFKA)
    before = connection("a", 0, 1_000, last_ns=90_000 * MS, members={"m-1"}, last_id=57, **LIBRDKAFKA)
    other.last_request_ns = before.last_request_ns = 900 * MS
    after = connection("b", 1_001, 61_000, ids=[(1_002 * MS, 58)], last_id=60, **LIBRDKAFKA)
    assert names([before, other, after]) == {frozenset({"a", "b"}), frozenset({"c"})}


def test_another_version_or_principal_is_another_client(connection: Make) -> None:
    old, new = connection("a"), connection("b", software_version="4.3.1")
    assert names([old, new]) == {frozenset({"a"}), frozenset({"b"})}
    alice, bob = connection("a", principal="User:alice"), connection("b", principal="User:bob")
    assert names([alice, bob, connection("c", software_name=None, software_version=None)]) == {
        frozenset({"a"}),
        frozenset({"b"}),
        frozenset({"c"}),
    }


def test_doubt_is_said(connection: Make) -> None:
    births = [connection(c, 0, None, apis={METADATA}, first_api=METADATA, **LIBRDKAFKA) for c in "ab"]
    for birth, owned in zip(births, (7, 8), strict=True):
        birth.apis, birth.producer_ids = {METADATA, INIT_PRODUCER_ID}, {owned}
    groups = group_connections([*births, connection("c", 5, None, apis={PRODUCE}, **LIBRDKAFKA)])
    assert [g.shared for g in groups] == [True, True]
    assert all("could be another's" in g.why for g in groups)


def test_a_member_that_never_fetches_and_who_fetches_without_being_one_are_one_client(connection: Make) -> None:
    """As recorded of a librdkafka consumer on a busy machine: 46 ms from the end of its coordinator's connection to
    that of the others."""
    boot = connection("boot", 0, 13, apis={METADATA, FIND_COORDINATOR}, first_api=METADATA, **LIBRDKAFKA)
    boot.sought = {("group", "g"): 2 * MS}
    coordinator = connection(
        "coordinator", 13, 9_000, apis={JOIN_GROUP, HEARTBEAT}, groups={"g": 14 * MS}, **LIBRDKAFKA
    )
    coordinator.members = {"m"}
    fetch = connection("fetch", 51, 9_046, apis={METADATA, FETCH, FIND_COORDINATOR}, first_api=METADATA, **LIBRDKAFKA)
    assert names([boot, coordinator, fetch]) == {frozenset({"boot", "coordinator"}), frozenset({"fetch"})}
    fetch.groups, fetch.sought = {"g": 60 * MS}, {("group", "g"): 55 * MS}
    assert names([boot, coordinator, fetch]) == {frozenset({"boot", "coordinator", "fetch"})}
    fetch.apis |= {JOIN_GROUP}
    assert len(names([boot, coordinator, fetch])) == 2, "each is a member of its own"


def test_a_bootstrap_connection_that_is_closed_when_the_next_ones_are_open_is_no_client_of_its_own(
    connection: Make,
) -> None:
    """As recorded of a librdkafka consumer: the next connection is opened 5 ms before the first one is closed, and
    another one looks up the coordinator once more."""
    boot = connection("boot", 0, 26, apis={METADATA, FIND_COORDINATOR}, first_api=METADATA, **LIBRDKAFKA)
    boot.sought = {("group", "g"): 20 * MS}
    member = connection("member", 21, 9_000, apis={METADATA, JOIN_GROUP, HEARTBEAT}, first_api=METADATA, **LIBRDKAFKA)
    member.groups = {"g": 60 * MS}
    reads = connection("reads", 47, 9_000, apis={METADATA, FETCH, FIND_COORDINATOR}, first_api=METADATA, **LIBRDKAFKA)
    reads.sought = {("group", "g"): 50 * MS}
    assert names([boot, member, reads]) == {frozenset({"boot", "member", "reads"})}
    member.groups = {"other": 60 * MS}
    assert frozenset({"boot"}) in names([boot, member, reads]), "it looked up the coordinator of another group"


def test_a_member_that_looked_for_its_coordinator_only_later_had_found_it_on_another_connection(
    connection: Make,
) -> None:
    """As recorded of a librdkafka 1.0 consumer whose brokers restarted one by one: its first connection finds the
    coordinator at 1.1 s, another one joins the group at 3.1 s and looks for the coordinator when that is gone, and the
    last ones are closed 83 ms apart."""
    boot = connection("boot", 0, 30_994, apis={METADATA, FIND_COORDINATOR, FETCH}, first_api=METADATA, **LIBRDKAFKA)
    boot.sought = {("group", "g"): 1_112 * MS}
    member = connection("member", 1_114, 30_911, apis={METADATA, JOIN_GROUP, FETCH}, first_api=METADATA, **LIBRDKAFKA)
    member.groups, member.sought = {"g": 3_112 * MS}, {("group", "g"): 20_300 * MS}
    assert names([boot, member]) == {frozenset({"boot", "member"})}
    member.sought = {("group", "g"): 1_500 * MS}
    assert len(names([boot, member])) == 2, "it found the coordinator by itself"
    boot.sought, member.sought = {("group", "g"): 4_000 * MS}, {}
    assert len(names([boot, member])) == 2, "the first one looked for the coordinator after the member had joined"


def aiokafka(make: Make, name: str, at: int, until: int) -> list[Connection]:
    """As recorded of an aiokafka 0.8 producer on a busy machine: the first connection asks for Metadata alone, and is
    closed 40 ms after the next one was opened, 30 ms before that one is closed."""
    software = {"software_name": None, "client_id": "aio"}
    return [
        make(f"{name}-boot", at, at + 50, apis={METADATA}, first_api=METADATA, **software),
        make(f"{name}-probe", at + 10, at + 80, apis={API_VERSIONS, METADATA}, first_api=METADATA, **software),
        make(
            f"{name}-work",
            at + 80,
            until,
            apis={API_VERSIONS, METADATA, PRODUCE},
            produce_span=((at + 100) * MS, (until - 10) * MS),
            **software,
        ),
    ]


def test_who_begins_while_a_connection_only_discovers_the_cluster_has_opened_both(connection: Make) -> None:
    boot, *others = one = aiokafka(connection, "a", 0, 36_000)
    assert names(one) == {frozenset({"a-boot", "a-probe", "a-work"})}
    boot.apis = {METADATA, PRODUCE}
    assert len(names([boot, *others])) == 2, "it did work of its own"
    boot.apis, others[0].apis = {METADATA}, {METADATA}
    assert len(names([boot, *others])) == 2, (
        "the next one requests no ApiVersions either: it may be another client's first"
    )


@pytest.mark.parametrize("later", [1, 5, 15, 30, 45, 60, 79, 85])
@pytest.mark.parametrize("until", [20_000, 35_999, 36_000, 36_400])
def test_two_clients_that_start_within_each_others_bootstrap_are_two(connection: Make, later: int, until: int) -> None:
    both = aiokafka(connection, "a", 0, 36_000) + aiokafka(connection, "b", later, until)
    work = [{c for c in one if c.endswith("-work")} for one in names(both)]
    assert sorted(map(len, work)) == [1, 1], names(both)


def test_a_client_may_take_its_time_to_close_one_connection_after_the_other(connection: Make) -> None:
    boot = connection("boot", 0, 9_030, apis={METADATA}, first_api=METADATA, **LIBRDKAFKA)
    work = connection("work", 10, 9_015, apis={PRODUCE}, **LIBRDKAFKA)
    anew = connection("anew", 5_000, 9_000, apis={METADATA, PRODUCE}, first_api=METADATA, **LIBRDKAFKA)
    assert names([boot, work, anew]) == {frozenset({"boot", "work", "anew"})}
    work.close_ns = 6_000 * MS
    assert names([boot, work, anew]) == {frozenset({"boot", "work"}), frozenset({"anew"})}


def test_who_looks_for_the_cluster_on_a_connection_of_its_own_does_not_begin_with_one_that_works(
    connection: Make,
) -> None:
    """As recorded of a sarama producer that a firewall had cut off: the connection with which it comes back asks for
    Metadata first and produces then, and is closed 24 ms before the first one."""
    boot = connection("boot", 0, 9_024, apis={METADATA}, first_api=METADATA, software_name="sarama")
    work = connection("work", 10, 4_000, apis={PRODUCE}, software_name="sarama")
    anew = connection("anew", 7_000, 9_000, apis={METADATA, PRODUCE}, first_api=METADATA, software_name="sarama")
    assert names([boot, work, anew]) == {frozenset({"boot", "work", "anew"})}
    seed = connection("seed", 6_990, 9_000, apis={METADATA}, first_api=METADATA, software_name="sarama")
    assert names([boot, work, seed, anew]) == {frozenset({"boot", "work"}), frozenset({"seed", "anew"})}


def test_who_lacks_one_of_the_connections_it_had_may_have_tried_though_it_uses_another(connection: Make) -> None:
    """franz-go has a connection to its coordinator and one to fetch; only the former was reset."""
    server = {"server": "10.0.0.2:9092", "last_request_ns": 8_000 * MS}
    fetch = connection("f", 0, 9_000, apis={FETCH}, **server)
    member = connection("m", 0, 400, apis={HEARTBEAT}, **server)
    other = connection("b", 0, 9_000, client_id="other")
    assert "r" not in instances_of("10.0.0.9", [fetch, member, other, refused(connection, "r", 500)])
    member.apis = {METADATA}
    found = instances_of("10.0.0.9", [fetch, member, other, refused(connection, "r", 500)])
    assert found["r"] is found["b"], "looking for the cluster needs no connection of its own"


def silent(make: Make, conn_id: str, at: int, ids: list[tuple[int, int]], rest_at: int, **changes: Any) -> Connection:
    """A producer's connection that is silent after its last request, until the kernel sends the rest at `rest_at`, and
    resets the connection at the response."""
    last_ns = ids[-2][0]
    silence = Silence(
        conn_id=conn_id,
        first_ns=last_ns,
        first_packet_no=1,
        answered_ns=last_ns + MS,
        last_ns=rest_at * MS,
        last_packet_no=9,
        ended_by="data",
        last_sent_ns=last_ns + 2 * MS,
        acknowledged=True,
        request_id=None,
        api_key=PRODUCE,
        generation_or_epoch=None,
        failed=False,
        next_request_id=None,
        n_sent_before=1,
        n_sent_after=1,
        n_made_meanwhile=None,
    )
    spans = {"produce_span": (ids[0][0], ids[-1][0]), "producer_ids": {7}, "close_kind": "rst_client"}
    return make(conn_id, at, rest_at + 13, apis={PRODUCE}, ids=ids, silences=[silence], **spans | changes)


@pytest.mark.parametrize("software", ["apache-kafka-java", "librdkafka"])
def test_what_a_kernel_sends_of_a_closed_connection_makes_no_second_client(connection: Make, software: str) -> None:
    """Recorded: a client host's link was down from 11 s to 26 s. Its client connected again; at 39 s its kernel sent
    what was left in the send buffer of the old connection, with ids that the client had used long before."""
    ids = [(6_000 * MS, 30), (11_000 * MS, 39), (39_600 * MS, 41)]
    old = silent(connection, "old", 5_900, ids, 39_600, software_name=software)
    new_ids = [(26_500 * MS + number * 400 * MS, 56 + number) for number in range(40)]
    span = (new_ids[0][0], new_ids[-1][0])
    new = connection(
        "new", 26_400, None, apis={PRODUCE}, ids=new_ids, produce_span=span, producer_ids={7}, software_name=software
    )
    assert names([old, new]) == {frozenset(["old", "new"])}
    assert instances_of("10.0.0.9", [old, new])["new"].late_copies == {"old": 39_600 * MS}


def test_the_last_request_of_an_idle_client_is_no_copy(connection: Make) -> None:
    ids = [(6_000 * MS, 30), (11_000 * MS, 39), (39_600 * MS, 41)]
    alone = silent(connection, "alone", 5_900, ids, 39_600)
    assert instances_of("10.0.0.9", [alone])["alone"].late_copies == {}
    goes_on = silent(connection, "goes on", 5_900, ids, 39_600, close_ns=60_000 * MS)
    assert goes_on.left_in_buffer is None
    assert silent(connection, "closed", 5_900, ids, 39_600, close_kind="fin_client").left_in_buffer is None


@pytest.mark.parametrize(
    ("since", "until", "next_at", "one"),
    [(115, 123, 223, True), (115, 123, 126, True), (60, 100, 223, True), (115, 180, 126, False)],
)
def test_bootstrap_servers_that_did_not_respond_at_once_are_given_up_together(
    connection: Make, since: int, until: int, next_at: int, one: bool
) -> None:
    """A recording of librdkafka on a loaded machine: the third bootstrap server answered Metadata. The client closes
    all three connections within some milliseconds, or before it opens the next one."""
    handshake = {"apis": {API_VERSIONS}, **LIBRDKAFKA}
    first = connection("first", 10, 130, server="10.0.0.1:9092", **handshake)
    second = connection("second", 62, 130, server="10.0.0.2:9092", node_id=2, **handshake)
    third = connection("third", since, until, server="10.0.0.3:9092", node_id=3, first_api=METADATA, **LIBRDKAFKA)
    third.apis = {API_VERSIONS, METADATA, FIND_COORDINATOR}
    works = {"apis": {API_VERSIONS, FETCH}, "fetch_span": (230 * MS, 50_000 * MS), **LIBRDKAFKA}
    fetches = connection("fetches", next_at, 53_602, server="10.0.0.3:9092", node_id=3, **works)
    found = names([first, second, third, fetches])
    assert (frozenset(["first", "second", "third", "fetches"]) in found) is one
