"""A library is one object: what is added to the list is recognised, starts, reacts and is advised in its own words."""

from collections.abc import Callable, Iterator

import pytest

from kafkascope_analyzer.dataset.tables.event_kinds.connections import LoopStatistics
from kafkascope_parsers import api_keys
from kafkascope_spark.stories.cadences.verdicts import ClientSettings, verdict_of
from kafkascope_spark.stories.clients.identity.library import library_of, software_name_of
from kafkascope_spark.stories.libraries import registry
from kafkascope_spark.stories.libraries.library import NEVER, Library, Profile, Setting, Upgrade
from kafkascope_spark.stories.libraries.registry import LIBRARIES
from kafkascope_spark.stories.model import Connection
from kafkascope_spark.stories.recoveries.reaction import end
from kafkascope_spark.stories.recoveries.reactions import reaction_to
from kafkascope_spark.stories.settings import setting
from kafkascope_spark.stories.startups.expected import sequence_of

TINY = Library(
    name="tiny",
    title="TinyKafka",
    software_names=("tiny-kafka",),
    profiles=(Profile(greets=NEVER, first_id=7, releases=(), versions={api_keys.PRODUCE: (9,), api_keys.FETCH: (9,)}),),
    settings={"bootstrap": Setting("seeds", "none")},
    optional_steps=frozenset({"metadata"}),
    repeated_steps=frozenset({"find_coordinator_group"}),
    commit_ms=250,
    metadata_ms=1_000,
    reactions={"Fetch": {"OFFSET_OUT_OF_RANGE": end("none: it stops")}},
    upgrade=Upgrade("TinyKafka", (3, 1)),
)


@pytest.fixture(autouse=True)
def listed(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(registry, "LIBRARIES", (*LIBRARIES, TINY))
    sequence_of.cache_clear()
    yield
    sequence_of.cache_clear()


def test_it_is_recognised_by_its_name_and_by_its_behaviour(connection: Callable[..., Connection]) -> None:
    assert library_of([connection("a", software_name="tiny-kafka/3")]) == "tiny"
    versions = {api_keys.PRODUCE: 9, api_keys.FETCH: 9}
    ids = [(n, 7 + n) for n in range(4)]
    assert library_of([connection("a", software_name=None, versions=versions, ids=ids)]) == "tiny"
    assert software_name_of("tiny") == "tiny-kafka"


def test_it_has_its_settings_steps_cadences_and_reactions() -> None:
    assert (
        setting("bootstrap", ["tiny", "kafkajs"], defaults=True) == "brokers (kafkajs), seeds (TinyKafka, default none)"
    )
    assert setting("linger", ["tiny"]) is None
    sequence = sequence_of("idempotent_producer", "tiny")
    assert "metadata" in sequence.usual
    assert "metadata" not in sequence.required
    assert sequence.taken_again == {"find_coordinator_group"}
    for cadence, expected_ms in (("commit", 250), ("metadata_refresh", 1_000)):
        measured = LoopStatistics(cadence, 20, expected_ms, expected_ms, expected_ms, conn_id="c1")
        verdict = verdict_of(measured, ClientSettings("tiny", lived_ms=60_000))
        assert (verdict.expected_ms, verdict.verdict) == (expected_ms, "as_expected")
    assert reaction_to("OFFSET_OUT_OF_RANGE", api_keys.FETCH, "tiny").text == "none: it stops"
    assert reaction_to("OFFSET_OUT_OF_RANGE", api_keys.FETCH, "kafkajs").text != "none: it stops"


def test_its_software_leads_to_its_upgrade() -> None:
    assert registry.library_of_software("tiny-kafka-go").upgrade == TINY.upgrade
    assert registry.library_of_software("other").upgrade is None
