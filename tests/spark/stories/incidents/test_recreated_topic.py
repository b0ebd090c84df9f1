"""A topic that was deleted and created again while a client used it."""

import pyarrow.parquet as pq
import pytest
from tests.spark.stories.incidents.advised import advised

pytestmark = pytest.mark.spark


def test_a_topic_with_another_id_was_recreated_and_is_not_missing(dataset_of):
    (incident,) = pq.read_table(dataset_of("recreated_topic") / "stories" / "incidents").to_pylist()
    assert (incident["kind"], incident["subject"], incident["severity"]) == ("recreated_topic", "orders", "error")
    sentence = incident["sentence"]
    assert "was deleted and created again" in sentence
    assert "AAAAAAAAAAAAAAAAAAAREQ" in sentence
    assert "AAAAAAAAAAAAAAAAAAAiIg (reported at 00:03.803)" in sentence
    assert "kgo got INCONSISTENT_TOPIC_ID" in sentence
    assert "requests with the old ID failed for 29.8 s at the longest. kgo was not served again." in sentence
    assert advised(incident).startswith("Restart kgo, or let the client refresh its metadata")
    assert "--create" not in advised(incident)
