"""What the machine of a transactional id reads of the events of the capture."""

from dataclasses import fields
from typing import Any

import pytest

from kafkascope_analyzer.dataset.tables.event_kinds.transactions import (
    TransactionMarkers,
    TransactionRequest,
    TransactionSeen,
)
from kafkascope_parsers.api_keys import ADD_PARTITIONS_TO_TXN, END_TXN, INIT_PRODUCER_ID
from kafkascope_spark.stories.keyed import Origin
from kafkascope_spark.stories.transactions.event import (
    EventKind,
    TransactionEvent,
    decode_markers,
    decode_request,
    decode_seen,
)

VALUES: dict[str, Any] = {"request_id": "r", "producer_id": 7, "producer_epoch": 1, "partitions": ["t-0", "t-1"]}
ORIGIN = Origin(1, 5, 0, 0, "c1", 0, "ci-1", None)
NOTHING = {field.name: field.default for field in fields(TransactionEvent)}


def shown(event: TransactionEvent) -> dict[str, Any]:
    """What an event shows."""
    return {name: value for name in NOTHING if (value := getattr(event, name)) != NOTHING[name]}


@pytest.mark.parametrize(
    ("api", "kind"),
    [(INIT_PRODUCER_ID, EventKind.INIT), (END_TXN, EventKind.END), (ADD_PARTITIONS_TO_TXN, EventKind.REQUEST)],
)
def test_a_request_has_its_client_and_its_errors(api: int, kind: EventKind) -> None:
    more = {"api_key": api, "protocol": "v2", "answered_ns": 9, "errors": ["CONCURRENT_TRANSACTIONS"]}
    event = decode_request(TransactionRequest.of(VALUES | more), ORIGIN, 8)
    expected = {"kind": kind, "ts_ns": 5, "client": "ci-1", "left_ns": 8, "protocol": "v2", "answered_ns": 9}
    found = {"errors": ("CONCURRENT_TRANSACTIONS",), "partitions": ("t-0", "t-1")}
    assert shown(event) == VALUES | expected | found


def test_what_brokers_send_is_of_no_client() -> None:
    markers = decode_markers(TransactionMarkers.of(VALUES | {"committed": False, "answered_ns": 9}), 5)
    common = VALUES | {"ts_ns": 5, "partitions": ("t-0", "t-1")}
    assert shown(markers) == common | {"kind": EventKind.MARKERS, "committed": False, "answered_ns": 9}
    seen = decode_seen(TransactionSeen.of(VALUES | {"protocol": "v1"}), 5)
    assert shown(seen) == common | {"kind": EventKind.SEEN, "protocol": "v1"}
