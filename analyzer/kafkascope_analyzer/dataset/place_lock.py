"""Lets only one run at a time change a place: write its mark, replace the manifest, remove files.

On a local file system that is a lock (flock) on a file that is removed afterwards; the system releases it however a
process ends. Stores have no locks, and pyarrow cannot write an object conditionally, so there each run first writes a
claim and then lists the claims: it continues when it sees only its own. Two runs cannot both see that, because listings
of S3, Google Cloud Storage, Azure and HDFS show every object that was written before. Of several runs the one with the
lowest id waits, and the others withdraw. A claim of a killed run counts for STALE_SECONDS at most.
"""

import os
import re
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from kafkascope_analyzer.dataset.run_marks import Owner, try_lock
from kafkascope_analyzer.dataset.storage import Storage
from kafkascope_parsers.errors import UsageError

LOCK = "_changing.lock"
CLAIM = re.compile(r"_changing-([0-9a-f]{12})\.json")
WAIT_SECONDS = 60.0
"""Time for which a run waits for another one that changes the place."""
STALE_SECONDS = 600.0
"""Age from which on a claim of another machine counts as left by a killed run: a change takes seconds."""
_POLL_SECONDS = 0.02
_POLL_STORE_SECONDS = 0.3


@contextmanager
def exclusive(storage: Storage, run_id: str) -> Iterator[None]:
    """Keeps other runs from changing the place during the block. Locally the folder is made where it is missing, and
    removed where it is empty afterwards. Raises UsageError where another run does not end its change."""
    with _locked(storage) if storage.is_local else _claimed(storage, run_id):
        yield


@contextmanager
def _locked(storage: Storage) -> Iterator[None]:
    deadline = time.monotonic() + WAIT_SECONDS
    folder = Path(storage.path)
    with storage.failures(verb="written"):
        while (opened := _try_to_open(folder)) is None:
            _wait(storage, deadline, _POLL_SECONDS)
    try:
        yield
    finally:
        with suppress(OSError):
            (folder / LOCK).unlink()
        os.close(opened)
        with suppress(OSError):  # not empty
            folder.rmdir()


def _try_to_open(folder: Path) -> int | None:
    """Returns the lock's file, opened and locked; None where another run holds it, or has removed it meanwhile."""
    folder.mkdir(parents=True, exist_ok=True)
    try:
        opened = os.open(folder / LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o666)
    except FileNotFoundError:  # another run has just removed the folder
        return None
    try:
        if try_lock(opened) is not False and os.stat(folder / LOCK).st_ino == os.fstat(opened).st_ino:
            return opened
    except FileNotFoundError:  # its holder has removed it before it was locked here
        pass
    except BaseException:
        os.close(opened)
        raise
    os.close(opened)
    return None


@contextmanager
def _claimed(storage: Storage, run_id: str) -> Iterator[None]:
    mine = f"_changing-{run_id}.json"
    deadline = time.monotonic() + WAIT_SECONDS
    try:
        is_put = False
        while True:
            if not is_put:
                storage.write_bytes(mine, Owner.this_process().to_bytes())
                is_put = True
            others = _other_claims(storage, mine)
            if not others:
                break
            if min(others) < mine:
                storage.remove(mine)
                is_put = False
            _wait(storage, deadline, _POLL_STORE_SECONDS)
        yield
    finally:
        with suppress(UsageError):  # an unreachable store: the claim counts for STALE_SECONDS
            storage.remove(mine)


def _other_claims(storage: Storage, mine: str) -> list[str]:
    """Returns the claims of other runs that may still be running. Removes those of runs that are not."""
    found = []
    for entry in storage.entries():
        name = str(entry.base_name)
        if name == mine or not CLAIM.fullmatch(name):
            continue
        with suppress(FileNotFoundError):
            owner = Owner.parse(storage.read_bytes(name))
            if owner is not None and owner.is_at_work(STALE_SECONDS):
                found.append(name)
            else:
                storage.remove(name)
    return found


def _wait(storage: Storage, deadline: float, seconds: float) -> None:
    if time.monotonic() > deadline:
        raise UsageError(f"{storage}: another run is changing it right now: try again")
    time.sleep(seconds)
