"""Between which packets faults began and ended that errors show, from rows by hand and from a recording."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from kafkascope_parsers.api_keys import PRODUCE
from kafkascope_spark.stories.incidents.brokers.log_directories import log_directory_failures
from kafkascope_spark.stories.incidents.errors.other_failures import of_errors
from kafkascope_spark.stories.incidents.extent.brackets import fault_of
from kafkascope_spark.stories.incidents.extent.error_brackets import give_error_brackets
from kafkascope_spark.stories.incidents.failures.fault import Fault
from kafkascope_spark.stories.incidents.packets.successes import Before, Wanted
from kafkascope_spark.stories.recoveries.client_recovery import ClientRecovery

from .conftest import NS, MakeRow

PIECES = Path(__file__).parents[4] / "fixtures" / "captures" / "pieces"


def refused(recovery: MakeRow, error: str, host: int, start: float, last: float, end: float | None) -> ClientRecovery:
    row: ClientRecovery = recovery(error, host, 1, start, end, first_api_key=PRODUCE, client_id=f"client-{host}")
    row.last_error_ns = int(last * NS)
    return row


def asked(questions: Sequence[Before]) -> list[int | None]:
    """The last success was a second before the first error."""
    return [question.at_ns - NS for question in questions]


def test_a_fault_that_errors_show_is_between_what_the_same_clients_were_served(recovery: MakeRow) -> None:
    rows = [refused(recovery, "MESSAGE_TOO_LARGE", host, *at) for host, at in ((21, (5, 17, 18)), (22, (6, 16, 16.5)))]
    (failure,) = of_errors(rows)
    questions: list[Before] = []

    def ask(given: Sequence[Before]) -> list[int | None]:
        questions.extend(given)
        return asked(given)

    give_error_brackets([failure], ask)
    assert fault_of(failure) == Fault(4 * NS, 5 * NS, 17 * NS, 18 * NS)
    wanted = {Wanted(f"10.0.0.{host}", f"client-{host}", PRODUCE, "orders-0") for host in (21, 22)}
    assert questions == [Before(5 * NS, frozenset(wanted))]


def test_whoever_is_served_elsewhere_shows_no_end_of_a_failed_log_directory(recovery: MakeRow) -> None:
    (failure,) = log_directory_failures([refused(recovery, "KAFKA_STORAGE_ERROR", 21, 5, 6, 9)])
    give_error_brackets([failure], asked)
    assert fault_of(failure) == Fault(4 * NS, 5 * NS, 6 * NS, None)


def test_what_moved_has_other_times(recovery: MakeRow) -> None:
    failures = of_errors([refused(recovery, "NOT_LEADER_OR_FOLLOWER", 21, 5, 6, 9)])
    give_error_brackets(failures, asked)
    assert [failure.fault for failure in failures] == [None]


@pytest.mark.spark
def test_a_recorded_setting_of_a_topic_is_changed_and_mended_within_its_brackets(
    dataset_of: Callable[..., Path],
) -> None:
    events = json.loads((PIECES / "max_bytes_lowered.truth.json").read_text())["events"]
    broken, mended = (event["ts_ns"] for event in events)
    (row,) = pq.read_table(dataset_of("max_bytes_lowered") / "stories" / "incidents").to_pylist()
    assert (row["kind"], row["subject"]) == ("records_refused", events[0]["detail"]["topic"])
    assert row["fault_start_after_ns"] < broken < row["fault_start_ns"]
    assert row["fault_end_after_ns"] < mended < row["fault_end_ns"]
