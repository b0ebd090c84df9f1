"""Topics that are missing in one cluster and known in another, from failures made by hand."""

import pytest
from tests.spark.stories.incidents.conftest import NS, MakeRow

from kafkascope_spark.stories.incidents.errors.topics_elsewhere import mark_elsewhere
from kafkascope_spark.stories.incidents.failures.failure import Failure
from kafkascope_spark.stories.incidents.failures.observed import Observed
from kafkascope_spark.stories.incidents.kinds.missing_topic import MISSING_TOPIC
from kafkascope_spark.stories.incidents.packets.other_clusters import clusters_of_topics
from kafkascope_spark.stories.incidents.rows.incident_rows import actions_of


@pytest.mark.parametrize(
    ("known", "owner"), [({"orders": ("B",)}, "clients"), ({"other": ("B",)}, "brokers"), ({}, "brokers")]
)
def test_only_a_topic_that_no_other_cluster_has_is_to_be_created(
    recovery: MakeRow, known: dict[str, tuple[str, ...]], owner: str
) -> None:
    failure = Failure(MISSING_TOPIC, "orders", 5 * NS, None)
    failure.take_error(recovery("UNKNOWN_TOPIC_OR_PARTITION", 21, 1, 5, None))
    mark_elsewhere([failure], lambda topics: {topic: known[topic] for topic in topics if topic in known})
    (action,) = actions_of(failure, Observed(failure, {}, ()))
    assert action.owner == owner
    assert ("--create" in action.text) == (owner == "brokers")


def test_without_a_dataset_no_other_cluster_is_known() -> None:
    assert clusters_of_topics(None, {"orders"}) == {}
