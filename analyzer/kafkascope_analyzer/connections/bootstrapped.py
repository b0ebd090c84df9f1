"""The rule by which a connection bootstrapped its client, over the columns of all connections (bootstrap)."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from kafkascope_parsers.kernels import inlined, kernel

NEVER = np.iinfo(np.int64).max
SASL_IDS_FROM = 0x7FFFFFF8
"""First of the Java client's correlation ids that are reserved for SASL requests."""
_FIRST_IDS = 1
"""Highest first correlation id of a bootstrap connection: its ApiVersions request, or the Metadata request that waits
for it, has id 0 or 1."""
NO, CLAIMED, PROVEN = range(3)
"""Verdicts."""


class Asked(NamedTuple):
    """The evidence for bootstrap connections, by row.

    first_ns, last_ns: int64, first and last segment; seen_from_start: bool; asked_ns: int64, first request about the
    cluster; metadata_ns: int64, first Metadata response (NEVER for none); first_id: int64, smallest correlation id;
    only_asked: bool, whether all of its requests are about the cluster.
    """

    first_ns: NDArray[np.int64]
    last_ns: NDArray[np.int64]
    seen_from_start: NDArray[np.bool_]
    asked_ns: NDArray[np.int64]
    metadata_ns: NDArray[np.int64]
    first_id: NDArray[np.int64]
    only_asked: NDArray[np.bool_]


@kernel
def judge(
    order: NDArray[np.int64],
    client: NDArray[np.int64],
    of_java: NDArray[np.bool_],
    asked: Asked,
    verdicts: NDArray[np.uint8],
) -> None:
    """Writes the verdict of each row in `order`.

    order: rows, client by client, those of one client in the order in which they were opened. client: the number of
    each row's client; of_java: by client, whether it is a Java client. verdicts: by row.
    """
    last_client, alive_until, metadata_ns = np.int64(-1), np.int64(0), np.int64(NEVER)
    for row in order:
        if client[row] != last_client:
            last_client, alive_until, metadata_ns = client[row], np.int64(0), np.int64(NEVER)
        if asked.first_ns[row] > alive_until:
            metadata_ns = np.int64(NEVER)
        alive_until = max(alive_until, asked.last_ns[row])
        if asked.asked_ns[row] != NEVER and asked.seen_from_start[row]:
            verdicts[row] = _of_java(asked, row) if of_java[last_client] else _of_others(asked, row, metadata_ns)
        metadata_ns = min(metadata_ns, asked.metadata_ns[row])


@inlined
def _of_java(asked: Asked, row: int) -> int:
    """Returns the verdict for a Java client, which numbers its requests over all connections."""
    return PROVEN if asked.first_id[row] <= _FIRST_IDS else NO


@inlined
def _of_others(asked: Asked, row: int, metadata_ns: int) -> int:
    """Returns the verdict for another client. metadata_ns: when the client had its first response about the cluster
    since its process started."""
    if asked.first_ns[row] < metadata_ns:
        return PROVEN
    return CLAIMED if asked.only_asked[row] else NO
