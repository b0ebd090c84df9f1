"""Rows on their way from one stage of the story job to the next: columns to sort by, and a body for Python only.

There are some thirty kinds of rows, each with fields of its own. As a typed column for each kind, null in the rows of
all others, they would cost Spark more to plan, to convert and to sort than the state machines take to read them. So a
body is one binary column, made by `pickle`, as Spark itself passes Python objects between workers.
"""

import pickle
from typing import Any

Row = dict[str, Any]
BODY = "body"
_PROTOCOL = 5
"""Of pickle: the executors may run another release of Python than the driver of a Spark Connect server."""


def packed(body: Row) -> bytes:
    """The body of a row as bytes."""
    return pickle.dumps(body, _PROTOCOL)


def unpacked(body: bytes) -> Row:
    """The body that `packed` made bytes of."""
    row: Row = pickle.loads(body)
    return row
