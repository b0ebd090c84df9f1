"""The lifecycle of an episode: (state, trigger) → state, and the party that is responsible for the time in each state.

waiting: the last event was an error, and the client has not reacted yet. asking: it sent a request that it needs first
(Metadata, FindCoordinator, JoinGroup, InitProducerId, ListOffsets …). connecting: a connection is being opened, or its
handshake is in progress (ApiVersions, SASL). informed: it got the response, or connected, and has not retried yet.
trying: a request on the resource is in flight.
"""

import enum

from kafkascope_spark.stories.recoveries.reaction import Reaction


class State(enum.Enum):
    """State of an episode."""

    WELL = "well"
    WAITING = "waiting"
    ASKING = "asking"
    CONNECTING = "connecting"
    INFORMED = "informed"
    TRYING = "trying"
    RECOVERED = "recovered"
    ENDED = "ended"


class Trigger(enum.Enum):
    """An event that may change the state."""

    ERROR = "an error on the resource"
    ASKED = "the client asked for what it needs first"
    ANSWERED = "that was answered"
    OPENED = "a connection was tried"
    UP = "a connection stands"
    GREETED = "ApiVersions or SASL began on it"
    TRIED = "a request on the resource was sent"
    SUCCEEDED = "the resource works"
    ENDED = "the client or the capture ended"


_S, _H = State, Trigger
_OPEN = (_S.WAITING, _S.ASKING, _S.CONNECTING, _S.INFORMED, _S.TRYING)
TRANSITIONS: dict[tuple[State, Trigger], State] = {
    (_S.WELL, _H.ERROR): _S.WAITING,
    **{(state, _H.ERROR): _S.WAITING for state in _OPEN},
    **{(state, _H.TRIED): _S.TRYING for state in _OPEN},
    **{(state, _H.SUCCEEDED): _S.RECOVERED for state in _OPEN},
    **{(state, _H.ENDED): _S.ENDED for state in _OPEN},
    (_S.WAITING, _H.ASKED): _S.ASKING,
    (_S.WAITING, _H.ANSWERED): _S.INFORMED,
    (_S.WAITING, _H.OPENED): _S.CONNECTING,
    (_S.WAITING, _H.UP): _S.WAITING,
    (_S.WAITING, _H.GREETED): _S.CONNECTING,
    (_S.ASKING, _H.ASKED): _S.ASKING,
    (_S.ASKING, _H.ANSWERED): _S.INFORMED,
    (_S.ASKING, _H.OPENED): _S.CONNECTING,
    (_S.ASKING, _H.UP): _S.ASKING,
    (_S.ASKING, _H.GREETED): _S.CONNECTING,
    (_S.CONNECTING, _H.ASKED): _S.ASKING,
    (_S.CONNECTING, _H.ANSWERED): _S.INFORMED,
    (_S.CONNECTING, _H.OPENED): _S.CONNECTING,
    (_S.CONNECTING, _H.UP): _S.INFORMED,
    (_S.CONNECTING, _H.GREETED): _S.CONNECTING,
    (_S.INFORMED, _H.ASKED): _S.ASKING,
    (_S.INFORMED, _H.ANSWERED): _S.INFORMED,
    (_S.INFORMED, _H.OPENED): _S.CONNECTING,
    (_S.INFORMED, _H.UP): _S.INFORMED,
    (_S.INFORMED, _H.GREETED): _S.CONNECTING,
    (_S.TRYING, _H.ASKED): _S.TRYING,
    (_S.TRYING, _H.ANSWERED): _S.TRYING,
    (_S.TRYING, _H.OPENED): _S.TRYING,
    (_S.TRYING, _H.UP): _S.TRYING,
    (_S.TRYING, _H.GREETED): _S.TRYING,
}
"""The transitions. While a retry is in flight, other steps do not change the state. Recovered and ended are final: the
next error begins another episode."""

LOST = ("broker", "backoff", "stale", "connecting")
"""Parties to which time is assigned: a broker that works or is not ready (election, loading), the client's back-off,
outdated metadata, connecting and authenticating."""


def loser_of(state: State, reaction: Reaction) -> str:
    """Returns the party of LOST to which the time in the state is assigned, after an error with this reaction."""
    if state is State.CONNECTING:
        return "connecting"
    if state is State.TRYING or reaction.is_not_ready:
        return "broker"
    if state in (State.WAITING, State.ASKING) and reaction.is_stale:
        return "stale"
    return "broker" if state is State.ASKING else "backoff"
