"""Follows the handshake messages in the records of one side: only which there are, as they say when keys change."""

END_OF_EARLY_DATA, FINISHED, KEY_UPDATE = 5, 20, 24
"""Types of messages after which a side of TLS 1.3 has new keys."""
_HEADER_BYTES = 4


class HandshakeMessages:
    """Finds the ends of messages, however they are cut into records. Keeps a header at most."""

    def __init__(self) -> None:
        self._header = b""
        self._left = 0

    def ended_in(self, content: bytes | memoryview) -> list[int]:
        """The types of the messages that end in the content of the next record."""
        ended, at = [], 0
        while at < len(content):
            if len(self._header) < _HEADER_BYTES:
                wanted = _HEADER_BYTES - len(self._header)
                self._header += bytes(content[at : at + wanted])
                at += wanted
                if len(self._header) < _HEADER_BYTES:
                    break
                self._left = int.from_bytes(self._header[1:], "big")
            used = min(self._left, len(content) - at)
            at += used
            self._left -= used
            if not self._left:
                ended.append(self._header[0])
                self._header = b""
        return ended
