"""The TLS sessions of each bucket, so that its task keeps only the secrets of these.

Secrets are never passed between tasks: each task reads the key logs itself, and the tasks of the first stage report
only the plain text of hellos. A task skips the secrets of sessions that are only in other buckets. So it has those of
its own connections, of the sessions that these resume, and of sessions without a hello in the captures, which are tried
for each connection that began before the capture.
"""

from collections.abc import Iterator, Sequence
from itertools import chain
from typing import NamedTuple

import numpy as np

from kafkascope_analyzer.dataset.leftovers import spill_folder
from kafkascope_analyzer.read.key_logs import read_key_logs
from kafkascope_analyzer.read.reading import ReadBlock
from kafkascope_parsers.tcp.shares import buckets_of
from kafkascope_parsers.tls import KeyLog, OriginalSessions, ResumedSessions, SessionMessage, session_messages
from kafkascope_spark.ingest.task_files import TaskRun

_ROW = np.dtype([("bucket", "<i8"), ("random", "V32"), ("original", "V32")])
"""A session and the client random of the session that it resumes; its own client random if it resumes none."""


class ShownSession(NamedTuple):
    """A handshake message that identifies a session, with the bucket of its connection."""

    bucket: int
    message: SessionMessage


def shown_sessions(run: TaskRun, block: ReadBlock) -> Iterator[ShownSession]:
    """Yields the handshake messages of a block that identify sessions; none if the run has no key logs."""
    if run.key_logs:
        found = list(session_messages(block.buf, block.segments))
        rows = np.array([row for row, _ in found], np.int64)
        buckets = buckets_of(block.segments, rows, run.n_buckets).tolist()
        yield from (ShownSession(bucket, message) for bucket, (_, message) in zip(buckets, found, strict=True))


def save_sessions(run: TaskRun, sessions: Sequence[ShownSession]) -> str:
    """Writes the sessions of all buckets into the run's shared spill; they contain no secrets. sessions: in the order
    of the captures. Returns the path of the file."""
    original = OriginalSessions()
    resumed = ResumedSessions(original)
    for session in sessions:
        resumed.take(session.message)
    hellos = [(bucket, message.random) for bucket, message in sessions if message.random]
    rows = np.array([(bucket, random, original.of.get(random, random)) for bucket, random in hellos], _ROW)
    place = f"{spill_folder(run.run_id)}/driver/tls-sessions"
    run.storage.write_bytes(place, rows.tobytes())
    return place


def key_log_of(run: TaskRun, bucket: int, place: str) -> KeyLog:
    """Returns the secrets that a bucket may need. place: file of `save_sessions`. Raises UsageError if a key log cannot
    be read."""
    rows = np.frombuffer(run.storage.read_bytes(place), _ROW)
    own = rows[rows["bucket"] == bucket]
    pairs = list(zip(_randoms(own["random"]), _randoms(own["original"]), strict=True))
    log = read_key_logs(run.key_logs, frozenset(_randoms(rows["random"])).difference(chain.from_iterable(pairs)))
    for random, original in pairs:
        log.share(random, original)
    return log


def _randoms(column: np.ndarray) -> list[bytes]:
    return [value.tobytes() for value in column]
