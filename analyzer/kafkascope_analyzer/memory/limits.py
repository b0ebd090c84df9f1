"""Sizes of what is held at a time, scaled by `--max-memory`, and carried from the command to the code that holds the
bytes.

Without that option a process stays below DEFAULT_BYTES for a capture of any size, as long as it has few connections:
some 250,000 in a process reach it. BASE_BYTES are reserved for memory
that does not depend on these sizes: Python, Arrow and compiled kernels (some 250 MB), and facts about connections (some
1.6 kB each in the first pass; 4 kB in the second, which takes at most worker.GROUP_CONNECTIONS at a time). The rest is
divided in fixed proportions, so that the data of a block at each stage (segments, streams, frames, columns, rows not
written yet) fits. Results do not depend on it, unless a limit is reached that the manifest names.
"""

import re
from dataclasses import dataclass, field

from kafkascope_analyzer.dataset.writer import ROW_GROUP_BYTES, ROW_GROUP_ROWS, RowGroup
from kafkascope_analyzer.read.source import BLOCK_BYTES
from kafkascope_parsers.errors import UsageError
from kafkascope_parsers.framing.layout import WAITING_LIMIT_IN_ALL
from kafkascope_parsers.machine.decode import BATCH_BYTES
from kafkascope_parsers.records import INFLATE_LIMIT
from kafkascope_parsers.tcp.state import WAITING_BYTES_IN_ALL

DEFAULT_BYTES = 1 << 30
BASE_BYTES = 384 << 20
LEAST_BYTES = 512 << 20
"""Least memory: below it blocks are so small that the overhead of each exceeds its work."""

PENDING_BYTES = 64 << 20
"""Rows of message tables that are not written yet: one file per API and direction is open at once."""
KEPT_BYTES = 640 << 20
"""Resident memory of a process above which its free memory is returned to the system, which has a small cost."""
_LEAST_BLOCK_BYTES = 1 << 20
_LEAST_ROWS = 10_000
_LEAST_INFLATED_BYTES = 8 << 20
"""Least size to which a record batch may inflate: batches are 1 MiB by default (message.max.bytes), and some compress
to a tenth of that."""
_UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30}


@dataclass(frozen=True, slots=True)
class Limits:
    """Sizes of one process.

    block_bytes  of the capture, read at a time; batch_bytes: columns decoded at a time
    row_group, pending_bytes  rows gathered per table before they are written, and of all message tables
    waiting_requests, waiting_bytes  requests that wait for responses, stream bytes that wait behind holes
    inflated_bytes  that a record batch may inflate to, where records are opened
    kept_bytes  resident memory below which free memory is kept for the next block
    """

    block_bytes: int = BLOCK_BYTES
    batch_bytes: int = BATCH_BYTES
    row_group: RowGroup = field(default_factory=RowGroup)
    pending_bytes: int = PENDING_BYTES
    waiting_requests: int = WAITING_LIMIT_IN_ALL
    waiting_bytes: int = WAITING_BYTES_IN_ALL
    inflated_bytes: int = INFLATE_LIMIT
    kept_bytes: int = KEPT_BYTES


def limits_within(max_bytes: int | None) -> Limits:
    """Returns the sizes with which a process stays below max_bytes (None: DEFAULT_BYTES). Raises UsageError where there
    are none."""
    if max_bytes is None or max_bytes >= DEFAULT_BYTES:
        return Limits()
    if max_bytes < LEAST_BYTES:
        raise UsageError(f"--max-memory: a process needs at least {LEAST_BYTES >> 20}M")
    share = (max_bytes - BASE_BYTES) / (DEFAULT_BYTES - BASE_BYTES)
    return Limits(
        max(int(BLOCK_BYTES * share), _LEAST_BLOCK_BYTES),
        int(BATCH_BYTES * share),
        RowGroup(max(int(ROW_GROUP_ROWS * share), _LEAST_ROWS), int(ROW_GROUP_BYTES * share)),
        int(PENDING_BYTES * share),
        int(WAITING_LIMIT_IN_ALL * share),
        int(WAITING_BYTES_IN_ALL * share),
        max(int(INFLATE_LIMIT * share), _LEAST_INFLATED_BYTES),
        int(KEPT_BYTES * max_bytes / DEFAULT_BYTES),
    )


def parse_size(text: str) -> int:
    """Returns the bytes of a size such as 512M, 1G, 1.5GiB or 536870912; units are powers of 1024. Raises
    UsageError."""
    found = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([KMG]?)(?:i?B)?", text.strip(), re.IGNORECASE)
    if found is None:
        raise UsageError(f"--max-memory: {text} is not a size: write it as 512M or 1G")
    return int(float(found[1]) * _UNITS[found[2].upper()])
