"""The libraries that are known, as one list of their objects."""

from kafkascope_spark.stories.libraries.aiokafka import AIOKAFKA
from kafkascope_spark.stories.libraries.franz_go import FRANZ_GO
from kafkascope_spark.stories.libraries.java import JAVA
from kafkascope_spark.stories.libraries.kafka_go import KAFKA_GO
from kafkascope_spark.stories.libraries.kafka_python import KAFKA_PYTHON
from kafkascope_spark.stories.libraries.kafkajs import KAFKAJS
from kafkascope_spark.stories.libraries.librdkafka import LIBRDKAFKA
from kafkascope_spark.stories.libraries.registry import LIBRARIES, UNKNOWN, library, library_of_software
from kafkascope_spark.stories.libraries.sarama import SARAMA
from kafkascope_spark.stories.startups.table import STARTUP_STEPS


def test_each_is_in_the_list_under_its_name() -> None:
    known = (JAVA, LIBRDKAFKA, FRANZ_GO, SARAMA, KAFKAJS, KAFKA_PYTHON, AIOKAFKA, KAFKA_GO)
    assert known == LIBRARIES
    assert [library(each.name) for each in known] == list(known)
    assert library("other") is UNKNOWN


def test_no_software_name_begins_as_that_of_another_library() -> None:
    for each in LIBRARIES:
        assert all(library_of_software(f"{name}/1.0") is each for name in each.software_names)
    assert library_of_software(None) is UNKNOWN


def test_who_counts_over_connections_has_no_first_id_and_steps_exist() -> None:
    for each in LIBRARIES:
        assert {profile.first_id is None for profile in each.profiles} == {each.counts_over_connections}
        assert each.optional_steps | each.repeated_steps <= set(STARTUP_STEPS)
