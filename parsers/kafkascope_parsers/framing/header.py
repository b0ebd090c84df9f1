"""Recognizes request headers.

Layout (KIP-482, RequestHeader): size int32, API key int16, version int16, correlation id int32, client id nullable
string with int16 length (absent in header v0, which only ControlledShutdown v0 has).
"""

import numpy as np
from numpy.typing import NDArray

from kafkascope_parsers.api_keys import CONTROLLED_SHUTDOWN
from kafkascope_parsers.framing.layout import CLIENT_ID_AT, SIZE_LIMIT
from kafkascope_parsers.kernels import inlined, kernel

NO, YES, MORE = 0, 1, 2

VERSION_SLACK = 8
"""A client may be newer than our schemas: a header's version may be this far above the newest known one."""


@inlined
def int16_at(data: NDArray[np.uint8], at: int) -> np.int64:
    """Big-endian int16. The caller has checked the end."""
    return np.int64(np.int16(np.int64(data[at]) << 8 | np.int64(data[at + 1])))


@inlined
def int32_at(data: NDArray[np.uint8], at: int) -> np.int64:
    """Big-endian int32. The caller has checked the end."""
    return np.int64(
        np.int32(
            np.int64(data[at]) << 24
            | np.int64(data[at + 1]) << 16
            | np.int64(data[at + 2]) << 8
            | np.int64(data[at + 3])
        )
    )


@kernel
def looks_like_request(data: NDArray[np.uint8], at: int, end: int, versions: NDArray[np.int16]) -> int:
    """NO, YES, or MORE if that needs more bytes.

    versions: int16[n_keys, 2], first and last known version of each API key.
    The client id has to be printable, as zeros and binary data are what most often looks like a header.
    """
    if end - at < CLIENT_ID_AT - 2:
        return MORE
    size = int32_at(data, at)
    key = int16_at(data, at + 4)
    version = int16_at(data, at + 6)
    if size < 8 or size > SIZE_LIMIT or key < 0 or key >= len(versions) or version < 0:
        return NO
    if versions[key, 1] < 0 or version > versions[key, 1] + VERSION_SLACK:
        return NO
    if key == CONTROLLED_SHUTDOWN and version == 0:
        return YES
    if size < 10:
        return NO
    if end - at < CLIENT_ID_AT:
        return MORE
    length = int16_at(data, at + 12)
    if length < -1 or length > size - 10:
        return NO
    first = at + CLIENT_ID_AT
    for i in range(first, min(first + max(length, 0), end)):
        if data[i] < 0x20 or data[i] == 0x7F:
            return NO
    return YES


@kernel
def may_be_request(data: NDArray[np.uint8], at: int, end: int, versions: NDArray[np.int16]) -> bool:
    """Whether a frame where a request is expected may be a request: its API and version exist in Kafka, or its header
    names a client. Its first 12 bytes are there. This keeps parts of a SASL token in a wrong place from being taken for
    an API, a version or a correlation id.
    """
    key, version = int16_at(data, at + 4), int16_at(data, at + 6)
    if 0 <= key < len(versions) and 0 <= version <= versions[key, 1]:
        return True
    if end - at < CLIENT_ID_AT:
        return False
    length = int16_at(data, at + 12)
    if length < -1 or length > int32_at(data, at) - 10:
        return False
    for i in range(at + CLIENT_ID_AT, min(at + CLIENT_ID_AT + max(length, 0), end)):
        if data[i] < 0x20 or data[i] == 0x7F:
            return False
    return True
