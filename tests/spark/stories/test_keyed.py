"""The runner of machines: what each key's machine is given, in which order, and what a defect costs."""

from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafkascope_analyzer.dataset.failed_parts import FailedParts
from kafkascope_spark.stories.keyed import Keyed, Origin


def event(ts_ns: int, what: str = "") -> tuple[Origin, str]:
    return Origin(1, ts_ns, 0, 0, "", 0, None, None), what


FAILS = "fails"


class Times:
    """Gives a text for each odd time, and one with all times at the end."""

    def __init__(self, key: str) -> None:
        self._key = key
        self._times: list[int] = []

    def take(self, event: str, origin: Origin) -> list[str] | None:
        if event == FAILS:
            raise ValueError("a defect")
        self._times.append(origin.ts_ns)
        return [f"{self._key}:{origin.ts_ns}"] if origin.ts_ns % 2 else None

    def finish(self) -> Iterator[str]:
        yield f"{self._key} {self._times}"


def runner(failed: FailedParts | None = None) -> Keyed[str, str]:
    return Keyed("group", Times, FailedParts() if failed is None else failed)


@given(st.dictionaries(st.text("abc", max_size=2), st.lists(st.integers(0, 9), min_size=1).map(sorted)), st.data())
def test_each_key_has_a_machine_of_its_own_however_rows_are_cut(
    times: dict[str, list[int]], data: st.DataObject
) -> None:
    keyed, given_out = runner(), []
    for key in sorted(times):
        at = data.draw(st.integers(0, len(times[key])))
        for part in (times[key][:at], times[key][at:]):
            given_out += keyed.feed(key, [event(ts_ns) for ts_ns in part])
    given_out += keyed.finish()
    expected = []
    for key in sorted(times):
        expected += [f"{key}:{ts_ns}" for ts_ns in times[key] if ts_ns % 2] + [f"{key} {times[key]}"]
    assert given_out == expected


def test_a_defect_costs_one_key() -> None:
    failed = FailedParts()
    keyed = runner(failed)
    out = list(keyed.feed("a", [event(1), event(2, FAILS), event(3)]))
    out += keyed.feed("a", [event(5)])
    out += keyed.feed("b", [event(7)])
    out += keyed.finish()
    assert out == ["a:1", "b:7", "b [7]"]
    assert [(part.kind, part.names) for part in failed.taken()] == [("group", ("a",))]


def test_keys_out_of_order_are_refused() -> None:
    keyed = runner()
    list(keyed.feed("b", [event(1)]))
    with pytest.raises(ValueError, match="keys out of order"):
        list(keyed.feed("a", [event(2)]))


def test_rows_out_of_order_fail_their_key() -> None:
    failed = FailedParts()
    keyed = runner(failed)
    assert list(keyed.feed("a", [event(3), event(2)])) == ["a:3"]
    assert [part.names for part in failed.taken()] == [("a",)]
