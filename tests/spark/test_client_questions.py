"""Questions about clients that need the stories, on captures of which the answer is known otherwise: what clients were
started with, as fixtures say."""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from scripts.stories_in_process import write_stories_in_process

from kafkascope_analyzer.dataset.dataset import Dataset
from kafkascope_analyzer.sql.database import Database
from kafkascope_analyzer.sql.saved import question

FIXTURES = Path(__file__).parents[2] / "fixtures"
OLD = {"svc-b-1", "indexer-3", "order-api-4", "indexer-8"}
"""Clients of old_versions that are told an old broker version, as fixtures/findings/README.md says."""


@pytest.fixture(scope="module")
def with_stories(ingested: Callable[..., Path], tmp_path_factory: pytest.TempPathFactory) -> Callable[[Path], Path]:
    def made(capture: Path) -> Path:
        place = tmp_path_factory.mktemp("stories") / "x.kscope"
        shutil.copytree(ingested(capture), place)
        write_stories_in_process(place)
        return place

    return made


def asked(dataset: Path, statement: str) -> list[dict[str, Any]]:
    with Database(Dataset.open(dataset)) as database:
        names, rows = database.query(statement)
        return [dict(zip(names, row, strict=True)) for row in rows]


def test_linger_and_acks_of_a_producer_that_was_started_with_them(with_stories: Callable[[Path], Path]) -> None:
    """librdkafka with linger.ms=1500; its other settings are its defaults."""
    dataset = with_stories(FIXTURES / "service" / "lingering_producer.pcap.zst")
    rows = {row["setting"]: row for row in asked(dataset, "from client_settings")}
    word, number = rows["linger.ms"]["setting_value"].split()
    assert word == "about"
    assert int(number) == pytest.approx(1500, rel=0.05)
    assert (rows["linger.ms"]["default_value"], rows["linger.ms"]["shown_by"].split(":")[0]) == ("5", "inferred")
    assert (rows["acks"]["setting_value"], rows["acks"]["default_value"]) == ("all", "all")
    assert (rows["compression.type"]["setting_value"], rows["request.timeout.ms"]["setting_value"]) == ("none", "30000")


def test_racks_sessions_and_fetches_of_consumers(with_stories: Callable[[Path], Path]) -> None:
    """Consumers that were given racks, and nothing else: all other settings are the defaults of their libraries."""
    dataset = with_stories(FIXTURES / "captures" / "pieces" / "follower_fetch_start.pcap.zst")
    rows = {(row["client_id"], row["setting"]): row for row in asked(dataset, "from client_settings")}
    racks = {client: row["setting_value"] for (client, setting), row in rows.items() if setting == "client.rack"}
    assert racks == {"indexer-6": "no-such-rack", "svc-a-3": "rack-a", "svc-b-4": "rack-c"}
    java, librdkafka = "indexer-6", "svc-a-3"
    for client, setting in (
        (java, "session.timeout.ms"),
        (java, "max.poll.interval.ms"),
        (java, "fetch.max.wait.ms"),
        (java, "fetch.min.bytes"),
        (librdkafka, "session.timeout.ms"),
        (librdkafka, "fetch.wait.max.ms"),
    ):
        assert rows[client, setting]["setting_value"] == rows[client, setting]["default_value"]
    assert rows[java, "isolation.level"]["setting_value"] == "read_uncommitted"
    assert rows[java, "fetch.max.wait.ms"]["peers_value"] == "500"  # of svc-b-4, which is Java too
    assert rows[librdkafka, "fetch.wait.max.ms"]["peers_value"] is None


def test_who_speaks_what_4_0_removed(with_stories: Callable[[Path], Path]) -> None:
    dataset = with_stories(FIXTURES / "findings" / "old_versions.pcap.zst")
    rows = [row for row in asked(dataset, question("upgrade-readiness").text) if row["release"] == "4.0"]
    assert {row["client_id"] for row in rows} == OLD
    assert {(row["how"], row["kip"]) for row in rows} == {("removed", "KIP-896")}
    assert all(row["request_id"] for row in rows)
    assert all("newer" in row["change_to"] for row in rows)


def test_the_classic_protocol_of_a_java_consumer_is_deprecated_in_5_0(with_stories: Callable[[Path], Path]) -> None:
    """KIP-1274 is about the Java consumer; librdkafka's svc-a-3 is in a classic group too."""
    dataset = with_stories(FIXTURES / "captures" / "pieces" / "follower_fetch_start.pcap.zst")
    rows = asked(dataset, question("upgrade-readiness").text)
    assert [(row["release"], row["client_id"], row["kip"]) for row in rows] == [("5.0", "indexer-6", "KIP-1274")]
