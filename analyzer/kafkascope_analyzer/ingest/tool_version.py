"""The version of kafkascope that is recorded in a dataset, with a digest of the sources of ingest.

A run continues from saved state only if that was written by the same sources: in a clone these change while the version
stays the same.
"""

import os
from functools import cache
from glob import glob
from hashlib import blake2b
from importlib.metadata import version

import kafkascope_analyzer
import kafkascope_parsers

_DIGEST_BYTES = 4


@cache
def tool_version() -> str:
    """Returns for example `0.1.0+38df675e`: a local version identifier (PEP 440)."""
    digest = blake2b(digest_size=_DIGEST_BYTES)
    for package in (kafkascope_parsers, kafkascope_analyzer):
        for folder in package.__path__:
            for name in sorted(glob("**/*.py", root_dir=folder, recursive=True)):  # paths as texts: there are 700
                with open(os.path.join(folder, name), "rb") as source:
                    digest.update(f"\0{name.replace(os.sep, '/')}\0".encode() + source.read())
    return f"{version('kafkascope')}+{digest.hexdigest()}"
