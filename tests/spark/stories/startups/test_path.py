import itertools

from hypothesis import example, given
from hypothesis import strategies as st

from kafkascope_spark.stories.startups.path import (
    number_attempts,
    on_critical_path,
    repeated_steps,
    step_rows,
    total_us,
)
from kafkascope_spark.stories.startups.steps import Step


def step(name: str, start: int, end: int, outcome: str = "ok", error: str | None = None, conn_id: str = "c1") -> Step:
    made = Step(name, f"{start}", conn_id, 1, start, end, None, "s", outcome, error, (f"r{start}-{name}",))
    made.server = "10.0.0.1:9092"
    return made


spans = st.tuples(st.integers(0, 50_000_000), st.integers(0, 20_000_000))
kinds = st.tuples(
    st.sampled_from(["tcp_connect", "api_versions", "metadata", "join_group", "first_fetch"]),
    st.sampled_from(["ok", "error", "unanswered"]),
    st.sampled_from(["c1", "c2", "c3"]),
)


@given(st.lists(st.tuples(spans, kinds), max_size=40), spans)
@example([((0, 0), ("metadata", "ok", "c1")), ((0, 0), ("metadata", "ok", "c1"))], (0, 0))
@example([((0, 1), ("metadata", "ok", "c1")), ((0, 0), ("metadata", "ok", "c1"))], (1, 0))
def test_chain_covers_start_to_ready_without_hole_or_overlap(
    others: list[tuple[tuple[int, int], tuple[str, str, str]]], last: tuple[int, int]
) -> None:
    start_ns = 1_000_000_007
    ready = step("first_records", start_ns + last[0], start_ns + sum(last))
    steps = [
        step(name, start_ns + at, start_ns + at + took, outcome, None, conn_id)
        for (at, took), (name, outcome, conn_id) in others
    ]
    steps = sorted([*steps, ready], key=lambda s: (s.start_ns, s.end_ns, s.order_key))
    path = on_critical_path(steps, start_ns, ready.request_ids[0])
    rows = step_rows("s-1", start_ns, steps, path, ["direct"] * len(steps))
    chain = [r for r in rows if r.on_critical_path]
    total = total_us(start_ns, ready.end_ns)
    assert sum(r.duration_us + r.wait_us for r in chain) == total == (ready.end_ns - start_ns) // 1000
    assert all(r.network_us + (r.broker_us or 0) == r.duration_us for r in rows)
    assert all(r.wait_us >= 0 and r.duration_us >= 0 for r in rows)
    assert chain[-1].step == "first_records"
    for before, after in itertools.pairwise(chain):
        assert before.end_ns <= after.start_ns


def test_waiting_is_time_with_nothing_in_flight() -> None:
    steps = [step("metadata", 0, 10_000), step("join_group", 5_000, 30_000), step("sync_group", 50_000, 60_000)]
    rows = step_rows("s-1", 0, steps, {}, ["group"] * 3)
    assert [r.wait_us for r in rows] == [0, 0, 20]


def test_a_connection_opens_after_what_went_before_on_it() -> None:
    """Of two connections opened side by side, each step belongs to its own: who ended last does not matter."""
    steps = [
        step("metadata", 0, 10_000),
        step("tcp_connect", 12_000, 13_000, conn_id="c2"),
        step("tcp_connect", 12_500, 19_000, conn_id="c3"),
        step("api_versions", 20_000, 30_000, conn_id="c2"),
        step("first_records", 40_000, 50_000, conn_id="c2"),
    ]
    path = on_critical_path(steps, 0, "r40000-first_records")
    assert path == {4: 30_000, 3: 13_000, 1: 10_000, 0: 0}


def test_a_step_after_a_refused_connection_waited_for_it() -> None:
    steps = [
        step("tcp_connect", 0, 1_000, "error", "CONNECTION_REFUSED", conn_id="c2"),
        step("tcp_connect", 101_000, 102_000),
        step("first_records", 110_000, 120_000),
    ]
    number_attempts(steps)
    rows = step_rows("s-1", 0, steps, on_critical_path(steps, 0, "r110000-first_records"), ["direct"] * 3)
    assert [(r.step, r.wait_us, r.wait_why, r.attempt) for r in rows] == [
        ("tcp_connect", 0, None, 1),
        ("tcp_connect", 100, "backoff", 2),
        ("first_records", 8, "client", 1),
    ]


def test_repetition_counts_after_failures_and_not_after_a_response_with_a_member_id() -> None:
    informed = step("join_group", 0, 1, "error", "MEMBER_ID_REQUIRED")
    assert repeated_steps([informed, step("join_group", 2, 3)]) == []
    assert repeated_steps([step("join_group", 0, 1), step("join_group", 2, 3)]) == ["join_group"]
    assert repeated_steps([step("join_group", 0, 1), step("join_group", 2, 3)], frozenset({"join_group"})) == []
    assert repeated_steps([step("tcp_connect", 0, 1), step("tcp_connect", 2, 3)]) == []
    assert repeated_steps([step("tcp_connect", 0, 1, "error"), step("tcp_connect", 2, 3)]) == ["tcp_connect"]


def test_attempts_count_failures_and_second_joins() -> None:
    steps = [
        step("join_group", 0, 1, "error", "MEMBER_ID_REQUIRED"),
        step("join_group", 2, 3),
        step("metadata", 4, 5, "error", "LEADER_NOT_AVAILABLE"),
        step("metadata", 6, 7, "error", "LEADER_NOT_AVAILABLE"),
        step("metadata", 8, 9),
        step("metadata", 10, 11),
    ]
    number_attempts(steps)
    assert [s.attempt for s in steps] == [1, 2, 1, 2, 3, 1]
    assert [s.after_failure for s in steps] == [False, False, False, True, True, False]
