"""One process reads, and each of the others works on a bucket: blocks are in memory that all share, and pipes pass
their places.

A worker lives from the scan to the finish of its bucket. A slot is free again as soon as all workers have copied the
payload of their connections from it. So the reader fills one slot while the workers decode what was in the other, and
waits for the slowest worker when both are in use, so that memory does not grow.
"""

import gc
import mmap
import shutil
import signal
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from functools import partial
from multiprocessing import get_context
from multiprocessing.connection import Connection, wait
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from kafkascope_analyzer.read.open_reading import Inputs, open_reading
from kafkascope_analyzer.read.reading import ReadBlock
from kafkascope_analyzer.resolve.learned import Learned
from kafkascope_analyzer.resolve.tables.bucket_tables import finish_bucket
from kafkascope_analyzer.resolve.tables.finished_files import Finished
from kafkascope_analyzer.resolve.tasks import SpillTask
from kafkascope_analyzer.workers.engine import NotWrittenError, Progress, Scanned, push_all
from kafkascope_analyzer.workers.worker import BucketResult, BucketScans, ScanJob
from kafkascope_parsers.capture import HEAD_BYTES
from kafkascope_parsers.errors import UsageError
from kafkascope_parsers.link import Segments
from kafkascope_parsers.link.segments import SEGMENT_COLUMNS, SegmentArrays, room_for_segments

_N_SLOTS = 2
"""One for the block that is being read, one for the block that the workers take next."""
_FIRST_SHARE = 2
"""The first block has this part of the bytes of a slot: it is read while the workers load the kernels, and a larger one
would be read when they are waiting."""
_LEAST_PACKET = 48
"""Fewest bytes of a capture file per segment: a record header, an IP and a TCP header are 56."""


_DIED = "a worker process ended unexpectedly, perhaps for want of memory: try a smaller --max-memory, or fewer --jobs"


class WorkerDiedError(UsageError):
    """A process ended without a message: most often the system was out of memory and killed it."""


@dataclass(frozen=True, slots=True)
class _Place:
    """The place of a block: its slot, the number of its bytes, and the number of its segments."""

    slot: int
    n_bytes: int
    n_segments: int


class _Slot:
    """Memory of one block: its bytes, and the columns of its segments."""

    def __init__(self, block_bytes: int) -> None:
        columns = list(SEGMENT_COLUMNS.values())
        self.room = block_bytes // _LEAST_PACKET + 1
        sizes = [self.room * dtype.itemsize * width for dtype, width in columns]
        starts = np.cumsum([_aligned(block_bytes), *map(_aligned, sizes)]).tolist()
        memory = np.frombuffer(mmap.mmap(-1, starts[-1]), np.uint8)  # shared by fork; takes memory only when written to
        self.buf: NDArray[np.uint8] = memory[:block_bytes]
        self._columns = [
            memory[at : at + size].view(dtype).reshape((self.room, width) if width > 1 else self.room)
            for at, size, (dtype, width) in zip(starts, sizes, columns, strict=False)
        ]

    def put(self, segments: Segments) -> None:
        """Stores the segments, for which there is room."""
        for column, name in zip(self._columns, SegmentArrays._fields, strict=True):
            column[: len(segments)] = getattr(segments, name)

    def segments(self, n: int) -> Segments:
        """Returns the first n segments."""
        return Segments(*(column[:n] for column in self._columns))

    def block(self, block: ReadBlock, place: _Place) -> ReadBlock:
        """Returns the block with its bytes and segments in this slot."""
        return replace(block, buf=self.buf[: place.n_bytes], segments=self.segments(place.n_segments))


def _aligned(n_bytes: int) -> int:
    return -(-n_bytes // 64) * 64


class Workers:
    """The processes of one run. `Buffers` for the reader: its blocks go to all workers without being copied."""

    def __init__(self, jobs: list[ScanJob]) -> None:
        limits = jobs[0].bucket.limits
        # Without fork, memory cannot be shared like this, and blocks are sent through the pipes.
        context = get_context("fork") if _can_fork() else get_context("spawn")
        # Each block costs each process some 20 ms whatever is in it, so each process needs its share to be large.
        shared_bytes = limits.block_bytes * (len(jobs) + 1) // 2
        self._slots = [_Slot(shared_bytes) for _ in range(_N_SLOTS)] if _can_fork() else []
        self._own: NDArray[np.uint8] = np.empty(0 if self._slots else limits.block_bytes, np.uint8)
        self._in_use: Counter[int] = Counter()
        self._current = -1
        self._pipes: list[Connection] = []
        self._processes = []
        gc.freeze()  # loaded objects stay: they are not collected, and not copied into workers by the collector
        for job in jobs:
            ours, theirs = context.Pipe()
            process = context.Process(target=_work, args=(job, theirs, self._slots), daemon=True)
            process.start()
            theirs.close()
            self._pipes.append(ours)
            self._processes.append(process)

    @property
    def pids(self) -> list[int]:
        """Process ids of the workers, in the order of the jobs."""
        return [process.pid for process in self._processes if process.pid is not None]

    def next(self) -> NDArray[np.uint8]:
        """Returns a buffer that no worker reads."""
        if not self._slots:
            return self._own
        while True:
            free = [i for i in range(len(self._slots)) if not self._in_use[i] and i != self._current]
            if free:
                is_first, self._current = self._current < 0, free[0]
                buf = self._slots[self._current].buf
                return buf[: max(len(buf) // _FIRST_SHARE, HEAD_BYTES)] if is_first else buf
            self._listen()

    def push(self, block: ReadBlock) -> None:
        """Passes a block to all workers."""
        place = self._place(block)
        datagrams = block.datagrams
        if place is not None:
            while self._in_use[place.slot]:  # the previous block was in the same bytes, and its segments are still read
                self._listen()
            self._slots[place.slot].put(block.segments)
            self._in_use[place.slot] += len(self._pipes)
            nothing = np.empty(0, np.uint8)
            block = replace(block, buf=nothing, segments=self._slots[place.slot].segments(0))
        for number, pipe in enumerate(self._pipes):
            self._send(pipe, (place, replace(block, datagrams=datagrams if number == 0 else [])))

    def scanned(self) -> list[BucketResult]:
        """Ends the scans, and releases the memory of blocks."""
        for pipe in self._pipes:
            self._send(pipe, None)
        results = [cast(BucketResult, self._answer(pipe)) for pipe in self._pipes]
        self._slots.clear()
        return results

    def done(self, tasks: Sequence[SpillTask]) -> list[Any]:
        """Has the workers do tasks, each one that of its number, as far as there are that many. Returns what each task
        has found."""
        n, found = len(self._pipes), list[Any]()
        for first in range(0, len(tasks), n):
            at_work = list(zip(self._pipes, tasks[first : first + n], strict=False))
            for pipe, task in at_work:
                self._send(pipe, task)
            found += [self._answer(pipe) for pipe, _ in at_work]
        return found

    def finished(self, learned: Learned, meanwhile: Callable[[], None] | None = None) -> list[Finished]:
        """Has each worker finish its bucket, and calls `meanwhile`. learned: facts from all buckets. Returns the
        results of the workers."""
        for pipe in self._pipes:
            self._send(pipe, learned)
        if meanwhile is not None:
            meanwhile()
        return [cast(Finished, self._answer(pipe)) for pipe in self._pipes]

    def stop(self) -> None:
        """Ends the processes at once."""
        for process in self._processes:
            process.kill()

    def join(self) -> None:
        """Waits for the processes to end."""
        for pipe in self._pipes:
            pipe.close()
        for process in self._processes:
            process.join()
        gc.unfreeze()  # DuckDB's bindings report what was not collected when the interpreter ends

    def _place(self, block: ReadBlock) -> _Place | None:
        """Returns the slot whose memory the block uses; None where it is stored elsewhere, and has to be sent."""
        if not self._slots or self._current < 0:
            return None
        slot = self._slots[self._current]
        same = block.buf.__array_interface__["data"][0] == slot.buf.__array_interface__["data"][0]
        if not same or len(block.buf) > len(slot.buf) or len(block.segments) > slot.room:
            return None
        return _Place(self._current, len(block.buf), len(block.segments))

    def _send(self, pipe: Connection, word: object) -> None:
        try:
            pipe.send(word)
        except (BrokenPipeError, ConnectionResetError):
            self._answer(pipe)  # raises the worker's error
            raise WorkerDiedError(_DIED) from None

    def _listen(self) -> None:
        """Waits until a worker has finished a block."""
        for pipe in wait(self._pipes):
            self._receive(cast(Connection, pipe))

    def _answer(self, pipe: Connection) -> object:
        """Returns the next message of the worker that is not about a finished block."""
        while True:
            word = self._receive(pipe)
            if not isinstance(word, _Done):
                return word

    def _receive(self, pipe: Connection) -> object:
        try:
            word = pipe.recv()
        except (EOFError, ConnectionResetError):
            raise WorkerDiedError(_DIED) from None
        if isinstance(word, Exception):
            raise word
        if isinstance(word, _Done):
            self._in_use[word.slot] -= 1
        return word


@dataclass(frozen=True, slots=True)
class _Done:
    """Message: a worker no longer needs a slot."""

    slot: int


@contextmanager
def workers(jobs: list[ScanJob]) -> Iterator[Workers]:
    """Starts processes for the jobs, which end with the block."""
    pool = Workers(jobs)
    whole = False
    try:
        yield pool
        whole = True
    finally:
        if not whole:
            pool.stop()
        pool.join()


class Processes:
    """The engine of larger captures: this process reads, and there is a process for each bucket. See `Engine`."""

    def __init__(self, n_buckets: int) -> None:
        self.n_buckets = n_buckets
        self._running = ExitStack()
        self._pool: Workers | None = None

    def __enter__(self) -> "Processes":
        return self

    def __exit__(self, *failure: Any) -> None:
        """Waits for the processes; ends them where the run has failed."""
        self._running.__exit__(*failure)

    def scan(self, jobs: Sequence[ScanJob], inputs: Inputs, progress: Progress | None = None) -> Scanned:
        """Reads the inputs, and passes each block to the processes, which scan it."""
        self._pool = self._running.enter_context(workers(list(jobs)))
        reading = open_reading(inputs, self._pool)
        push_all(reading, self._pool.push, progress)
        return Scanned(reading.captures, reading.limits_hit, self._pool.scanned(), reading.network_times())

    def run(self, tasks: Sequence[SpillTask]) -> list[Any]:
        """Runs the tasks in the processes."""
        assert self._pool is not None  # `scan` was called first
        return self._pool.done(tasks)

    def finish(self, learned: Learned, meanwhile: Callable[[], None] | None = None) -> Finished:
        """Lets each process finish its buckets: the second pass."""
        assert self._pool is not None  # `scan` was called first
        return Finished.joined(self._pool.finished(learned, meanwhile))


def _can_fork() -> bool:
    """Whether workers can be forked, so that they have the modules loaded already; where fork is not safe they are
    started anew."""
    return sys.platform == "linux"


def _work(job: ScanJob, pipe: Connection, slots: list[_Slot]) -> None:
    """Runs a worker: scans its bucket block by block, then finishes it. Ctrl-C is handled by the reader, which ends its
    workers."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    try:
        scans = BucketScans(job)
        scans.push(_nothing())  # loads the kernels while the first block is read
        while (word := pipe.recv()) is not None:
            place, block = cast(tuple[_Place | None, ReadBlock], word)
            if place is None:
                scans.push(block)
                continue
            scans.push(slots[place.slot].block(block, place), partial(pipe.send, _Done(place.slot)))
        slots.clear()
        result = scans.finish()
        pipe.send(result)
        scans.close()  # meanwhile the reader learns the cluster
        while not isinstance(learned := pipe.recv(), Learned):
            pipe.send(cast(SpillTask, learned)(job.bucket.spill.parent))
        finished = Finished.joined(finish_bucket(bucket, learned) for bucket in result.buckets)
        for bucket in result.buckets if not job.keeps_state else ():
            for spill in (bucket.spill, *learned.parts_of(bucket.spill)):
                shutil.rmtree(spill, ignore_errors=True)  # in the worker, so that it happens in parallel
        pipe.send(finished)
    except EOFError:
        return  # the reader has ended, and so has the run
    except OSError as error:  # no space for files: the reader reports it
        pipe.send(NotWrittenError.of(error))
    except MemoryError as error:
        pipe.send(error)


def _nothing() -> ReadBlock:
    """Returns a block without packets."""
    return ReadBlock(0, 0, np.empty(0, np.uint8), Segments(*room_for_segments(0)), [])
