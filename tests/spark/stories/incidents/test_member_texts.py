"""Sentences and advice about members of groups, from failures written by hand. Times are seconds."""

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import pytest

from kafkascope_parsers.api_keys import HEARTBEAT, OFFSET_COMMIT
from kafkascope_spark.stories.groups.table import DepartedMember, GroupMember, RebalanceRow
from kafkascope_spark.stories.incidents.actions import Action
from kafkascope_spark.stories.incidents.failures.failure import Failure, Kind
from kafkascope_spark.stories.incidents.failures.failure_facts import SilentLeader
from kafkascope_spark.stories.incidents.failures.observed import Observed
from kafkascope_spark.stories.incidents.failures.times import Times
from kafkascope_spark.stories.incidents.kinds.broker_silent import BROKER_SILENT
from kafkascope_spark.stories.incidents.kinds.client_host import CLIENT_HOST
from kafkascope_spark.stories.incidents.kinds.member import MEMBER
from kafkascope_spark.stories.incidents.packets.unanswered_requests import UnansweredRequest
from kafkascope_spark.stories.incidents.packets.unused_member_ids import JoinRequest
from kafkascope_spark.stories.incidents.texts.given_up_join_texts import did_not_wait_for_others, wait_longer
from kafkascope_spark.stories.incidents.texts.old_member_texts import join_anew, lost_places
from kafkascope_spark.stories.incidents.texts.removed_member_texts import (
    removed,
    waited_for,
    waited_for_dead,
    why_members_went,
)
from kafkascope_spark.stories.incidents.texts.session_timeouts import (
    BROKER_SESSIONS,
    rounded_up,
    session_of_broker,
    session_of_client,
)
from kafkascope_spark.stories.incidents.texts.silent_leader_texts import waits_for_leader, wake_leader
from kafkascope_spark.stories.incidents.texts.unused_id_texts import use_ids, waits_for_id

from .conftest import NS, MakeRow, row_of

TIMES = Times(0)


def told(actions: Iterable[Action]) -> str:
    return " ".join(action.text for action in actions)


def failure_of(*rebalances: RebalanceRow) -> Failure:
    return Failure(MEMBER, "group orders-app", 5 * NS, 20 * NS, rebalances=[*rebalances])


def observed(failure: Failure, *clients: Any) -> Observed:
    for each in clients:
        failure.client_instance_ids.add(each.client_instance_id)
    return Observed(failure, {each.client_instance_id: each for each in clients}, ["10.0.0.1:9092"])


def gone(silent_ms: int, session_ms: int = 10_000) -> DepartedMember:
    return row_of(
        DepartedMember,
        member_id="app-1",
        client_id="app",
        client_instance_id="ci-21",
        how="evicted",
        silent_ms=silent_ms,
        session_timeout_ms=session_ms,
    )


def lost(rebalance: MakeRow, member: DepartedMember, took_ms: int) -> RebalanceRow:
    made: RebalanceRow = replace(rebalance(5, 20), departed=(member,), duration_ms=took_ms)
    return made


@pytest.mark.parametrize(
    ("silent_ms", "took_ms", "why"),
    [
        (12_000, 15_000, "app stopped without leaving the group"),
        (3_000, 15_000, "app did not join again in time"),  # it sent heartbeats within its session
        (3_000, 400, "the coordinator removed app once before the session timeout (10000 ms) was over"),
        (12_000, 400, "app stopped without leaving the group"),
    ],
)
def test_why_a_group_removed_a_member(rebalance: MakeRow, silent_ms: int, took_ms: int, why: str) -> None:
    """A coordinator waits for the rebalance timeout, or removes a member whose session timed out."""
    failure = failure_of(lost(rebalance, gone(silent_ms), took_ms))
    assert why in removed(failure, [gone(silent_ms)], TIMES)


def test_a_member_that_did_not_reach_its_coordinator(rebalance: MakeRow) -> None:
    failure = failure_of(lost(rebalance, gone(12_000), 15_000))
    failure.root = Failure(BROKER_SILENT, "node 2 (10.0.0.2:9092)", 5 * NS, 20 * NS)
    assert "app did not reach the coordinator, node 2 (10.0.0.2:9092)" in removed(failure, [gone(12_000)], TIMES)


@pytest.mark.parametrize("back", [False, True])
def test_a_dead_member_stays_for_its_session(client: MakeRow, stall: MakeRow, back: bool) -> None:
    failure = failure_of()
    failure.members.dead = [client(21, died_ns=7 * NS, session_timeout_ms=45_000)]
    failure.stalls = [stall("membership", 21 if back else 22, 1, 8, 20)]
    sentence = waited_for_dead(failure, TIMES)
    assert "the process of client-21 (10.0.0.21) ended at 00:07.000 without leaving" in sentence
    assert "until the session timeout (45000 ms) is over" in sentence
    assert ("the restarted process, which is a new member, waits until then" in sentence) is back
    assert "group.instance.id" in told(why_members_went(failure, observed(failure, client(21))))


@pytest.mark.parametrize(
    ("joins_s", "took_ms", "expected"),
    [
        ((5, 6, 14), 10_000, ("w-2", 8 * NS)),
        ((5, 6, 6.5), 10_000, None),
        ((5, 6, 14), 20_000, None),  # that was not most of the rebalance
        ((5,), 10_000, None),
    ],
)
def test_the_member_for_which_the_others_waited(
    rebalance: MakeRow, joins_s: tuple[float, ...], took_ms: int, expected: tuple[str, int] | None
) -> None:
    members = [row_of(GroupMember, client_id=f"w-{n}", joined_ns=int(at * NS)) for n, at in enumerate(joins_s)]
    failure = failure_of(replace(rebalance(5, 20), members=tuple(members), duration_ms=took_ms))
    assert waited_for(failure) == expected
    advice = told(why_members_went(failure, observed(failure)))
    assert ("Look at what the application of w-2 did for 8.00 s without a poll" in advice) == (expected is not None)


def test_a_session_that_the_broker_sets_is_not_advised_to_clients(rebalance: MakeRow, client: MakeRow) -> None:
    """KIP-848: group.consumer.session.timeout.ms, and for one group consumer.session.timeout.ms."""
    failure = failure_of(lost(rebalance, gone(12_400), 15_000))
    advice = told(why_members_went(failure, observed(failure, client(21, group_protocol="consumer"))))
    assert "group.consumer.session.timeout.ms" in advice
    assert "--entity-name orders-app --add-config consumer.session.timeout.ms=13000" in advice
    classic = told(why_members_went(failure, observed(failure, client(21))))
    assert "A session.timeout.ms, now 10000 ms, of 13000 ms keeps members in the group" in classic
    assert {"consumer", "share", "streams"} == BROKER_SESSIONS


@pytest.mark.parametrize(
    ("silent_ms", "ran_on", "aim"), [(12_400, True, "13000"), (12_400, False, "7000"), (0, True, "MS")]
)
def test_a_session_timeout_is_raised_only_for_members_that_ran_on(silent_ms: int, ran_on: bool, aim: str) -> None:
    """A member that died is to be replaced sooner."""
    failure = failure_of()
    lines = " ".join(session_of_broker(["g"], observed(failure), silent_ms, protocol="share", ran_on=ran_on))
    assert lines.startswith("A higher" if aim == "13000" else "A lower")
    assert f"share.session.timeout.ms={aim}" in lines
    own = session_of_client(observed(failure), silent_ms, ran_on=ran_on)
    assert ("keeps members" in own) == (aim == "13000")
    assert [rounded_up(ms) for ms in (1, 1_000, 1_001)] == [1_000, 1_000, 2_000]


STALE, FENCED = "STALE_MEMBER_EPOCH", "FENCED_MEMBER_EPOCH"


@pytest.mark.parametrize(
    ("error", "api", "outcome", "said", "advised"),
    [
        (
            STALE,
            OFFSET_COMMIT,
            "still_open",
            "kept committing offsets of group orders-app with an old member",
            "a commit must",
        ),
        (
            STALE,
            HEARTBEAT,
            "recovered",
            "sent requests to group orders-app with an old member epoch",
            "it remained a member",
        ),
        (
            FENCED,
            HEARTBEAT,
            "still_open",
            "the coordinator refused its member epoch each time",
            "joins again with epoch 0",
        ),
        ("ILLEGAL_GENERATION", HEARTBEAT, "wrong_reaction", "continued without joining again", "has to join again"),
        ("UNKNOWN_MEMBER_ID", HEARTBEAT, "recovered", "was no longer a member of group orders-app", ""),
    ],
)
def test_a_member_that_the_group_no_longer_takes(
    recovery: MakeRow, error: str, api: int, outcome: str, said: str, advised: str
) -> None:
    """What has to follow these errors: KIP-848 for epochs, JoinGroup for generations."""
    failure = failure_of()
    row = recovery(error, 21, 1, 5, None, client_id="app", first_api_key=api, outcome=outcome, n_errors=9)
    row.last_error_ns = 15 * NS
    failure.take_error(row)
    assert said in lost_places(failure, TIMES)
    advice = told(join_anew(failure))
    assert advised in advice
    assert bool(advice) == bool(advised)


def test_a_leader_that_came_late_or_not_at_all() -> None:
    never = SilentLeader("app", "10.0.0.21", 7, 6 * NS, 2)
    late = replace(never, sent_ns=18 * NS, n_times=3, session_timeout_ms=10_000)
    in_session = replace(late, session_timeout_ms=45_000, n_times=1)
    assert "has sent no SyncGroup since its JoinGroup was answered at 00:06.000, and 2 other members" in (
        waits_for_leader(failure_of(), never, TIMES)
    )
    sentence = waits_for_leader(failure_of(), late, TIMES)
    assert "sent SyncGroup 12.0 s after its JoinGroup was answered" in sentence
    assert "longer than the session timeout of 10000 ms" in sentence
    assert sentence.endswith("SyncGroup came late like that 3 times")
    assert "session timeout" not in waits_for_leader(failure_of(), in_session, TIMES)
    assert "Restart app (10.0.0.21)" in told(wake_leader(never))
    assert "raise session.timeout.ms of all members above that time (now 10000)" in told(wake_leader(late))
    assert "raise" not in told(wake_leader(in_session))


def test_a_member_id_that_nobody_used(rebalance: MakeRow) -> None:
    member = replace(row_of(GroupMember), session_timeout_ms=45_000)
    failure = failure_of(replace(rebalance(5, 20), members=(member,)))
    asked = {"group_id": "orders-app", "client_id": "app", "client_ip": "10.0.0.23", "request_packet_no": 7}
    ids = [row_of(JoinRequest, member_id=f"app-{n}", ts_ns=6 * NS, **asked) for n in range(3)]
    failure.members.unused_ids = ids
    sentence = waits_for_id(failure, TIMES)
    assert "the member id app-0, which it had given to app (10.0.0.23) at 00:06.000 (packet 7)" in sentence
    assert "(likewise 2 more ids)" in sentence
    assert sentence.endswith("until the session timeout (45000 ms) is over")
    failure.members.unused_ids = ids[:1]
    assert "likewise" not in waits_for_id(failure, TIMES)
    assert "Update the library of app (10.0.0.23)" in told(use_ids(failure))


def test_members_that_gave_up_waiting(client: MakeRow) -> None:
    """They waited for 10, 12 and 30 s: 12 s in the middle."""
    failure = failure_of()
    asked = {"client_id": "app", "client_ip": "10.0.0.23", "ts_ns": 6 * NS}
    rows = [replace(row_of(UnansweredRequest, **asked), until_ns=(6 + s) * NS) for s in (30, 10, 12)]
    failure.members.given_up_joins = rows
    sentence = did_not_wait_for_others(failure, TIMES)
    assert "app (10.0.0.23) stopped waiting for the response to JoinGroup 3 times from 00:06.000 on" in sentence
    assert "each time after 12.0 s (median)" in sentence
    advice = told(wait_longer(failure, observed(failure, client(21, rebalance_timeout_ms=60_000))))
    assert "longer than the rebalance timeout (60000 ms here)" in advice
    assert "ms here" not in told(wait_longer(failure, observed(failure_of())))


@pytest.mark.parametrize(
    ("root", "end_state", "said"),
    [
        (BROKER_SILENT, "open", "app did not reach node 2: see the incident that caused this one."),
        (CLIENT_HOST, "open", "app was on node 2: see the incident that caused this one."),
        (None, "open", "Find out why app was silent: a pause of its process, its host or its network."),
        (None, "died", "Let consumers leave (close()) when they stop."),
    ],
)
def test_a_member_that_is_alive_was_silent_for_a_reason(
    rebalance: MakeRow, client: MakeRow, root: Kind | None, end_state: str, said: str
) -> None:
    failure = failure_of(lost(rebalance, gone(12_400), 15_000))
    if root is not None:
        failure.root = Failure(root, "node 2", 5 * NS, 20 * NS)
    first, second, *_ = why_members_went(failure, observed(failure, client(21, end_state=end_state)))
    assert first.text == said
    assert second.text == "Members were silent for up to 12400 ms."


def test_the_time_for_polls_is_that_of_the_members(rebalance: MakeRow, client: MakeRow) -> None:
    """max.poll.interval.ms is the rebalance timeout of JoinGroup (KIP-62)."""
    failure = failure_of(lost(rebalance, gone(3_000), 15_000))
    advice = told(why_members_went(failure, observed(failure, client(21, rebalance_timeout_ms=300_000))))
    assert "max.poll.interval.ms (now 300000)" in advice
    assert "(now" not in told(why_members_went(failure, observed(failure, client(21))))
