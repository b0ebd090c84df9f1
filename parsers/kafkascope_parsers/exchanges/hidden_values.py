"""Keeps the secret values that were seen on connections, in order to hide texts of brokers that may repeat them.

A broker may quote the value that it refuses (`Invalid value hunter2 for configuration ssl.keystore.password`), whole or
in part. A text of an API with secrets is shown only if it has no SHARED_BYTES in a row (ignoring case) in common with a
secret value that was seen on its connection so far, and if all of those are known: not after a message about secrets
that does not decode.

These are objects: messages with secret values, and answers with a text about them, are few. The values stay in memory,
MOST_BYTES of a connection and MOST_BYTES_IN_ALL; beyond that all texts of a connection are hidden. They are not part of
a saved state: a scan that continues from it does not know them, and hides the texts of these connections.
"""

from collections.abc import Iterable
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kafkascope_parsers.exchanges.greetings import RawToken
from kafkascope_parsers.machine import Columns
from kafkascope_parsers.machine.hidden import hidden
from kafkascope_parsers.schema import MessageType, Node, api_keys, api_name
from kafkascope_parsers.schema.secrets import APIS_WITH_SECRETS

SHARED_BYTES = 6
"""Fewer bytes in common do not count as showing a secret; shorter values are searched as a whole."""
MOST_BYTES = 4 << 10
MOST_BYTES_IN_ALL = 16 << 20
LONGEST_TEXT = 1 << 10
"""Longer texts about secrets are hidden: Kafka's have some hundred characters."""
_BETWEEN = b"\xff\xfe"
"""Separates two values; it cannot occur in a text."""


class HiddenValues:
    """The secret values of all connections, by number."""

    def __init__(self) -> None:
        self._values: dict[int, bytes] = {}
        self._unknown: set[int] = set()
        """Connections some of whose secret values are not known."""
        self._n_bytes = 0

    def __getstate__(self) -> dict[str, Any]:
        """The state that may be saved: the connections with secret values, without the values."""
        return {"_values": {}, "_unknown": self._unknown | set(self._values), "_n_bytes": 0}

    def note(self, columns: Columns, connections: NDArray[np.int64]) -> None:
        """Takes the secret values of a batch of messages. connections: number of each one's."""
        for node in _secrets(columns.message):
            lengths = columns.lengths(node)
            found = np.flatnonzero(hidden(columns, node) & (lengths > 0))
            conns, starts = connections[columns.row(node)[found]], columns.offsets(node)[found]
            for conn, start, length in zip(conns.tolist(), starts.tolist(), lengths[found].tolist(), strict=True):
                self.note_value(conn, columns.buf[start : start + min(length, MOST_BYTES)].tobytes())

    def note_tokens(self, tokens: Iterable[RawToken]) -> None:
        """Takes SASL tokens without a request around them."""
        for token in tokens:
            if token.token is None:
                self.note_unknown([token.connection])
            else:
                self.note_value(token.connection, token.token)

    def note_value(self, connection: int, value: bytes) -> None:
        """Takes one secret value."""
        known = self._values.get(connection, b"")
        value = value.replace(b"\0", _BETWEEN).lower()  # the parts of a PLAIN token
        size = len(_BETWEEN) + len(value)
        if len(known) + size > MOST_BYTES or self._n_bytes + size > MOST_BYTES_IN_ALL:
            self.note_unknown([connection])
        elif connection not in self._unknown and value not in known:
            self._values[connection] = known + _BETWEEN + value
            self._n_bytes += size

    def note_unknown(self, connections: Iterable[int]) -> None:
        """Takes connections with secret values that are not known."""
        for conn in connections:
            self._unknown.add(conn)
            self._n_bytes -= len(self._values.pop(conn, b""))

    def may_repeat(self, columns: Columns, connections: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Whether a broker's text in each message of a batch may repeat a secret value. connections: number of each
        one's."""
        out = np.isin(connections, list(self._unknown))
        has_text = np.zeros(len(out), np.bool_)
        for node in _reports(columns.message):
            lengths = columns.lengths(node)
            rows = columns.row(node)
            has_text[rows[lengths > 0]] = True
            for at in np.flatnonzero((lengths > 0) & ~out[rows]).tolist():
                values = self._values.get(int(connections[rows[at]]))
                if values is not None:
                    start = int(columns.offsets(node)[at])
                    text = columns.buf[start : start + int(lengths[at])].tobytes().lower()
                    out[rows[at]] |= len(text) > LONGEST_TEXT or _shares(text, values)
        return np.asarray(out & has_text, np.bool_)


def _shares(text: bytes, values: bytes) -> bool:
    """Whether a text has SHARED_BYTES in a row with one of the values, or a whole value that is shorter."""
    if any(text[i : i + SHARED_BYTES] in values for i in range(len(text) - SHARED_BYTES + 1)):
        return True
    return any(len(value) < SHARED_BYTES and value in text for value in values.split(_BETWEEN) if value)


@cache
def _secrets(message: MessageType) -> tuple[Node, ...]:
    return tuple(n for n in message.leaves() if n.secret is not None and not n.secret.is_report)


@cache
def _reports(message: MessageType) -> tuple[Node, ...]:
    return tuple(n for n in message.leaves() if n.secret is not None and n.secret.is_report)


def has_secrets(message: MessageType) -> bool:
    """Whether a message has fields that are secret, or may be."""
    return bool(_secrets(message))


def has_reports(message: MessageType) -> bool:
    """Whether a message has a text of the broker that may repeat a secret."""
    return bool(_reports(message))


SECRET_API_KEYS = np.array([key for key in api_keys() if api_name(key) in APIS_WITH_SECRETS], np.int16)
"""The keys of the APIs with secrets."""
