from kafkascope_parsers.error_facts import ERROR_CODES, FATAL, NORMAL_ERRORS
from kafkascope_parsers.schema import api_keys, api_name
from kafkascope_parsers.schema.errors import error_codes, error_name
from kafkascope_spark.stories.libraries.registry import LIBRARIES
from kafkascope_spark.stories.recoveries.reactions import ANY, reaction_to
from kafkascope_spark.stories.recoveries.reactions_any import WITHOUT_CODE
from kafkascope_spark.stories.recoveries.reactions_broker import BROKER
from kafkascope_spark.stories.tables import RECOVERY_STEPS

BY_LIBRARY = {library.name: library.reactions for library in LIBRARIES} | {"broker": BROKER}
KAFKAS = {error_name(code) for code in error_codes()}


def test_every_code_of_kafka_is_named_and_nothing_else_but_ours() -> None:
    assert len(KAFKAS) == 138
    assert set(ANY) - set(WITHOUT_CODE) == KAFKAS
    assert not set(WITHOUT_CODE) & KAFKAS
    assert set(ANY) == {fact.name for fact in ERROR_CODES}


def test_tables_of_the_libraries_name_apis_and_errors_that_exist() -> None:
    apis = {api_name(key) for key in api_keys()}
    for library, table in BY_LIBRARY.items():
        for api, errors in table.items():
            assert api.partition("/")[0] in apis, (library, api)
            assert set(errors) <= KAFKAS, (library, api)


def test_reactions_are_steps_that_recovery_steps_knows_and_what_ends_leads_nowhere() -> None:
    tables = [ANY, *(errors for table in BY_LIBRARY.values() for errors in table.values())]
    for table in tables:
        for name, reaction in table.items():
            assert reaction.first | reaction.forbidden <= set(RECOVERY_STEPS), name
            assert reaction.text, name
            assert not (reaction.fatal and reaction.first), name
            assert not (reaction.first & reaction.forbidden), name
            assert reaction.fatal or not reaction.is_denied, name


def test_the_reaction_to_a_fatal_error_is_an_end() -> None:
    assert [name for name in FATAL if not ANY[name].fatal] == []


def test_the_protocols_course_is_no_episode() -> None:
    assert {"MEMBER_ID_REQUIRED", "REBALANCE_IN_PROGRESS", "FETCH_SESSION_ID_NOT_FOUND"} <= NORMAL_ERRORS


def test_an_unknown_error_is_surfaced() -> None:
    assert reaction_to("UNKNOWN_4711").fatal


def test_libraries_differ_where_their_code_does() -> None:
    """protocol: Sender bumps the epoch by itself; librdkafka takes its first batch in line for lost."""
    produce, fetch, sync = 0, 1, 14
    assert not reaction_to("OUT_OF_ORDER_SEQUENCE_NUMBER", produce, "java").first
    assert reaction_to("OUT_OF_ORDER_SEQUENCE_NUMBER", produce, "java", transactional=True).first
    assert reaction_to("UNKNOWN_LEADER_EPOCH", fetch, "librdkafka").first == {"metadata", "hint"}
    assert not reaction_to("UNKNOWN_LEADER_EPOCH", fetch, "java").first
    assert reaction_to("COORDINATOR_LOAD_IN_PROGRESS", sync, "java").first == {"join_group"}
    assert reaction_to("NOT_LEADER_OR_FOLLOWER", fetch, "broker") == BROKER["Fetch"]["NOT_LEADER_OR_FOLLOWER"]
    assert not BROKER["Fetch"]["NOT_LEADER_OR_FOLLOWER"].first
    assert reaction_to("NOT_LEADER_OR_FOLLOWER", fetch, "sarama") == ANY["NOT_LEADER_OR_FOLLOWER"]
