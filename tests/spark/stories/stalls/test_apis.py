"""The requests that stalls wait for, against the reference of Kafka's requests in the project's schemas."""

from typing import get_args

from kafkascope_parsers.schema import api_name
from kafkascope_spark.stories.stalls.apis import ANSWERED_AT_ONCE, ANSWERED_BY_ONE_BROKER
from kafkascope_spark.stories.stalls.table import StallKind


def test_each_kind_but_membership_waits_for_requests_of_its_own() -> None:
    assert set(ANSWERED_BY_ONE_BROKER) == set(get_args(StallKind)) - {"membership"}
    of_kinds = [key for keys in ANSWERED_BY_ONE_BROKER.values() for key in keys]
    assert len(of_kinds) == len(set(of_kinds))


def test_no_request_that_a_broker_holds_back_is_answered_at_once() -> None:
    names = {api_name(key) for keys in ANSWERED_AT_ONCE.values() for key in keys}
    assert names >= {"Produce", "OffsetCommit", "EndTxn", "Metadata"}
    assert names.isdisjoint({"Fetch", "ShareFetch", "JoinGroup", "SyncGroup"})
