import json
import shutil
from collections.abc import Callable
from dataclasses import fields, replace
from pathlib import Path
from types import ModuleType

import pyarrow.parquet as pq
import pytest

from kafkascope_analyzer.dataset.dataset import Dataset
from kafkascope_analyzer.dataset.manifest import REPORT_FILE
from kafkascope_analyzer.report.model.clusters import write_report
from kafkascope_analyzer.report.model.report import Report, report_model
from kafkascope_analyzer.report.model.starts import both_ends, slowest
from kafkascope_analyzer.report.plain import plain, to_json
from kafkascope_parsers.errors import UsageError
from kafkascope_spark.stories.startups.table import StartupStepRow

Write = Callable[..., Path]
ReportOf = Callable[..., Report]


def test_what_is_in_the_capture(report_of: ReportOf, small: ModuleType) -> None:
    model = plain(report_of(), clip=True)
    assert model["capture"]["n_packets"] == 40
    assert model["capture"]["start_ns"] == small.T0
    assert model["capture"]["duration_us"] == 10_000_000
    assert model["capture"]["ledger"]["decoded_bytes"] == 2850
    assert model["connections"]["by_protocol"] == [{"protocol": "kafka", "n": 4}, {"protocol": "empty", "n": 1}]
    brokers = {b["node_id"]: b for b in model["cluster"]["brokers"]}
    assert brokers[1]["addresses"] == ["10.0.0.11:9092"]
    assert brokers[1]["advertised"] == ["kafka-1:9092"]
    assert (brokers[1]["n_connections"], brokers[1]["n_errors"]) == (2, 1)
    assert brokers[2]["n_connections"] == 2
    assert model["cluster"]["cluster_ids"] == ["TwwNmqfCTgWzF4iqAQIDBA"]


def test_what_the_requests_were(report_of: ReportOf) -> None:
    model = plain(report_of(), clip=True)
    produce, join, metadata = model["apis"]
    assert (produce["api_name"], produce["n"], produce["n_with_errors"]) == ("Produce", 5, 1)
    assert 2976 <= produce["p50_us"] <= 3000
    assert produce["max_us"] == 10_000
    assert join["statuses"] == {"unanswered": 1}
    assert join["p50_us"] is None
    assert metadata["versions"] == [13]
    assert model["errors"]["kinds"][0]["error_name"] == "NOT_LEADER_OR_FOLLOWER"


def test_what_could_not_be_read(report_of: ReportOf) -> None:
    found = plain(report_of(), clip=True)["unread"]
    assert [(row["reason"], row["bytes"]) for row in found["undecoded"]] == [
        ("mid_stream_start", 100),
        ("unknown_api", 50),
    ]
    assert found["n_without_start"] == 1
    assert found["n_one_direction"] == 0
    assert found["tcp_events"] == [{"event": "refused", "n": 1}]


def test_clients_are_listed_and_brokers_summed_up(report_of: ReportOf) -> None:
    found = plain(report_of(), clip=True)["clients"]
    assert [client["client_id"] for client in found["listed"]] == ["svc", "reader"]
    assert (found["brokers"]["n"], found["brokers"]["n_connections"]) == (1, 1)
    producer, reader = found["listed"]
    roles = {role["role"]: role for conn in producer["connections"] for role in conn["roles"]}
    assert roles["partition_leader"]["n_subjects"] == 6
    assert roles["partition_leader"]["verdicts"] == {"confirmed": 6}
    assert [conn["server"] for conn in reader["connections"]] == ["10.0.0.12:9092", "10.0.0.12:9092"]
    assert reader["starts"][0]["failed_step"] == "join_group"


def test_a_start_says_what_was_slow(report_of: ReportOf) -> None:
    start = plain(report_of(), clip=True)["clients"]["listed"][0]["starts"][0]
    assert [step["step"] for step in start["steps"]] == ["tcp_connect", "metadata", "first_produce", "init_producer_id"]
    assert [(part["who"], part["step"], part["us"]) for part in start["slowest"]] == [
        ("client", "first_produce", 300_000),
        ("network", "first_produce", 54_000),
        ("broker", "first_produce", 36_000),
    ]


def test_slowest_leaves_out_what_is_not_on_the_critical_path() -> None:
    nothing = dict.fromkeys(field.name for field in fields(StartupStepRow))
    step = StartupStepRow(
        **nothing | {"step": "metadata", "node_id": 1, "wait_us": 0, "broker_us": 9, "duration_us": 9}
    )
    assert slowest([replace(step, on_critical_path=False)]) == ()
    assert [part.us for part in slowest([replace(step, on_critical_path=True)])] == [9]


def test_of_many_steps_both_ends_are_kept() -> None:
    steps = range(1, 101)
    assert both_ends(steps[:80]) == tuple(steps[:80])
    assert both_ends(steps) == (*range(1, 61), *range(81, 101))


def test_episodes_of_one_cause_are_one_recovery_told_by_the_slowest(report_of: ReportOf) -> None:
    causes = plain(report_of(), clip=True)["clients"]["listed"][0]["recoveries"]
    assert len(causes) == 1
    assert (causes[0]["n_episodes"], causes[0]["n_resources"], causes[0]["n_errors"]) == (4, 4, 4)
    assert (causes[0]["resource"], causes[0]["time_to_recover_ms"]) == ("clicks-3", 103)
    assert [step["step"] for step in causes[0]["steps"]] == ["error", "backoff", "metadata", "retry", "success"]


def test_without_stories_it_says_so(report_of: ReportOf) -> None:
    model = plain(report_of(stories=False), clip=True)
    assert model["stories"]["present"] is False
    assert "kafkascope stories" in model["stories"]["why_not"]
    assert model["clients"]["listed"] == []


@pytest.mark.slow
def test_the_same_rows_in_other_files_give_the_same_bytes(dataset: Write, small: ModuleType) -> None:
    place = dataset()
    before = to_json(report_model(Dataset.open(place)))
    for file in sorted(place.rglob("*.parquet")):
        rows = pq.read_table(file)
        bucket = file.parent / "bucket=1"
        bucket.mkdir()
        half = rows.num_rows // 2
        pq.write_table(rows.slice(0, half), file)
        pq.write_table(rows.slice(half), bucket / "part-0.parquet")
    small.relist(place)
    assert to_json(report_model(Dataset.open(place))) == before
    assert str(place) not in before


def test_stories_without_a_single_row_are_stories(dataset: Write, small: ModuleType) -> None:
    place = dataset()
    for name in ("clients", "startups", "startup_steps", "recoveries", "recovery_steps"):
        small.write_table(place, small.TABLES[name], [])
    model = plain(report_model(Dataset.open(place)), clip=True)
    assert (model["stories"]["present"], model["clients"]["n"]) == (True, 0)


def test_clients_without_starts_and_recoveries_are_listed(dataset: Write, small: ModuleType) -> None:
    place = dataset()
    for name in ("startups", "startup_steps", "recoveries", "recovery_steps"):
        small.write_table(place, small.TABLES[name], [])
    listed = plain(report_model(Dataset.open(place)), clip=True)["clients"]["listed"]
    assert [(client["client_id"], client["starts"], client["recoveries"]) for client in listed] == [
        ("svc", [], []),
        ("reader", [], []),
    ]


def test_written_report_is_the_model(dataset: Write) -> None:
    place = dataset()
    model = report_model(Dataset.open(place))
    write_report(Dataset.open(place), model)
    assert json.loads((place / REPORT_FILE).read_text()) == plain(model, clip=True)
    assert not list(place.glob(".*"))


def test_a_table_that_the_dataset_lacks_has_no_rows(dataset: Write, small: ModuleType) -> None:
    place = dataset()
    shutil.rmtree(place / "errors")
    shutil.rmtree(place / "roles")
    small.relist(place)
    assert plain(report_model(Dataset.open(place)), clip=True)["errors"]["n"] == 0


@pytest.mark.parametrize("manifest", [None, "not json", "[]", "{}"])
def test_what_is_no_dataset_is_refused(tmp_path: Path, manifest: str | None) -> None:
    if manifest is not None:
        (tmp_path / "_dataset.json").write_text(manifest)
    with pytest.raises(UsageError, match=str(tmp_path)):
        plain(report_model(Dataset.open(tmp_path)), clip=True)


def test_a_broken_parquet_file_is_named(dataset: Write) -> None:
    place = dataset()
    (place / "requests" / "part-0.parquet").write_bytes(b"PAR1 no")
    with pytest.raises(UsageError, match="requests"):
        plain(report_model(Dataset.open(place)), clip=True)
