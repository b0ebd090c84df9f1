"""Samples of the correlation ids of each connection: its first requests, then one a second, and later one a minute."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from kafkascope_analyzer.dataset.flat import flat
from kafkascope_analyzer.dataset.sorted_rows import rank_in_group
from kafkascope_analyzer.resolve.requests.kernels import NONE, SECOND, mark_samples
from kafkascope_analyzer.scan.apis import int_column
from kafkascope_parsers.api_keys import FIRST_RESERVED_CORRELATION_ID

SAMPLES = 64
"""Requests of a connection whose correlation ids are all kept; after them one a second is kept, and after FINE_NS one a
minute."""
FINE_NS = 600 * SECOND
_NO_SAMPLES = np.empty((0, 5), np.int64)
_RESERVED_AT_START = 8
"""Further requests that are looked at one by one, because some of the first may have SASL's reserved ids."""


@dataclass(slots=True)
class TextCodes:
    """Numbers for texts, the same in all batches; null has a number too."""

    _codes: dict[str | None, int] = field(default_factory=dict)

    def of(self, texts: pa.ChunkedArray) -> NDArray[np.int64]:
        """Returns the number of each text."""
        coded = flat(texts).dictionary_encode(null_encoding="encode")
        mine = [self._codes.setdefault(text, len(self._codes)) for text in coded.dictionary.to_pylist()]
        return np.asarray(np.array(mine, np.int64)[coded.indices.to_numpy()], np.int64)

    def state(self) -> list[str | None]:
        """Returns the texts in the order of their numbers, to be saved."""
        return list(self._codes)

    def resume(self, state: list[str | None]) -> None:
        """Continues with these numbers."""
        self._codes = {text: number for number, text in enumerate(state)}


class CorrelationSamples:
    """Gathers samples, batch by batch. Memory: some hundred samples per connection and hour."""

    def __init__(self, n_connections: int) -> None:
        self._state = np.full((n_connections, 3), NONE, np.int64)
        self._kept: list[NDArray[np.int64]] = []

    def add(self, requests: pa.Table, number: NDArray[np.int64], client: NDArray[np.int64]) -> None:
        """Takes rows of `requests`, in order. number: the number of each request on its connection; client: its client
        id as a number."""
        correlation_id = int_column(requests, "correlation_id", FIRST_RESERVED_CORRELATION_ID)
        conn, ts_ns = int_column(requests, "conn", 0), int_column(requests, "ts_ns", 0)
        rows = np.column_stack([conn, client, number, ts_ns, correlation_id])
        counted = correlation_id < FIRST_RESERVED_CORRELATION_ID
        rows = rows if counted.all() else rows[counted]
        out = np.empty(len(rows), np.bool_)
        mark_samples(rows, self._state, (SAMPLES + _RESERVED_AT_START, FINE_NS), out)
        if out.any():
            self._kept.append(rows[out])

    def state(self) -> dict[str, Any]:
        """Returns the samples, to be saved."""
        self._kept = [np.concatenate([_NO_SAMPLES, *self._kept])]
        return {"connections": self._state, "kept": self._kept[0]}

    def resume(self, state: dict[str, Any]) -> None:
        """Continues from a saved state, whose connections are the first ones."""
        self._state[: len(state["connections"])] = state["connections"]
        self._kept = [state["kept"]]

    def lists(self) -> tuple[NDArray[np.int64], pa.Array, pa.Array]:
        """Returns the connections, and lists of times and of correlation ids side by side, in order of time; one row
        per connection and client id on it."""
        kept = np.concatenate([_NO_SAMPLES, *self._kept])
        kept = _one_a_second(kept)
        kept = kept[np.lexsort((kept[:, 3], kept[:, 2], kept[:, 1], kept[:, 0]))]
        kept = kept[_is_worth(kept)]
        starts = np.flatnonzero(rank_in_group(kept[:, 0], kept[:, 1]) == 0)
        ends = pa.array(np.append(starts, len(kept)).astype(np.int32))
        times, ids = (pa.ListArray.from_arrays(ends, pa.array(np.ascontiguousarray(kept[:, i]))) for i in (2, 3))
        return kept[starts, 0], times, ids


def _one_a_second(kept: NDArray[np.int64]) -> NDArray[np.int64]:
    """Returns conn, client, ts_ns, correlation id: all of the early requests, and of the later ones one a second, with
    the time of the earliest and the id of the first. kept: conn, client, number, ts_ns, correlation id."""
    conn, client, number, ts_ns, correlation_id = (kept[:, i] for i in range(5))
    early = number < SAMPLES
    first = np.column_stack([conn, client, ts_ns, correlation_id])[early]
    later = kept[~early]
    second = later[:, 3] // SECOND
    order = np.lexsort((later[:, 2], second, later[:, 1], later[:, 0]))
    later, second = later[order], second[order]
    starts = np.flatnonzero(rank_in_group(later[:, 0], later[:, 1], second) == 0)
    times = np.minimum.reduceat(later[:, 3], starts) if len(starts) else later[:, 3]
    rest = np.column_stack([later[starts, 0], later[starts, 1], times, later[starts, 4]])
    return np.concatenate([first, rest])


def _is_worth(kept: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Whether each sample is one of the first, within FINE_NS, or the first of its minute."""
    place = rank_in_group(kept[:, 0], kept[:, 1])
    ts_ns = kept[:, 2]
    age = ts_ns - ts_ns[np.arange(len(kept)) - place]
    minute = ts_ns // (60 * SECOND)
    is_new = np.ones(len(kept), np.bool_)
    is_new[1:] = minute[1:] != minute[:-1]
    return np.asarray((place < SAMPLES) | (age < FINE_NS) | is_new, np.bool_)
