"""The version of kafkascope that is recorded in a dataset, with a digest of the sources of ingest.

A run continues from saved state only if that was written by the same sources: in a clone these change while the version
stays the same.
"""

from functools import cache
from hashlib import blake2b
from importlib.metadata import version
from pathlib import Path

import kafkascope_analyzer
import kafkascope_parsers

_DIGEST_BYTES = 4


@cache
def tool_version() -> str:
    """Returns for example `0.1.0+38df675e`: a local version identifier (PEP 440)."""
    digest = blake2b(digest_size=_DIGEST_BYTES)
    for package in (kafkascope_parsers, kafkascope_analyzer):
        for folder in map(Path, package.__path__):
            for source in sorted(folder.rglob("*.py")):
                digest.update(f"\0{source.relative_to(folder).as_posix()}\0".encode() + source.read_bytes())
    return f"{version('kafkascope')}+{digest.hexdigest()}"
