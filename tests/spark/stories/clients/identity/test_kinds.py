from collections.abc import Callable

import pytest

from kafkascope_parsers import api_keys
from kafkascope_spark.stories.clients.identity.kinds import Kind, kind_of
from kafkascope_spark.stories.model import Connection

BOOT = {api_keys.API_VERSIONS, api_keys.METADATA}


@pytest.mark.parametrize(
    ("changes", "kind"),
    [
        ({"apis": BOOT | {api_keys.PRODUCE}}, Kind("producer", "none", "none")),
        ({"apis": BOOT | {api_keys.INIT_PRODUCER_ID}}, Kind("producer", "none", "none")),
        ({"apis": BOOT | {api_keys.FETCH, api_keys.LIST_OFFSETS}}, Kind("consumer", "none", "none")),
        ({"apis": BOOT | {api_keys.JOIN_GROUP, api_keys.FETCH}}, Kind("consumer", "classic", "none")),
        ({"apis": BOOT | {api_keys.CONSUMER_GROUP_HEARTBEAT, api_keys.FETCH}}, Kind("consumer", "consumer", "none")),
        (
            {"apis": BOOT | {api_keys.SHARE_GROUP_HEARTBEAT, api_keys.SHARE_FETCH}},
            Kind("share_consumer", "share", "none"),
        ),
        ({"apis": BOOT | {api_keys.STREAMS_GROUP_HEARTBEAT, api_keys.FETCH}}, Kind("streams", "streams", "none")),
        (
            {"apis": BOOT | {api_keys.INIT_PRODUCER_ID, api_keys.PRODUCE}, "transactional_ids": {"t"}},
            Kind("transactional_producer", "none", "v1"),
        ),
        (
            {"apis": BOOT | {api_keys.PRODUCE, api_keys.END_TXN}, "transactional_ids": {"t"}, "txn_v2": True},
            Kind("transactional_producer", "none", "v2"),
        ),
        ({"apis": BOOT | {19, 32}}, Kind("admin", "none", "none")),
        ({"apis": BOOT}, Kind("unknown", "none", "none")),
        ({"apis": BOOT | {api_keys.FIND_COORDINATOR}, "sought": {("group", "g"): 0}}, Kind("consumer", "none", "none")),
        ({"apis": {api_keys.FETCH}, "is_replica": True}, Kind("broker", "none", "none")),
        ({"apis": {api_keys.API_VERSIONS, 52}, "client_id": "raft-client-1"}, Kind("broker", "none", "none")),
        ({"apis": {api_keys.API_VERSIONS, 63}, "client_id": "2"}, Kind("broker", "none", "none")),
    ],
)
def test_kind_by_what_it_asks(connection: Callable[..., Connection], changes: dict[str, object], kind: Kind) -> None:
    assert kind_of([connection("a", **changes)]) == kind
