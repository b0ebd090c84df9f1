from kafkascope_parsers import api_keys
from kafkascope_spark.stories.clients.identity.kinds import Kind
from kafkascope_spark.stories.libraries.registry import LIBRARIES
from kafkascope_spark.stories.startups.comparison import compare
from kafkascope_spark.stories.startups.expected import (
    AFTER,
    KEPT,
    SEQUENCES,
    sequence_name,
    sequence_of,
)
from kafkascope_spark.stories.startups.steps import Step
from kafkascope_spark.stories.tables import CLIENT_KINDS, CLIENTS, STARTUP_STEPS


def steps(*names: str) -> list[Step]:
    """Steps one after the other."""
    return [Step(n, n, "c1", 1, 10 * i, 10 * i + 5, None, n, "ok", None, (f"r{i}",)) for i, n in enumerate(names)]


def test_sequences_are_made_of_known_steps_and_each_step_is_in_one() -> None:
    words = {w.removesuffix("?") for line in SEQUENCES.values() for w in line.split()}
    assert words == set(STARTUP_STEPS)
    assert set(AFTER) | {n for needed in AFTER.values() for n in needed} | KEPT <= words
    assert all(library.optional_steps | library.repeated_steps <= words for library in LIBRARIES)


def test_every_kind_of_client_has_a_sequence() -> None:
    for kind in CLIENT_KINDS:
        for protocol in CLIENTS.column("group_protocol").values:
            for transactions in CLIENTS.column("transactions").values:
                assert sequence_name(Kind(kind, protocol, transactions), set()) in SEQUENCES


def test_each_kind_of_producer_has_its_sequence() -> None:
    producer = Kind("producer", "none", "none")
    assert sequence_name(producer, {api_keys.PRODUCE}) == "plain_producer"
    assert sequence_name(producer, {api_keys.PRODUCE}, acks=False) == "producer_without_acks"
    assert sequence_name(producer, {api_keys.PRODUCE, api_keys.INIT_PRODUCER_ID}) == "idempotent_producer"
    v1, v2 = (Kind("transactional_producer", "none", v) for v in ("v1", "v2"))
    assert "add_partitions_to_txn" in sequence_of(sequence_name(v1, set()), "java").required
    assert "add_partitions_to_txn" not in sequence_of(sequence_name(v2, set()), "java").usual


CLASSIC = (
    "tcp_connect",
    "api_versions",
    "metadata",
    "find_coordinator_group",
    "join_group",
    "sync_group",
    "offset_fetch",
    "first_records",
)


def test_what_is_missing_extra_and_out_of_order_is_named() -> None:
    java = sequence_of("classic_consumer", "java")
    whole = compare(steps(*CLASSIC), java, whole=True)
    assert (whole.missing, whole.extra, whole.repeated, whole.out_of_order) == ([], [], [], [])
    taken = [s for s in CLASSIC if s != "offset_fetch"]
    assert compare(steps(*taken), java, whole=True).missing == ["offset_fetch"]
    assert compare(steps(*taken), java, whole=False).missing == []
    assert compare(steps(*CLASSIC, "init_producer_id"), java, whole=True).extra == ["init_producer_id"]
    swapped = compare(steps(*CLASSIC[:4], "sync_group", "join_group", *CLASSIC[6:]), java, whole=True)
    assert swapped.out_of_order == ["sync_group"]


def test_metadata_and_coordinator_may_come_in_either_order() -> None:
    java = sequence_of("classic_consumer", "java")
    other = [*CLASSIC[:2], "find_coordinator_group", "metadata", *CLASSIC[4:]]
    assert compare(steps(*other), java, whole=True).out_of_order == []


def test_libraries_differ() -> None:
    assert "api_versions" in sequence_of("plain_producer", "java").required
    unknown = sequence_of("plain_producer", "unknown")
    assert "api_versions" not in unknown.required
    assert "api_versions" in unknown.usual
    twice = steps(*CLASSIC[:4], "find_coordinator_group", *CLASSIC[4:])
    for step in twice:
        step.subject = "g"
    assert compare(twice, sequence_of("classic_consumer", "librdkafka"), whole=True).repeated == []
    assert compare(twice, sequence_of("classic_consumer", "java"), whole=True).repeated == ["find_coordinator_group"]


def test_who_comes_back_keeps_what_it_knows() -> None:
    again = sequence_of("idempotent_producer", "java", is_first=False)
    assert again.required == ("tcp_connect", "first_produce", "first_produce_ack")
    assert compare(steps("tcp_connect", "first_produce", "first_produce_ack"), again, whole=True).missing == []
