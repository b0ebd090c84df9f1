"""Copies chunks into runs, sorted by direction, and by stream order within a direction.

A run ends if the next chunk of its direction does not begin at its end. The chunks of tails (bytes that framing left of
the block before) come before those of the block, so that a direction's stream continues where framing stopped.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from kafkascope_parsers.kernel_instruction import CACHE_LINE, prefetch
from kafkascope_parsers.kernels import kernel
from kafkascope_parsers.row_copies import joined_rows
from kafkascope_parsers.tcp.state import CHUNK, FROM_BLOCK, FROM_TAIL, FROM_WAITING
from kafkascope_parsers.tcp.streams import GAP_LOST, GAP_NONE, Streams


class Sources(NamedTuple):
    """The buffers that chunks point into: the block, waiting bytes of earlier blocks, tails."""

    block: NDArray[np.uint8]
    waiting: NDArray[np.uint8]
    tails: NDArray[np.uint8]


_AHEAD = 4
"""How many chunks before it is copied the beginning of a payload is prefetched."""
_BEGINNING = 8 * CACHE_LINE
"""Bytes of a payload that are prefetched; behind them the processor has noticed the sequential read."""

PER_RUN = ("direction", "start", "end", "stream_offset", "gap_before", "gap_kind", "gap_after")
"""Columns of Streams that have a row for each run."""


@kernel
def mark_directions(chunks: NDArray[np.void], sides: NDArray[np.void], found: NDArray[np.int64]) -> int:
    """Collects the directions of chunks, each once, and marks them in `slot`. Returns their number."""
    n = 0
    for i in range(len(chunks)):
        d = chunks[i].direction
        if sides[d].slot == -1:
            sides[d].slot = -2
            found[n] = d
            n += 1
    return n


@kernel
def order_chunks(
    chunks: NDArray[np.void],
    sides: NDArray[np.void],
    directions: NDArray[np.int64],
    first: NDArray[np.int64],
    order: NDArray[np.int64],
) -> int:
    """A stable counting sort of chunks by direction; unmarks `slot`. first: zeros, one more than directions. Returns
    the bytes of all chunks."""
    total = 0
    for k in range(len(directions)):
        sides[directions[k]].slot = k
    for i in range(len(chunks)):
        first[sides[chunks[i].direction].slot + 1] += 1
        total += chunks[i].length
    for k in range(len(directions)):
        first[k + 1] += first[k]
    for i in range(len(chunks)):
        k = sides[chunks[i].direction].slot
        order[first[k]] = i
        first[k] += 1
    for k in range(len(directions)):
        sides[directions[k]].slot = -1
    return total


@kernel
def copy_bytes(target: NDArray[np.uint8], source: NDArray[np.uint8]) -> None:
    """Copies source over target. A loop over two views becomes vector moves; slice assignment is three times slower."""
    for i in range(min(len(target), len(source))):
        target[i] = source[i]


@kernel
def gap_before(chunk: Any, me: Any) -> Any:
    """The number of bytes missing before a chunk that begins a run; counts them."""
    if chunk.source == FROM_TAIL:
        return 0
    gap = chunk.stream_offset - (me.stream_bytes + me.missing_bytes + me.cut_bytes)
    if chunk.gap_kind == GAP_LOST:
        me.missing_bytes += gap
    else:
        me.cut_bytes += gap
    return gap


@kernel
def prefetch_payload(chunks: NDArray[np.void], order: NDArray[np.int64], k: int, block: NDArray[np.uint8]) -> None:
    """Prefetches the beginning of a payload that is copied soon after that of the k-th chunk: payloads of one direction
    lie scattered in the block."""
    last = len(order) - 1
    prefetch(chunks, order[min(k + 2 * _AHEAD, last)])
    at = chunks[order[min(k + _AHEAD, last)]].at
    for behind in range(0, _BEGINNING, CACHE_LINE):
        prefetch(block, at + behind)


@kernel
def copy_chunks(
    chunks: NDArray[np.void],
    order: NDArray[np.int64],
    sides: NDArray[np.void],
    sources: Sources,
    runs: Streams,
) -> int:
    """Copies the chunks in the given order to runs.data, and writes runs and pieces. Returns the number of runs."""
    n, place, direction, expected = 0, 0, -1, 0
    for k in range(len(order)):
        prefetch_payload(chunks, order, k, sources.block)
        chunk = chunks[order[k]]
        length = chunk.length
        if chunk.direction != direction or chunk.stream_offset != expected:
            gap = gap_before(chunk, sides[chunk.direction])
            runs.direction[n], runs.start[n] = chunk.direction, place
            runs.stream_offset[n], runs.gap_before[n] = chunk.stream_offset, gap
            runs.gap_kind[n] = GAP_NONE if gap == 0 else chunk.gap_kind
            n += 1
        direction, expected = chunk.direction, chunk.stream_offset + length
        if chunk.source != FROM_TAIL:
            sides[direction].stream_bytes += length
        at, target = chunk.at, runs.data[place : place + length]
        if chunk.source == FROM_BLOCK:
            copy_bytes(target, sources.block[at : at + length])
        elif chunk.source == FROM_WAITING:
            copy_bytes(target, sources.waiting[at : at + length])
        else:
            copy_bytes(target, sources.tails[at : at + length])
        runs.piece_start[k], runs.piece_ts_ns[k], runs.piece_packet[k] = place, chunk.ts_ns, chunk.packet_no
        place += length
        runs.end[n - 1] = place
    return n


@kernel
def copy_tails(
    streams: Streams, consumed: NDArray[np.int64], chunks: NDArray[np.void], tails: NDArray[np.uint8]
) -> tuple[int, int]:
    """Copies the unread rest of each direction's last run, packet by packet. Returns the number of chunks and bytes.

    consumed: per run, how far it was read in data. There is room for one chunk per piece and for all bytes of the
    runs' ends.
    """
    data, runs = streams.data, streams
    n, size, piece = 0, 0, 0
    for r in range(len(runs.start)):
        end = runs.end[r]
        at = min(max(consumed[r], runs.start[r]), end)
        if at == end or (r + 1 < len(runs.start) and runs.direction[r + 1] == runs.direction[r]):
            continue
        while piece + 1 < len(runs.piece_start) and runs.piece_start[piece + 1] <= at:
            piece += 1
        while at < end:
            to = end if piece + 1 == len(runs.piece_start) else min(end, runs.piece_start[piece + 1])
            chunk = chunks[n]
            chunk.direction, chunk.stream_offset = runs.direction[r], runs.stream_offset[r] + at - runs.start[r]
            chunk.at, chunk.length, chunk.source, chunk.gap_kind = size, to - at, FROM_TAIL, GAP_NONE
            chunk.ts_ns, chunk.packet_no = runs.piece_ts_ns[piece], runs.piece_packet[piece]
            copy_bytes(tails[size : size + to - at], data[at:to])
            n, size, at, piece = n + 1, size + to - at, to, min(piece + 1, len(runs.piece_start) - 1)
    return n, size


def _gaps_after(direction: NDArray[np.int64], sides: NDArray[np.void]) -> NDArray[np.uint8]:
    """gap_after of each run: a gap that its direction has reached since its last chunk."""
    last = np.ones(len(direction), np.bool_)
    last[:-1] = direction[1:] != direction[:-1]
    return np.where(last, sides["gap_kind"][direction], GAP_NONE).astype(np.uint8)


def room_for_runs(data: NDArray[np.uint8], n_chunks: int) -> Streams:
    """Room for the runs of n_chunks, whose bytes data has room for: at most one each; exactly one piece each."""
    kinds = {"gap_kind": np.uint8, "gap_after": np.uint8}
    columns: list[Any] = [np.empty(n_chunks, kinds.get(name, np.int64)) for name in Streams._fields[1:]]
    return Streams(data, *columns)


class Assembler:
    """Makes the runs of each block and keeps the tails between blocks. The bytes of a block's runs are valid until the
    next block."""

    def __init__(self) -> None:
        self._data = np.empty(0, np.uint8)
        self._tail_chunks = np.empty(0, CHUNK)
        self._tails = np.empty(0, np.uint8)

    def __getstate__(self) -> dict[str, Any]:
        """The saved state: the tails. The bytes of the last block's runs, up to a whole block, are not needed any
        more."""
        return self.__dict__ | {"_data": np.empty(0, np.uint8)}

    @property
    def tail_chunks(self) -> NDArray[np.void]:
        """The bytes that are kept for later blocks, as CHUNK rows."""
        return self._tail_chunks

    def assemble(
        self,
        chunks: NDArray[np.void],
        sources: tuple[NDArray[np.uint8], NDArray[np.uint8]],
        sides: NDArray[np.void],
        *,
        final: bool,
    ) -> Streams:
        """The runs of a block's chunks (in stream order per direction), which point into sources (block, waiting).

        The tails of every connection that has chunks come first; if final, those of all connections.
        """
        found = np.empty(len(chunks) + 1, np.int64)
        found = found[: mark_directions(chunks, sides, found)]
        tails, chosen = self._tail_chunks, np.zeros(len(self._tail_chunks), np.bool_)
        if len(tails):
            slots = sides["slot"]
            chosen = (slots[tails["direction"]] != -1) | (slots[tails["direction"] ^ 1] != -1) | final
            chunks = joined_rows([tails.compress(chosen), chunks])
            more = np.empty(len(chunks), np.int64)
            found = np.concatenate([found, more[: mark_directions(chunks, sides, more)]])
        found.sort()
        order = np.empty(len(chunks), np.int64)
        data = self._room(order_chunks(chunks, sides, found, np.zeros(len(found) + 1, np.int64), order))
        runs = room_for_runs(data, len(chunks))
        n = copy_chunks(chunks, order, sides, Sources(*sources, self._tails), runs)
        runs = runs._replace(**{name: getattr(runs, name)[:n] for name in PER_RUN})
        self._tail_chunks = tails.compress(~chosen)
        return runs._replace(gap_after=_gaps_after(runs.direction, sides))

    def keep_rest(self, streams: Streams, consumed: NDArray[np.int64]) -> None:
        """Keeps the unread rest of the last block's runs, and the tails of directions that had no chunks in it.
        consumed: per run, how far it was read in data.
        """
        chunks = np.empty(len(streams.piece_start) + 1, CHUNK)
        tails = np.empty(int((streams.end - np.clip(consumed, streams.start, streams.end)).sum()), np.uint8)
        n, size = copy_tails(streams, consumed, chunks, tails)
        kept = self._tail_chunks.copy()
        held = [
            self._tails[at : at + length]
            for at, length in zip(kept["at"].tolist(), kept["length"].tolist(), strict=True)
        ]
        kept["at"] = size + np.cumsum(kept["length"], dtype=np.int64) - kept["length"]
        self._tails = np.concatenate([tails[:size], *held]) if held else tails[:size]
        self._tail_chunks = joined_rows([kept, chunks[:n]])

    def _room(self, n_bytes: int) -> NDArray[np.uint8]:
        """Room for n_bytes. One buffer is used for all blocks, as the pages of a new one cost more than copying. It has
        room for twice as many bytes, as a block comes with the tails of those before it; pages that are never written
        cost nothing."""
        if len(self._data) < n_bytes:
            self._data = np.empty(2 * n_bytes, np.uint8)
        return self._data[:n_bytes]
