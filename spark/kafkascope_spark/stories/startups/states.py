"""The lifecycle of a client's starts as a table: (state, event) → state, and the transitions that begin or complete a
start.

absent: no connection of the client is open, and no start is in progress. starting: a connection was opened, and the
client is not ready yet. retrying: the start is in progress, and all its connections have ended. settling: the client is
ready, and its first heartbeat and commit are still expected. running: the start is complete.
"""

import enum


class State(enum.Enum):
    """The state of a client with respect to its starts."""

    __hash__ = object.__hash__  # the hash of the member instead of its name: it is looked up for each event

    ABSENT = "absent"
    STARTING = "starting"
    RETRYING = "retrying"
    SETTLING = "settling"
    RUNNING = "running"


class Happening(enum.Enum):
    """An event that may change the state."""

    __hash__ = object.__hash__

    OPENED = "a connection was opened"
    OPENED_LATE = "a connection was opened after a long silence"
    READY = "the response that makes it ready arrived"
    SETTLED = "the steps after ready are done, or their time is up"
    ALL_GONE = "its last connection ended"
    HIDDEN = "a time began that no file covers"
    ENDED = "the capture ended"


_S, _H = State, Happening
TRANSITIONS: dict[tuple[State, Happening], State] = {
    (_S.ABSENT, _H.OPENED): _S.STARTING,
    (_S.ABSENT, _H.OPENED_LATE): _S.STARTING,
    (_S.ABSENT, _H.ENDED): _S.ABSENT,
    (_S.STARTING, _H.OPENED): _S.STARTING,
    (_S.STARTING, _H.OPENED_LATE): _S.STARTING,
    (_S.STARTING, _H.READY): _S.SETTLING,
    (_S.STARTING, _H.ALL_GONE): _S.RETRYING,
    (_S.STARTING, _H.HIDDEN): _S.RUNNING,
    (_S.STARTING, _H.ENDED): _S.ABSENT,
    (_S.RETRYING, _H.OPENED): _S.STARTING,
    (_S.RETRYING, _H.OPENED_LATE): _S.STARTING,
    (_S.RETRYING, _H.READY): _S.SETTLING,
    (_S.RETRYING, _H.HIDDEN): _S.ABSENT,
    (_S.RETRYING, _H.ENDED): _S.ABSENT,
    (_S.SETTLING, _H.OPENED): _S.SETTLING,
    (_S.SETTLING, _H.OPENED_LATE): _S.SETTLING,
    (_S.SETTLING, _H.SETTLED): _S.RUNNING,
    (_S.SETTLING, _H.ALL_GONE): _S.ABSENT,
    (_S.SETTLING, _H.HIDDEN): _S.RUNNING,
    (_S.SETTLING, _H.ENDED): _S.ABSENT,
    (_S.RUNNING, _H.OPENED): _S.RUNNING,
    (_S.RUNNING, _H.OPENED_LATE): _S.RUNNING,
    (_S.RUNNING, _H.ALL_GONE): _S.ABSENT,
    (_S.RUNNING, _H.ENDED): _S.ABSENT,
}
"""A pair that is not in the table leaves the state as it is."""

COMPLETES = frozenset(
    {
        (_S.STARTING, _H.HIDDEN),
        (_S.STARTING, _H.ENDED),
        (_S.RETRYING, _H.OPENED_LATE),
        (_S.RETRYING, _H.HIDDEN),
        (_S.RETRYING, _H.ENDED),
        (_S.SETTLING, _H.SETTLED),
        (_S.SETTLING, _H.ALL_GONE),
        (_S.SETTLING, _H.HIDDEN),
        (_S.SETTLING, _H.ENDED),
    }
)
"""The transitions that complete a start: its rows are written."""
BEGINS = frozenset({(_S.ABSENT, _H.OPENED), (_S.ABSENT, _H.OPENED_LATE), (_S.RETRYING, _H.OPENED_LATE)})
"""The transitions that begin a start."""
