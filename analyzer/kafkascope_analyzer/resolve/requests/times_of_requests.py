"""Collects the times of given requests from batches of requests."""

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

Ints = NDArray[np.int64]
_CONN_SHIFT = 40
"""Bits for the number of a request on its connection."""


class TimesOfRequests:
    """Keeps a time for each of the given requests, which are identified by connection and number on it. Memory: two
    numbers for each."""

    def __init__(self, conn: Ints, number: Ints) -> None:
        self._keys, self._place = np.unique(_key(conn, number), return_inverse=True)
        self._times = np.zeros(len(self._keys), np.int64)

    def take(self, conn: Ints, number: Ints, ts_ns: Ints) -> None:
        """Takes requests: connection, number, time. A number below zero marks a response without a request."""
        if not len(self._keys):
            return
        keys = _key(conn, number)
        at = np.minimum(np.searchsorted(self._keys, keys), len(self._keys) - 1)
        found = np.flatnonzero((self._keys[at] == keys) & (number >= 0))
        self._times[at[found]] = ts_ns[found]

    def state(self) -> list[Ints]:
        """Returns the requests that are looked for, and their times, to be saved."""
        return [self._keys, self._times]

    def resume(self, state: list[Ints]) -> None:
        """Takes the times that an earlier run has found."""
        keys, times = state
        if len(keys):
            at = np.minimum(np.searchsorted(keys, self._keys), len(keys) - 1)
            found = np.flatnonzero(keys[at] == self._keys)
            self._times[found] = times[at[found]]

    def times(self) -> pa.Array:
        """The time of each request; null where it has not come."""
        times = self._times[self._place]
        return pa.array(times, mask=times == 0)


def _key(conn: Ints, number: Ints) -> Ints:
    return np.asarray(conn << _CONN_SHIFT | np.maximum(number, 0))
