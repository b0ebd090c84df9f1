"""Expected intervals, against each other."""

import itertools

from kafkascope_spark.stories.cadences import expectations as expect


def test_a_limit_of_idle_time_can_be_told_from_the_others() -> None:
    """KafkaProducer, KafkaConsumer: connections.max.idle.ms is below the broker's, so that clients close first."""
    limits = [*expect.MIDDLEBOX_IDLE_MS, expect.CLIENT_IDLE_MS, expect.BROKER_IDLE_MS]
    assert limits[0] > expect.MIN_IDLE_MS
    for limit, longer in itertools.pairwise(limits):
        assert limit + expect.IDLE_TOLERANCE_MS < longer - expect.IDLE_UNDERSHOOT_MS
