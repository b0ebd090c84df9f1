"""Picks connections with Fetch requests, and those with requests of a group member, during the scan."""

import numpy as np
import pyarrow as pa

from kafkascope_analyzer.scan.apis import ApiSet, int_column
from kafkascope_parsers.api_keys import FETCH, GROUP_HEARTBEATS, HEARTBEAT, JOIN_GROUP, OFFSET_COMMIT, SYNC_GROUP

CONSUMERS = "facts.consumers"
"""Spilled table: conn and client_id of connections with Fetch."""
GROUP_CLIENTS = "facts.group_clients"
"""Spilled table: conn, client_id and group_id of connections with requests of a group member."""
_OF_MEMBERS = ApiSet({JOIN_GROUP, SYNC_GROUP, HEARTBEAT, OFFSET_COMMIT} | GROUP_HEARTBEATS)
_ACTS = ["conn", "client_id", "group_id"]


def pick_consumers(settled: pa.Table) -> pa.Table | None:
    """Returns the connections with Fetch requests among completed requests (SETTLED_SCHEMA), each once (CONSUMERS)."""
    fetches = np.flatnonzero(int_column(settled, "api_key", -1) == FETCH)
    if not len(fetches):
        return None
    conn = int_column(settled, "conn", 0)[fetches]
    first = np.full(int(conn.max()) + 1, -1)
    first[conn[::-1]] = fetches[::-1]
    return settled.select(["conn", "client_id"]).take(pa.array(first[first >= 0]))


def pick_group_clients(settled: pa.Table) -> pa.Table | None:
    """Returns the connections and groups of group members' requests among completed requests (GROUP_CLIENTS)."""
    acts = np.flatnonzero(_OF_MEMBERS.has(int_column(settled, "api_key", -1)))
    if not len(acts):
        return None
    rows = settled.select(_ACTS).take(pa.array(acts))
    rows = rows.filter(rows["group_id"].is_valid())
    return rows.group_by(_ACTS, use_threads=False).aggregate([]) if rows.num_rows else None
