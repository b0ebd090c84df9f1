"""Columns and words that several tables have."""

from kafkascope_analyzer.dataset.contract import i32, i64, text

COORDINATOR_TYPES = ("group", "transaction", "share")
CODECS = ("none", "gzip", "snappy", "lz4", "zstd")
SIDES = ("client", "server")
CONN = text(
    "conn_id", "id of the connection, which does not depend on how the capture was divided into files or buckets"
)
CAPTURE = i32("capture_id", "input file, in the manifest's order")
REQUEST = text("request_id", "conn_id and the number of the request on it")
PACKET = i64("packet_no", "number of the packet in its file, from 1")
ENDPOINTS = (
    text("client_ip", "address of the client"),
    i32("client_port", "port of the client"),
    text("server_ip", "address of the server"),
    i32("server_port", "port of the server"),
)
