"""The facts about group protocols against Kafka's own message definitions."""

import pytest

from kafkascope_parsers.group_protocols import PROTOCOLS, GroupProtocol
from kafkascope_parsers.schema import api_keys, api_name

BY_NAME = pytest.mark.parametrize("protocol", PROTOCOLS, ids=lambda protocol: protocol.name)


def test_an_api_belongs_to_one_protocol() -> None:
    apis = [api for protocol in PROTOCOLS for api in protocol.apis]
    assert len(apis) == len(set(apis))
    assert len({protocol.name for protocol in PROTOCOLS}) == len(PROTOCOLS)


@BY_NAME
def test_its_apis_are_those_of_kafka(protocol: GroupProtocol) -> None:
    assert {api_name(key) for key in protocol.keys} == set(protocol.apis)
    assert protocol.keys <= set(api_keys())
    assert protocol.messages.keys() <= set(protocol.apis)


@BY_NAME
def test_where_the_coordinator_assigns_one_heartbeat_carries_everything(protocol: GroupProtocol) -> None:
    if not protocol.members_assign:
        (messages,) = protocol.messages.values()
        assert messages.assignment
        assert messages.changes
        assert {"member_id", "member_epoch"} <= messages.request.keys() & messages.response.keys()
