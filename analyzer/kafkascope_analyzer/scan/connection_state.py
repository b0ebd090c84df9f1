"""Connections of a scanned bucket as rows for the second pass: the state of TCP and framing, with client and server
instead of the two sides.
"""

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from kafkascope_analyzer.connections.identity import address_text, community_ids
from kafkascope_parsers.framing.layout import BY_PORT, KAFKA
from kafkascope_parsers.tcp.flows import Ends, flow_hashes
from kafkascope_parsers.tcp.state import CLOSE_KINDS

_NS_PER_MS = 1_000_000
_BY_SIDE = frozenset({"fin_0", "fin_1", "rst_0", "rst_1"})


def connection_table(
    connections: NDArray[np.void],
    sides: NDArray[np.void],
    framing: NDArray[np.void],
    conn_ids: pa.Array,
    undecoded: NDArray[np.int64],
) -> pa.Table:
    """Returns one row per connection, by connection number.

    connections: tcp.CONNECTION[n], sides: tcp.SIDE[2n], framing: framing.CONNECTION[n], undecoded: undecoded bytes of
    each connection. Of the columns, flow is the hash of both endpoints, and client_is_greater says whether the client's
    endpoint has the greater hash of the two (tcp.flows).
    """
    n = len(connections)
    undecided = framing["client_side"] < 0
    client = np.where(undecided, 1 - server_side_by_port(sides["port"]), framing["client_side"]).astype(np.int64)
    of_client, of_server = 2 * np.arange(n) + client, 2 * np.arange(n) + 1 - client
    addresses = np.stack([sides["address_high"], sides["address_low"]], 1)
    flow, is_greater = flow_hashes(
        Ends(addresses[of_client], addresses[of_server], sides["port"][of_client], sides["port"][of_server])
    )
    ports = sides["port"]
    idle = connections["close_idle_ns"]
    closed = connections["close_ts_ns"] > 0
    columns = {
        "conn_id": conn_ids,
        "client_side": pa.array(client.astype(np.int8)),
        "client_side_by": pa.array(np.where(undecided, BY_PORT, framing["client_side_by"]).astype(np.int8)),
        "protocol": pa.array(framing["protocol"].astype(np.int8)),
        "is_kafka": pa.array(framing["protocol"] == KAFKA),
        "seen_from_start": pa.array(connections["opened_by_syn"] != 0),
        "client_ip": address_text(addresses[of_client]),
        "client_port": pa.array(ports[of_client].astype(np.int32)),
        "server_ip": address_text(addresses[of_server]),
        "server_port": pa.array(ports[of_server].astype(np.int32)),
        "community_id": community_ids(addresses.reshape(n, 2, 2), ports.reshape(n, 2)),
        "close_kind": _CLOSE_KINDS.take(pa.array(2 * connections["close_kind"].astype(np.int64) + client)),
        "idle_before_close_ms": pa.array(idle // _NS_PER_MS, mask=(idle < 0) | ~closed),
        "undecoded_bytes": pa.array(undecoded),
        "flow": pa.array(flow),
        "client_is_greater": pa.array(is_greater != 0),
        "max_in_flight": pa.array(framing["max_in_flight"].astype(np.int32)),
    }
    return pa.table(columns | _traffic(sides, of_client, of_server) | _times(connections))


def _traffic(
    sides: NDArray[np.void], of_client: NDArray[np.int64], of_server: NDArray[np.int64]
) -> dict[str, pa.Array]:
    """Returns the traffic in each direction, and its irregular part (retransmitted, out of order, lost). of_client,
    of_server: the side of each connection."""
    return {
        "client_bytes": pa.array(sides["stream_bytes"][of_client]),
        "server_bytes": pa.array(sides["stream_bytes"][of_server]),
        "client_segments": pa.array(sides["segments"][of_client]),
        "server_segments": pa.array(sides["segments"][of_server]),
        "retransmitted": pa.array(_both(sides["retransmitted"])),
        "out_of_order": pa.array(_both(sides["out_of_order"])),
        "missing_bytes": pa.array(_both(sides["missing_bytes"] + sides["cut_bytes"])),
    }


def _times(connections: NDArray[np.void]) -> dict[str, pa.Array]:
    """Returns when connections were opened, seen and closed; null for events that were not seen."""
    out = {}
    for name in ("syn", "synack", "first", "last", "close"):
        times = np.ascontiguousarray(connections[f"{name}_ts_ns"])
        unknown = times == 0 if name not in ("first", "last") else None  # a capture may begin at 1970
        out[f"{name}_ns"] = pa.array(times, mask=unknown)
    return out


def _both(values: NDArray[np.int64]) -> NDArray[np.int64]:
    """Returns the sum of the two sides of each connection."""
    return np.asarray(values.reshape(-1, 2).sum(1), np.int64)


def _close_kind(kind: int, client_side: int) -> str:
    """Returns the close kind with client and server instead of sides."""
    name = CLOSE_KINDS[kind]
    stem, _, side = name.rpartition("_")
    if name not in _BY_SIDE:
        return name
    return f"{stem}_{'client' if int(side) == client_side else 'server'}"


_CLOSE_KINDS = pa.array([_close_kind(kind, side) for kind in range(len(CLOSE_KINDS)) for side in (0, 1)])
"""Close kinds by kind, and by the client's side."""


def server_side_by_port(ports: NDArray[np.uint16]) -> NDArray[np.int8]:
    """Returns the server's side (0 or 1) of each connection according to its ports: the lower one. ports: per side, two
    per connection.
    """
    sides = ports.reshape(-1, 2)
    return (sides[:, 1] <= sides[:, 0]).astype(np.int8)
