"""The life of a client object as its starts see it: (state, event) → state, and at which of them a start is told.

absent: no connection of it is open, and none of its starts is under way. starting: a connection was opened, it is
not ready yet. retrying: the start goes on, but all its connections are gone. settling: ready, its first heartbeat
and commit are still awaited. running: ready and settled.
"""

import enum


class State(enum.Enum):
    """Where the client object is."""

    __hash__ = object.__hash__  # of the member, not of its name: it is looked up for each event

    ABSENT = "absent"
    STARTING = "starting"
    RETRYING = "retrying"
    SETTLING = "settling"
    RUNNING = "running"


class Happening(enum.Enum):
    """What moves it."""

    __hash__ = object.__hash__

    OPENED = "a connection was opened"
    OPENED_LATE = "a connection was opened after a long silence"
    READY = "the answer that makes it ready arrived"
    SETTLED = "the steps after ready are done, or their time is up"
    ALL_GONE = "its last connection ended"
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
    (_S.STARTING, _H.ENDED): _S.ABSENT,
    (_S.RETRYING, _H.OPENED): _S.STARTING,
    (_S.RETRYING, _H.OPENED_LATE): _S.STARTING,
    (_S.RETRYING, _H.READY): _S.SETTLING,
    (_S.RETRYING, _H.ENDED): _S.ABSENT,
    (_S.SETTLING, _H.OPENED): _S.SETTLING,
    (_S.SETTLING, _H.OPENED_LATE): _S.SETTLING,
    (_S.SETTLING, _H.SETTLED): _S.RUNNING,
    (_S.SETTLING, _H.ALL_GONE): _S.ABSENT,
    (_S.SETTLING, _H.ENDED): _S.ABSENT,
    (_S.RUNNING, _H.OPENED): _S.RUNNING,
    (_S.RUNNING, _H.OPENED_LATE): _S.RUNNING,
    (_S.RUNNING, _H.ALL_GONE): _S.ABSENT,
    (_S.RUNNING, _H.ENDED): _S.ABSENT,
}
"""What is not named does not move it: an answer to a client that is running makes it no readier."""

TELLS = frozenset(
    {
        (_S.STARTING, _H.ENDED),
        (_S.RETRYING, _H.OPENED_LATE),
        (_S.RETRYING, _H.ENDED),
        (_S.SETTLING, _H.SETTLED),
        (_S.SETTLING, _H.ALL_GONE),
        (_S.SETTLING, _H.ENDED),
    }
)
"""The transitions that end a start: its rows are told."""
BEGINS = frozenset({(_S.ABSENT, _H.OPENED), (_S.ABSENT, _H.OPENED_LATE), (_S.RETRYING, _H.OPENED_LATE)})
"""The transitions that begin one."""
