from collections.abc import Callable

import pytest

from kafkascope_spark import wire
from kafkascope_spark.identity.kinds import Kind, kind_of
from kafkascope_spark.wire import Connection

BOOT = {wire.API_VERSIONS, wire.METADATA}


@pytest.mark.parametrize(
    ("changes", "kind"),
    [
        ({"apis": BOOT | {wire.PRODUCE}}, Kind("producer", "none", "none")),
        ({"apis": BOOT | {wire.INIT_PRODUCER_ID}}, Kind("producer", "none", "none")),
        ({"apis": BOOT | {wire.FETCH, wire.LIST_OFFSETS}}, Kind("consumer", "none", "none")),
        ({"apis": BOOT | {wire.JOIN_GROUP, wire.FETCH}}, Kind("consumer", "classic", "none")),
        ({"apis": BOOT | {wire.CONSUMER_GROUP_HEARTBEAT, wire.FETCH}}, Kind("consumer", "consumer", "none")),
        ({"apis": BOOT | {wire.SHARE_GROUP_HEARTBEAT, wire.SHARE_FETCH}}, Kind("share_consumer", "share", "none")),
        ({"apis": BOOT | {wire.STREAMS_GROUP_HEARTBEAT, wire.FETCH}}, Kind("streams", "streams", "none")),
        (
            {"apis": BOOT | {wire.INIT_PRODUCER_ID, wire.PRODUCE}, "transactional_ids": {"t"}},
            Kind("transactional_producer", "none", "v1"),
        ),
        (
            {"apis": BOOT | {wire.PRODUCE, wire.END_TXN}, "transactional_ids": {"t"}, "txn_v2": True},
            Kind("transactional_producer", "none", "v2"),
        ),
        ({"apis": BOOT | {19, 32}}, Kind("admin", "none", "none")),
        ({"apis": BOOT}, Kind("unknown", "none", "none")),
        ({"apis": BOOT | {wire.FIND_COORDINATOR}, "sought": {("group", "g")}}, Kind("consumer", "none", "none")),
        ({"apis": {wire.FETCH}, "is_replica": True}, Kind("broker", "none", "none")),
        ({"apis": {wire.API_VERSIONS, 52}, "client_id": "raft-client-1"}, Kind("broker", "none", "none")),
        ({"apis": {wire.API_VERSIONS, 63}, "client_id": "2"}, Kind("broker", "none", "none")),
    ],
)
def test_kind_by_what_it_asks(connection: Callable[..., Connection], changes: dict[str, object], kind: Kind) -> None:
    assert kind_of([connection("a", **changes)]) == kind
