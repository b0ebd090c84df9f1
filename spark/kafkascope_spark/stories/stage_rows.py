"""Rows on their way through the story job: columns to sort by, and a body for Python only.

There are some forty kinds of rows, each with fields of its own. So a body is one binary column, made by `pickle`, as
Spark itself passes Python objects between workers.
"""

import pickle
from typing import Any

from kafkascope_analyzer.dataset.row_types import StoryRow
from kafkascope_spark.stories.model import Row

BODY = "body"
_PROTOCOL = 5
"""The version of the pickle format, the same for every release of Python."""


def packed(body: Row | StoryRow | tuple[Any, ...]) -> bytes:
    """The body of a row as bytes."""
    return pickle.dumps(body, _PROTOCOL)


def unpacked(body: bytes) -> Any:
    """The body that `packed` made bytes of."""
    return pickle.loads(body)
