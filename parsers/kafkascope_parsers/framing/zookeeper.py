"""Reads sessions from ZooKeeper's client protocol: the client that opened one, its timeout, and its pings.

A frame is a size (int32) and a body (jute). A session begins with ConnectRequest (protocol version, last zxid, timeout,
session id, password, and from 3.4 on whether a read-only server will do); ConnectResponse has the timeout that the
server grants, or 0 if the session has expired. Later requests begin with xid and type, answers with xid, zxid and error
code; a ping has xid -2 and type 11; the request that closes a session has type -11. Source: zookeeper.jute, ClientCnxn.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kafkascope_parsers.framing.header import int32_at
from kafkascope_parsers.kernels import kernel

PASSWORD_LIMIT = 64
"""Bytes of a session's password: ZooKeeper makes 16."""
TIMEOUT_LIMIT_MS = 3_600_000
"""Longest timeout of a session: with a longer one the bytes are something else."""
HANDSHAKE_LIMIT = 4 + 29 + PASSWORD_LIMIT
"""Bytes that are enough to read either message of the handshake."""
CLOSE_BYTES = 12
"""Bytes of the request that closes a session: size, xid, type."""
_PING_XID, _PING_TYPE, _CLOSE_TYPE = -2, 11, -11
_REQUEST_FIXED, _RESPONSE_FIXED = 28, 20
"""Bytes of ConnectRequest and ConnectResponse beside the password and the read-only flag."""


@kernel
def begins_session(data: NDArray[np.uint8], at: int, end: int) -> bool:
    """Whether a ConnectRequest stands at `at`, whole."""
    if end - at < 4 + _REQUEST_FIXED:
        return False
    size = int32_at(data, at)
    password = int32_at(data, at + _REQUEST_FIXED)
    timeout = int32_at(data, at + 16)
    if size > end - at - 4 or int32_at(data, at + 4) != 0 or int32_at(data, at + 8) < 0:
        return False
    rest = size - _REQUEST_FIXED - password
    return 0 <= password <= PASSWORD_LIMIT and 0 <= rest <= 1 and 0 < timeout <= TIMEOUT_LIMIT_MS


@kernel
def ping_side(data: NDArray[np.uint8], at: int, end: int) -> int:
    """0 where data[at:end] is the ping of a client, 1 where it is the answer to one, else -1."""
    if end - at < 12 or int32_at(data, at + 4) != _PING_XID:
        return -1
    size = int32_at(data, at)
    if size != end - at - 4:
        return -1
    if size == 8 and int32_at(data, at + 8) == _PING_TYPE:
        return 0
    return 1 if size == 16 and int32_at(data, at + 16) == 0 else -1


@dataclass(frozen=True, slots=True)
class Session:
    """The session that a server grants. timeout_ms: 0 where the session that the client asked for has expired."""

    session_id: int
    timeout_ms: int


def ends_session(raw: bytes) -> bool:
    """Whether these are the bytes of a request that closes its session, which is the last of a connection."""
    return (
        len(raw) == CLOSE_BYTES and raw[:4] == b"\0\0\0\x08" and raw[8:] == _CLOSE_TYPE.to_bytes(4, "big", signed=True)
    )


def read_connect_response(raw: bytes) -> Session | None:
    """The session that a server grants; None where the bytes are no ConnectResponse."""
    if len(raw) < 4 + _RESPONSE_FIXED:
        return None
    size, version, timeout, password = (int.from_bytes(raw[i : i + 4], "big") for i in (0, 4, 8, 20))
    if version != 0 or password > PASSWORD_LIMIT or not 0 <= size - _RESPONSE_FIXED - password <= 1:
        return None
    return Session(int.from_bytes(raw[12:20], "big"), timeout) if timeout <= TIMEOUT_LIMIT_MS else None
