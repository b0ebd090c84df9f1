"""The usual latency of each server for each API, without the wait that the request allows, and without its wait for the
previous response.

Latencies are counted in classes that are an eighth of an octave wide, so that the cost does not grow with their number
and the median does not depend on the buckets.
"""

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from kafkascope_analyzer.resolve.servers.hosts import ServerHosts
from kafkascope_analyzer.resolve.servers.run_union import Ints
from kafkascope_analyzer.scan.apis import int_column
from kafkascope_analyzer.scan.spill import read_spill

_NS_PER_MS, _NS_PER_US = 1_000_000, 1_000
_CLASSES_PER_OCTAVE, _N_CLASSES = 8, 512
_MOST_KEYS = 1 << 7
"""Limit of API keys: Kafka has less than a hundred APIs; a server takes 256 KB while latencies are counted."""
_COLUMNS = ["conn", "api_key", "request_last_ns", "response_ns", "max_wait_ms", "queued_ns"]


def usual_latency_ns(hosts: ServerHosts, in_question: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Returns the median of each server and API key (rows of servers, _MOST_KEYS columns), 0 where there is none.
    in_question: mask of the wanted servers."""
    numbers = np.cumsum(in_question) - 1
    counts = np.zeros((int(in_question.sum()) * _MOST_KEYS, _N_CLASSES), np.int32)
    for spill, first in hosts.first_row.items():
        for rows in read_spill(spill, "requests", _COLUMNS):
            server = hosts.server[rows["conn"].to_numpy() + first]
            api_key = int_column(rows, "api_key", -1)
            chosen = (server >= 0) & in_question[server] & (api_key >= 0) & (api_key < _MOST_KEYS)
            chosen &= np.asarray(rows["response_ns"].is_valid())
            np.add.at(counts, (numbers[server[chosen]] * _MOST_KEYS + api_key[chosen], _classes(rows)[chosen]), 1)
    medians = np.zeros((len(in_question), _MOST_KEYS), np.int64)
    half = (counts.sum(1, keepdims=True) + 1) // 2
    place = (np.cumsum(counts, 1) >= half).argmax(1)
    usual = (2 ** (place / _CLASSES_PER_OCTAVE) * _NS_PER_US).astype(np.int64)
    medians[in_question] = np.where(half[:, 0] > 0, usual, 0).reshape(-1, _MOST_KEYS)
    return medians


def _classes(rows: pa.Table) -> Ints:
    """Returns the class of each latency beyond what the request allows, counted from when the server could begin."""
    allowed = int_column(rows, "max_wait_ms", 0) * _NS_PER_MS
    took = int_column(rows, "response_ns", 0) - int_column(rows, "request_last_ns", 0)
    took -= int_column(rows, "queued_ns", 0) + np.maximum(allowed, 0)
    octaves = np.log2(np.maximum(took // _NS_PER_US, 1))
    return np.asarray(np.minimum(octaves * _CLASSES_PER_OCTAVE, _N_CLASSES - 1).astype(np.int64))
