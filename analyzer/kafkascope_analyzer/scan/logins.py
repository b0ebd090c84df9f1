"""The user of each connection: from its first SASL token, once the broker has accepted the login.

A login begins with SaslHandshake, which names the mechanism. Its tokens are sent in SaslAuthenticate, whose responses
have an error code, or after SaslHandshake v0 without a request around them. Without a response, or with an error, there
is no user. Until then user names are kept here, a few words for each open login.
"""

from dataclasses import dataclass

from kafkascope_parsers.framing.principals import answers_needed, is_refusal, is_success, principal_of

MOST_OPEN = 1 << 16
"""Most tokens that wait for their responses: one for each connection with an open login."""

_Key = tuple[int, int]
"""A connection, and the number of a request on it."""


@dataclass(slots=True)
class _Login:
    mechanism: str
    user: str | None = None
    has_begun: bool = False
    n_left: int = 0
    """Number of responses that are still needed."""


class Logins:
    """The logins of a bucket. `answer` and `answer_token` return the user whose login the broker accepted."""

    def __init__(self) -> None:
        self._by_connection: dict[int, _Login] = {}
        self._by_request: dict[_Key, _Login] = {}

    def handshake(self, connection: int, mechanism: str) -> None:
        """Notes the mechanism that a client requests."""
        self._by_connection[connection] = _Login(mechanism)

    def token(self, connection: int, token: bytes, number: int | None = None) -> None:
        """Takes a client's token. number: number of its SaslAuthenticate request; None for a token without
        a request."""
        login = self._by_connection.get(connection)
        if login is None:
            return
        if not login.has_begun:
            login.has_begun, login.user = True, principal_of(login.mechanism, token)
            login.n_left = answers_needed(login.mechanism)
        if login.user is None:
            del self._by_connection[connection]
        elif number is not None:
            self._by_request[connection, number] = login
            if len(self._by_request) > MOST_OPEN:
                del self._by_request[next(iter(self._by_request))]

    def answer(self, connection: int, number: int, *, has_error: bool, n_bytes: int) -> str | None:
        """Takes the response to a SaslAuthenticate request; returns the user where it completes a successful login.
        n_bytes: size of the broker's token in it."""
        login = self._by_request.pop((connection, number), None)
        if login is None:
            return None
        return self._answered(connection, login, refused=has_error or is_refusal(login.mechanism, n_bytes))

    def answer_token(self, connection: int, token: bytes | None) -> str | None:
        """Takes a broker's token without a request, None for an incomplete one; returns the user where it completes a
        successful login.
        """
        login = self._by_connection.get(connection)
        if login is None or not login.has_begun:
            return None
        is_last = login.n_left == 1
        refused = token is None or (is_last and not is_success(login.mechanism, token))
        return self._answered(connection, login, refused=refused)

    def _answered(self, connection: int, login: _Login, *, refused: bool) -> str | None:
        login.n_left -= 1
        if refused:
            login.user = None
        is_over = refused or login.n_left == 0
        if is_over and self._by_connection.get(connection) is login:
            del self._by_connection[connection]
        return login.user if is_over else None
