"""A further group protocol is an object in the list of protocols: tables, events, stories and reports have it then."""

import subprocess
import sys

import pytest

ADDED = """
import kafkascope_parsers.group_protocols as group_protocols
from kafkascope_parsers.group_protocols.protocol import EPOCH_REQUEST, EPOCH_RESPONSE, GroupMessages, GroupProtocol

MESSAGES = GroupMessages(EPOCH_REQUEST, EPOCH_RESPONSE, ("topic_partitions",), ("assignment",))
NEW = GroupProtocol(
    "parallel", "parallel group", ("ShareGroupDescribe",), {"ShareGroupDescribe": MESSAGES},
    members_assign=False, brokers_set_session_timeout=True,
)
group_protocols.PROTOCOLS = (*group_protocols.PROTOCOLS, NEW)
(KEY,) = NEW.keys

from kafkascope_spark.stories.tables import CLIENTS, REBALANCES
from kafkascope_analyzer.dataset.row_types import column_fields
from kafkascope_analyzer.dataset.tables.event_kinds.groups import GroupRequest, GroupRequestBody, GroupResponseBody
from kafkascope_analyzer.report.model.client_texts import GROUP_PROTOCOLS, ROUNDS
from kafkascope_analyzer.report.schema import report_schema
from kafkascope_analyzer.resolve.cluster.message_facts import learned_rows
from kafkascope_analyzer.resolve.groups.messages import HEARTBEAT_APIS
from kafkascope_analyzer.scan.apis import EARLY_APIS
from kafkascope_parsers.api_keys import GROUP_APIS, GROUP_HEARTBEATS
from kafkascope_spark.stories.groups.stories import Group
from kafkascope_spark.stories.keyed import Origin
from kafkascope_spark.stories.stalls.stall import StallLimits

assert "parallel" in REBALANCES.column("group_protocol").values
assert "parallel" in CLIENTS.column("group_protocol").values
assert "'parallel'" in str(report_schema())
assert (GROUP_PROTOCOLS["parallel"], ROUNDS["parallel"]) == ("parallel group", "group epoch")
assert KEY in GROUP_HEARTBEATS & GROUP_APIS & EARLY_APIS
assert "ShareGroupDescribe" in HEARTBEAT_APIS

NO_REQUEST, NO_RESPONSE = (
    dict.fromkeys(column_fields(body)) for body in (GroupRequestBody, GroupResponseBody)
)
assigned = {"has_assignment": True, "assigned_topics": [{"topic": "t", "partitions": [0, 1]}]}
request = {
    "request_id": "r-1", "api_key": KEY, "response_ns": 20, "status": "ok", "error_name": None, "member_id": "a",
    "group_instance_id": None, "generation_or_epoch": 0, "client_id": "a", "node_id": 1, "close_ns": None,
    "close_kind": None,
    "request": NO_REQUEST | {"member_id": "a", "member_epoch": 0},
    "response": NO_RESPONSE | {"member_id": "a", "member_epoch": 3} | assigned,
}
event = GroupRequest.of(request)
group = Group("g", StallLimits(1_000, 1_000))
found = [*group.take(event, Origin(1, 10, 0, 0, "c", 0, "ci", None)), *group.finish()]
(row,) = found
assert (row.group_protocol, row.generation, row.members[0].assigned) == ("parallel", 3, ("t-0", "t-1")), row
print("found everywhere")
"""


@pytest.mark.slow
def test_a_further_protocol_is_in_tables_events_stories_and_reports() -> None:
    done = subprocess.run([sys.executable, "-c", ADDED], capture_output=True, text=True, check=False, timeout=120)
    assert done.stdout == "found everywhere\n", done.stderr
