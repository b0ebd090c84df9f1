"""The known client libraries."""

from kafkascope_spark.stories.libraries.aiokafka import AIOKAFKA
from kafkascope_spark.stories.libraries.franz_go import FRANZ_GO
from kafkascope_spark.stories.libraries.java import JAVA
from kafkascope_spark.stories.libraries.kafka_go import KAFKA_GO
from kafkascope_spark.stories.libraries.kafka_python import KAFKA_PYTHON
from kafkascope_spark.stories.libraries.kafkajs import KAFKAJS
from kafkascope_spark.stories.libraries.library import Library
from kafkascope_spark.stories.libraries.librdkafka import LIBRDKAFKA
from kafkascope_spark.stories.libraries.sarama import SARAMA

LIBRARIES = (JAVA, LIBRDKAFKA, FRANZ_GO, SARAMA, KAFKAJS, KAFKA_PYTHON, AIOKAFKA, KAFKA_GO)
"""All known libraries, in the order in which texts list them."""
UNKNOWN = Library(name="unknown", optional_steps=frozenset({"api_versions"}))
"""Any other library."""


def library(name: str) -> Library:
    """Returns the library of that name; UNKNOWN if there is none."""
    return next((each for each in LIBRARIES if each.name == name), UNKNOWN)


def library_of_software(software_name: str | None) -> Library:
    """Returns the library that sends this software name in ApiVersions."""
    name = software_name or ""
    return next((each for each in LIBRARIES if name.startswith(each.software_names)), UNKNOWN)
