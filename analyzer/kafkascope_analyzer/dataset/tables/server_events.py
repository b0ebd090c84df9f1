"""Kinds of `events` that show how a server looked to the hosts that talked to it. Their key is the server's address and
port.

server_host: a host that talked to the server; the facts of section 0 come before everything else of the server. The
others are of times in which somebody waited for the server or lost a connection to it (section 1):
server_connection: a connection that the server ended or did not accept, or the first that it accepted afterwards.
server_wait: a host waited for it. life_sign: when it sent packets.
"""

from collections.abc import Mapping

import pyarrow as pa

_FIRST_AND_LAST = [
    ("first_ns", pa.int64()),
    ("first_packet_no", pa.int64()),
    ("last_ns", pa.int64()),
    ("last_packet_no", pa.int64()),
]
SERVER_KINDS: Mapping[str, pa.StructType] = {
    "server_host": pa.struct(
        [
            ("server_ip", pa.string()),
            ("server_port", pa.int32()),
            ("node_id", pa.int32()),
            ("host", pa.string()),
            ("host_kind", pa.string()),
            ("served", pa.bool_()),
            ("is_client", pa.bool_()),
            ("first_ns", pa.int64()),
            ("last_ns", pa.int64()),
        ]
    ),
    "server_connection": pa.struct(
        [
            ("host", pa.string()),
            ("close_kind", pa.string()),
            ("served", pa.bool_()),
            ("idle_ms", pa.int64()),
            ("accepted_ns", pa.int64()),
            ("accepted_packet_no", pa.int64()),
            *_FIRST_AND_LAST,
        ]
    ),
    "server_wait": pa.struct(
        [
            ("host", pa.string()),
            ("layer", pa.string()),
            ("request_id", pa.string()),
            ("is_proof", pa.bool_()),
            ("is_slow", pa.bool_()),
            *_FIRST_AND_LAST,
            ("due_ns", pa.int64()),
            ("until_ns", pa.int64()),
            ("until_packet_no", pa.int64()),
            ("ended_by", pa.string()),
        ]
    ),
    "life_sign": pa.struct([("host", pa.string()), ("scope", pa.string()), ("layer", pa.string()), *_FIRST_AND_LAST]),
}
