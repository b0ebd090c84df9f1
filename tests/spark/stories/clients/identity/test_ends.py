from collections.abc import Callable
from typing import Any

import pytest

from kafkascope_parsers import api_keys
from kafkascope_spark.stories.clients.identity.client_rows import client_row
from kafkascope_spark.stories.clients.identity.instances import Instance
from kafkascope_spark.stories.model import Connection

SECOND = 1_000_000_000
MEMBER = {api_keys.JOIN_GROUP, api_keys.SYNC_GROUP, api_keys.HEARTBEAT, api_keys.FETCH}


@pytest.mark.parametrize(
    ("changes", "end"),
    [
        ({"apis": {api_keys.PRODUCE}}, "closed"),
        ({"apis": MEMBER | {api_keys.LEAVE_GROUP}, "has_left": True}, "closed"),
        ({"apis": {api_keys.SHARE_GROUP_HEARTBEAT, api_keys.SHARE_FETCH}}, "died"),
        ({"apis": {api_keys.CONSUMER_GROUP_HEARTBEAT, api_keys.FETCH}}, "died"),
        ({"apis": {api_keys.CONSUMER_GROUP_HEARTBEAT, api_keys.FETCH}, "has_left": True}, "closed"),
        ({"apis": {api_keys.CONSUMER_GROUP_HEARTBEAT}, "close_kind": "fin_server"}, "closed"),
        ({"apis": MEMBER}, "died"),
        ({"apis": MEMBER, "group_instances": {"static-1"}}, "closed"),
        ({"apis": {api_keys.PRODUCE}, "close_kind": "rst_client"}, "died"),
        ({"apis": {api_keys.PRODUCE}, "close_ns": None, "close_kind": "open"}, "open"),
    ],
)
def test_how_a_client_ended(
    connection: Callable[..., Connection], instance: Callable[..., Instance], changes: dict[str, Any], end: str
) -> None:
    row = client_row(instance(connection("a", **changes)), [], 0, (0, 10 * SECOND))
    assert row.end_state == end


def test_streams_threads_never_leave_their_group(
    connection: Callable[..., Connection], instance: Callable[..., Instance]
) -> None:
    made = instance(connection("a", apis=MEMBER))
    made.client_id = "app-1-StreamThread-1-consumer"
    assert client_row(made, [], 0, (0, 10 * SECOND)).end_state == "closed"


def test_a_row_says_what_is_not_decided(
    connection: Callable[..., Connection], instance: Callable[..., Instance]
) -> None:
    made = instance(connection("a"))
    made.group.n_ambiguous_attempts = 3
    assert "3 more attempts" in client_row(made, [], 0, (0, 10 * SECOND)).identity_why
