"""The life of an episode: (state, trigger) → state, and who has the time that passes in each state.

waiting: the last thing was an error, and the client has done nothing about it yet. asking: it asks for what it has
to know or be (Metadata, FindCoordinator, JoinGroup, InitProducerId, ListOffsets …). connecting: a connection is being
opened, or greeted (ApiVersions, SASL). informed: it was answered, or connected, and has not tried again. trying: a
request on the resource is under way.
"""

import enum

from kafkascope_spark.stories.recoveries.reaction import Reaction


class State(enum.Enum):
    """Where the episode is."""

    WELL = "well"
    WAITING = "waiting"
    ASKING = "asking"
    CONNECTING = "connecting"
    INFORMED = "informed"
    TRYING = "trying"
    RECOVERED = "recovered"
    ENDED = "ended"


class Trigger(enum.Enum):
    """What moves it."""

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
"""A try that is under way hides what goes on beside it. From recovered and ended nothing leads on: the next error
begins another episode."""

LOST = ("broker", "backoff", "stale", "connecting")
"""Who can have the time: a broker that works or is not ready (election, loading), the client's own pause, metadata
that is out of date, connecting and authenticating."""


def loser_of(state: State, reaction: Reaction) -> str:
    """Which of LOST has the time in the state, after an error with this reaction."""
    if state is State.CONNECTING:
        return "connecting"
    if state is State.TRYING or reaction.is_not_ready:
        return "broker"
    if state in (State.WAITING, State.ASKING) and reaction.is_stale:
        return "stale"
    return "broker" if state is State.ASKING else "backoff"
