import itertools

from hypothesis import given
from hypothesis import strategies as st

from kafkascope_spark.startups.path import Step, on_critical_path, repeated_steps, step_rows


def step(name: str, start: int, end: int, outcome: str = "ok", error: str | None = None) -> Step:
    return Step(name, f"{start}", "c1", 1, start, end, None, "s", outcome, error, [f"r{start}-{name}"])


spans = st.tuples(st.integers(0, 50_000_000), st.integers(0, 20_000_000))


@given(st.lists(spans, max_size=40), spans)
def test_chain_covers_start_to_ready_without_hole_or_overlap(
    others: list[tuple[int, int]], last: tuple[int, int]
) -> None:
    start_ns = 1_000_000_007
    ready = step("first_records", start_ns + last[0], start_ns + sum(last))
    steps = [step("metadata", start_ns + at, start_ns + at + took) for at, took in others]
    steps = sorted([*steps, ready], key=lambda s: (s.start_ns, s.tie))
    path = on_critical_path(steps, start_ns, ready.request_ids[0])
    rows = step_rows("s-1", start_ns, steps, path, ["direct"] * len(steps))
    chain = [r for r in rows if r["on_critical_path"]]
    assert sum(r["duration_us"] + r["wait_us"] for r in chain) == (ready.end_ns - start_ns) // 1000
    assert all(r["wait_us"] >= 0 and r["duration_us"] >= 0 for r in rows)
    assert chain[-1]["step"] == "first_records"
    for before, after in itertools.pairwise(chain):
        assert before["end_ns"] <= after["start_ns"]


def test_waiting_is_time_with_nothing_in_flight() -> None:
    steps = [step("metadata", 0, 10_000), step("join_group", 5_000, 30_000), step("sync_group", 50_000, 60_000)]
    rows = step_rows("s-1", 0, steps, {}, ["group"] * 3)
    assert [r["wait_us"] for r in rows] == [0, 0, 20]


def test_repetition_counts_after_failures_and_not_after_being_told_a_member_id() -> None:
    told = step("join_group", 0, 1, "error", "MEMBER_ID_REQUIRED")
    assert repeated_steps([told, step("join_group", 2, 3)]) == []
    assert repeated_steps([step("join_group", 0, 1), step("join_group", 2, 3)]) == ["join_group"]
    assert repeated_steps([step("tcp_connect", 0, 1), step("tcp_connect", 2, 3)]) == []
    assert repeated_steps([step("tcp_connect", 0, 1, "error"), step("tcp_connect", 2, 3)]) == ["tcp_connect"]
