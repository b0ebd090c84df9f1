"""Kinds of `events` that tell how a server looked to its clients. Their key is the server's address."""

from collections.abc import Mapping

import pyarrow as pa

SERVER_KINDS: Mapping[str, pa.StructType] = {
    "server_connection": pa.struct(
        [
            ("server_ip", pa.string()),
            ("server_port", pa.int32()),
            ("node_id", pa.int32()),
            ("host_kind", pa.string()),
            ("protocol", pa.string()),
            ("last_ns", pa.int64()),
            ("syn_ns", pa.int64()),
            ("synack_ns", pa.int64()),
            ("close_kind", pa.string()),
            ("close_ns", pa.int64()),
        ]
    ),
    "server_wait": pa.struct(
        [
            ("layer", pa.string()),
            ("asked_ns", pa.int64()),
            ("until_ns", pa.int64()),
            ("ended_by", pa.string()),
            ("asked_packet_no", pa.int64()),
            ("until_packet_no", pa.int64()),
        ]
    ),
    "life_sign": pa.struct(
        [
            ("layer", pa.string()),
            ("last_ns", pa.int64()),
            ("last_packet_no", pa.int64()),
        ]
    ),
}
