"""What is kept of a generation while it is followed."""

from typing import Any

from kafkascope_analyzer.dataset.row_types import empty_row
from kafkascope_analyzer.dataset.tables.event_kinds.groups import GroupRequest, MemberActivity
from kafkascope_parsers.group_protocols.classic import CLASSIC
from kafkascope_spark.stories.groups.generation import MOST_EVIDENCE, Generation, Member


def request(**more: Any) -> GroupRequest:
    made = GroupRequest.of({"request_id": "r", "status": "ok"} | more)
    made.conn_id, made.ts_ns, made.client_instance_id = "c1", 5, "ci-1"
    return made


def test_members_are_those_that_the_coordinator_lists() -> None:
    """Before its response to the leader they are those seen; afterwards one that joined too late is none, and one
    without traffic in the capture is."""
    now = Generation("g", CLASSIC, 0)
    now.member("a")
    now.member("late")
    assert list(now.present) == ["a", "late"]
    now.listed = {"a": None, "unseen": "host-1"}
    assert now.present["a"] is now.member("a")
    assert (list(now.present), now.present["unseen"].group_instance_id) == (["a", "unseen"], "host-1")


def test_the_first_coordinator_counts() -> None:
    now = Generation("g", CLASSIC, 0)
    now.served_by(None)
    now.served_by(2)
    now.served_by(3)
    assert now.node_id == 2


def test_evidence_is_bounded_and_refused_commits_are_all_counted() -> None:
    now = Generation("g", CLASSIC, 0)
    for number in range(MOST_EVIDENCE + 5):
        one = request(request_id=f"r-{number}")
        now.prove(one.request_id, number)
        now.prove("r-0", 999)
        now.refuse(one)
        now.fence(one)
    assert len(now.evidence) == len(now.refused) == len(now.fenced) == MOST_EVIDENCE
    assert (now.n_refused, now.evidence["r-0"], now.refused[0]) == (MOST_EVIDENCE + 5, 0, "r-0")


def test_a_member_keeps_what_later_requests_do_not_say() -> None:
    member = Member("m-1")
    assert member.name == "m-1"
    member.observe(request(client_id="app", group_instance_id="host-1", close_ns=9, close_kind="fin_client"))
    activity = empty_row(MemberActivity)
    activity.member_id, activity.client_id, activity.group_instance_id = "m-1", None, None
    activity.conn_id, activity.ts_ns, activity.last_ns = "c2", 1, 4
    member.observe(activity)
    assert (member.name, member.group_instance_id, member.client_instance_id) == ("app", "host-1", "ci-1")
    assert (member.conn_id, member.close_kind) == ("c2", "fin_client")
    assert member.last_seen_ns == 5, "heartbeats that were rolled up may have begun earlier"


def test_the_next_round_begins_without_times() -> None:
    member = Member("m-1", join_sent_ns=1, joined_ns=2, entered_ns=1, sync_sent_ns=3, synced_ns=4, last_seen_ns=3)
    member.begin_round()
    times = (member.join_sent_ns, member.joined_ns, member.entered_ns, member.sync_sent_ns, member.synced_ns)
    assert times == (None,) * 5
    assert member.last_seen_ns == 3
