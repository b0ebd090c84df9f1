"""What sources of events say of requests, so that appends need not show them those of earlier captures again."""

import numpy as np
import pyarrow as pa
import pytest

from kafkascope_analyzer.resolve.bucket_events import SOURCES
from kafkascope_analyzer.resolve.event_source import EventSource
from kafkascope_analyzer.resolve.requests.failure_times import KnownFailures, failure_times, with_codes

EVERY = [source for source in SOURCES if isinstance(source, type) and issubclass(source, EventSource)]


def takes(source: type[EventSource], method: str) -> bool:
    return getattr(source, method) is not getattr(EventSource, method)


def test_every_source_is_a_class() -> None:
    assert len(EVERY) == len(SOURCES)


@pytest.mark.parametrize("source", [source for source in EVERY if takes(source, "take_requests")])
def test_who_takes_requests_keeps_some_or_saves_what_it_found(source: type[EventSource]) -> None:
    assert takes(source, "keeps") or takes(source, "added_up")


@pytest.mark.parametrize("source", [source for source in EVERY if takes(source, "add_up") or takes(source, "added_up")])
def test_who_adds_up_saves_it_and_goes_on_from_there(source: type[EventSource]) -> None:
    assert takes(source, "added_up")
    assert takes(source, "resume")


def failures(*rows: tuple[str, str | None, int]) -> pa.Table:
    """The times of failures: client, group, time."""
    columns = zip(*rows, strict=True)
    return with_codes(pa.table(list(map(pa.array, columns)), ["client_ip", "group_id", "ts_ns"]))


def test_a_failure_that_is_found_out_later_is_new_and_one_that_follows_is_not() -> None:
    first = failure_times([failures(("10.0.0.1", None, 5), ("10.0.0.2", "g", 7), ("10.0.0.2", "g", 99))])
    known = KnownFailures()
    known.note(np.array([3, 50]))
    state = known.state(first)
    later = KnownFailures()
    later.resume(state)
    assert later.newly_failed(first) == []
    assert later.newly_failed(failure_times([failures(("10.0.0.1", None, 5))])) == []
    grown = [("10.0.0.1", None, 5), ("10.0.0.1", "g", 6), ("10.0.0.3", None, 51), ("10.0.0.4", "g", 50)]
    assert later.newly_failed(failure_times([failures(*grown)])) == ["10.0.0.1", "10.0.0.4"]


def test_a_failure_that_earlier_runs_missed_stays_new() -> None:
    known = KnownFailures()
    known.note(np.array([50]))
    missed = failure_times([failures(("10.0.0.1", None, 5), ("10.0.0.2", None, 60))])
    second = KnownFailures()
    second.resume(known.state(failure_times([failures(("10.0.0.9", None, 1))])))
    second.note(np.array([70]))
    third = KnownFailures()
    third.resume(second.state(missed))
    assert third.newly_failed(missed) == ["10.0.0.1"]
