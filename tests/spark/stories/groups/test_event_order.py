"""Requests and responses of a group in order of time. Oracle: all of them sorted at once."""

from hypothesis import given
from hypothesis import strategies as st

from kafkascope_analyzer.dataset.tables.event_kinds.groups import GroupRequest, MemberActivity
from kafkascope_spark.stories.groups.event_order import EventOrder, Phase

SENT = st.tuples(st.integers(0, 20), st.none() | st.integers(0, 10), st.booleans())
"""When something was sent, after how long the response came, and whether it is an activity."""

IN_ORDER = (Phase.RESPONSE, Phase.REQUEST, Phase.ACTIVITY)


def subject(sent: int, latency: int | None, *, is_activity: bool) -> GroupRequest | MemberActivity:
    made: GroupRequest | MemberActivity
    if is_activity:
        made = MemberActivity.of({"n": 1})
    else:
        made = GroupRequest.of({"status": "unanswered" if latency is None else "ok"})
        made.response_ns = None if latency is None else sent + latency
    made.ts_ns = sent
    return made


@given(st.lists(SENT, max_size=30))
def test_events_come_in_order_of_time_and_responses_before_requests(sent: list[tuple[int, int | None, bool]]) -> None:
    subjects = [subject(at, latency, is_activity=which) for at, latency, which in sorted(sent, key=lambda s: s[0])]
    order = EventOrder()
    found = [event for each in subjects for event in order.add(each)] + list(order.rest())
    expected = []
    for each in subjects:
        if isinstance(each, MemberActivity):
            expected.append((each.ts_ns, Phase.ACTIVITY, id(each)))
        else:
            expected.append((each.ts_ns, Phase.REQUEST, id(each)))
            if each.response_ns is not None:
                expected.append((each.response_ns, Phase.RESPONSE, id(each)))
    assert sorted((e.ts_ns, e.phase, id(e.subject)) for e in found) == sorted(expected)
    placed = [(e.ts_ns, IN_ORDER.index(e.phase)) for e in found]
    assert placed == sorted(placed)
