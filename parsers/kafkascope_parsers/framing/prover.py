"""Decodes bodies for the proofs of `proof` and `response_only`: kernels search, and the machine decodes."""

import numpy as np
from numpy.typing import NDArray

from kafkascope_parsers.framing.cutting import Cut, Framing
from kafkascope_parsers.framing.layout import CLIENT_ID_AT, UNKNOWN
from kafkascope_parsers.framing.proof import (
    NAME_ENOUGH,
    SUSPECT,
    Search,
    apply_decode_results,
    give_up,
    name_foreign,
    next_suspects,
)
from kafkascope_parsers.framing.response_only import (
    ALONE,
    ALONE_ENOUGH,
    TELLING_APIS,
    TELLING_BYTES,
    accept_response_only,
    find_response_only,
)
from kafkascope_parsers.machine.decode import DecodeOptions, decode_messages, decodes_whole
from kafkascope_parsers.schema import MessageType, message_type
from kafkascope_parsers.tcp.streams import Streams

_SIZE_BYTES = 4


def prove_connections(streams: Streams, cut: Cut, framing: Framing, *, final: bool) -> None:
    """Finds out which of the unknown connections of a block speak Kafka, and writes bytes that are given up to cut."""
    if not (framing.connections["protocol"][streams.direction >> 1] == UNKNOWN).any():
        return
    n_runs = len(streams.start)
    search = Search(
        streams.start.copy(), np.full(n_runs, -1, np.int64), np.zeros(n_runs, np.int64), streams.start.copy()
    )
    name_foreign(streams, framing, begun=False)
    suspects = np.zeros(len(streams.start) + 1, SUSPECT)
    while n := next_suspects(streams, cut, framing, search, suspects, final):
        tried = suspects[:n]
        apply_decode_results(streams, cut, framing, search, (tried, _requests_decode(streams.data, tried)))
    name_foreign(streams, framing, begun=True)  # the client's bytes count first: it may speak Kafka to a TLS port
    chains = np.zeros(len(streams.start) + 1, ALONE)
    if n := find_response_only(streams, framing, chains):
        accept_response_only(streams, cut, framing, chains[:n], _any_tells(streams.data, chains[:n]))
    give_up(streams, cut, framing, search, final)


def _requests_decode(data: NDArray[np.uint8], suspects: NDArray[np.void]) -> NDArray[np.bool_]:
    out = np.zeros(len(suspects), np.bool_)
    for key in np.unique(suspects["api_key"]).tolist():
        message = message_type(key, "request")
        rows = np.flatnonzero(suspects["api_key"] == key)
        if message is not None:
            chosen = suspects[rows]
            starts, ends = chosen["at"] + _SIZE_BYTES, np.ascontiguousarray(chosen["end"])
            versions = np.ascontiguousarray(chosen["api_version"])
            out[rows] = decodes_whole(message, data, starts, ends, versions)
            rest = np.flatnonzero(~out[rows] & _is_named(data, chosen["at"]))
            out[rows[rest]] = _decode_before_zeros(message, data, starts[rest], ends[rest], versions[rest])
    return out


def _is_named(data: NDArray[np.uint8], at: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Whether the headers at these places have a client id that is not there by chance."""
    length = data[at + (CLIENT_ID_AT - 2)].astype(np.int64) << 8 | data[at + (CLIENT_ID_AT - 1)]
    return (length >= NAME_ENOUGH) & (length <= np.iinfo(np.int16).max)


def _decode_before_zeros(
    message: MessageType,
    data: NDArray[np.uint8],
    starts: NDArray[np.int64],
    ends: NDArray[np.int64],
    versions: NDArray[np.int16],
) -> NDArray[np.bool_]:
    """Whether the frames decode except for zero bytes after their bodies, which brokers ignore (librdkafka 1.0 sends
    such an ApiVersions)."""
    out = np.zeros(len(starts), np.bool_)
    if len(starts):
        for columns in decode_messages(message, data, starts, ends, versions, DecodeOptions(allow_zeros=True)):
            out[columns.frame] = True
    return out


def _any_tells(data: NDArray[np.uint8], chains: NDArray[np.void]) -> NDArray[np.bool_]:
    """Per chain, whether one of its frames is large enough and decodes as one of TELLING_APIS."""
    starts = np.ascontiguousarray(chains["start"]).reshape(-1) + _SIZE_BYTES
    ends = np.ascontiguousarray(chains["end"]).reshape(-1)
    proved = np.zeros(len(starts), np.bool_)
    large = np.flatnonzero(ends - starts >= TELLING_BYTES)
    for key in TELLING_APIS:
        message = message_type(key, "response")
        assert message is not None
        for version in range(message.versions[0], message.versions[1] + 1):
            versions = np.full(len(large), version, np.int16)
            proved[large] |= decodes_whole(message, data, starts[large], ends[large], versions)
    return np.asarray(proved.reshape(-1, ALONE_ENOUGH).any(1))
