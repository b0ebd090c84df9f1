"""`Pseudonyms`: makes the pseudonym of a text. It depends only on the text and the key, so that a name has the same
pseudonym in all columns, and joins still work.

In a composed text, the parts are replaced: `host:port`, `topic-partition`, `User:name`, a member id (client id and
UUID), a request id (connection id and number).
"""

import base64
import hmac
import re
import uuid
from collections.abc import Collection

from kafkascope_analyzer.redact.addresses import other_address, parse_address

_LETTERS = 12
"""Letters of a pseudonym: 60 bits, so that among a million names the chance of a collision is one in two million."""
_CONNECTION_ID = re.compile(r"([0-9a-f]{16})(-r?\d+)?")
"""Pattern of the id of a connection, or of a request on it (connections.identity)."""
_UUID = r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"
_MEMBER_ID = re.compile(rf"(.*?)(-?)({_UUID})", re.DOTALL)
_WITH_PORT = re.compile(r"\[?([^\[\]]+?)\]?:(\d{1,5})")
_PARTITION = re.compile(r"(.+)-(\d+)", re.DOTALL)
_STREAM_THREAD = re.compile(r"(.+)(-StreamThread-\d+(?:-[a-z-]*(?:consumer|producer|admin))?)", re.DOTALL)
_SMALL_NUMBER = re.compile(r"-?\d{1,5}")
_USER = "User:"
_PREFIX = "n-"
INTERNAL = frozenset(
    {"__consumer_offsets", "__transaction_state", "__share_group_state", "__cluster_metadata", "__remote_log_metadata"}
)
"""Topics that every cluster has."""


class Pseudonyms:
    """key: key of the redaction; topics: known ones, by which a topic-partition is recognised; kept: texts that are not
    names in columns that do not only have names. originals: pseudonym -> text, for all that were made."""

    def __init__(self, key: bytes, topics: Collection[str], kept: Collection[str] = ()) -> None:
        self._key = key
        self._topics = frozenset(topics)
        self._kept = frozenset(kept)
        self._known: dict[str, str] = {}
        self.originals: dict[str, str] = {}

    def of(self, text: str, *, is_name: bool = True) -> str:
        """Returns the pseudonym of a text. is_name: whether it is a name even where the same text is a word of the
        program."""
        if not is_name and text in self._kept:
            return text
        found = self._known.get(text)
        if found is None:
            found = self._known[text] = self._made(text)
        return found

    def is_known(self, text: str) -> bool:
        """Whether a text is a name that was replaced somewhere."""
        return text in self._known

    def _made(self, text: str) -> str:
        if not text or text in INTERNAL or _SMALL_NUMBER.fullmatch(text):
            return text
        address = parse_address(text)
        if address is not None:
            return self._noted(str(other_address(address, self._key)), text)
        return self._composed(text) or self._noted(_PREFIX + self._letters(text), text)

    def _composed(self, text: str) -> str | None:
        """Returns the pseudonym of a composed text; None where it is not one."""
        if match := _CONNECTION_ID.fullmatch(text):
            return self._digest("connection", match[1]).hex()[:16] + (match[2] or "")
        if text.startswith(_USER):
            return _USER + self.of(text.removeprefix(_USER))
        if match := _MEMBER_ID.fullmatch(text):
            return f"{self.of(match[1])}{match[2]}{uuid.UUID(bytes=self._digest('uuid', match[3])[:16])}"
        if match := _STREAM_THREAD.fullmatch(text):
            return self.of(match[1]) + match[2]
        if (match := _WITH_PORT.fullmatch(text)) and not text.startswith("["):
            return f"{self.of(match[1])}:{match[2]}"
        if match:
            return f"[{self.of(match[1])}]:{match[2]}"
        match = _PARTITION.fullmatch(text)
        return f"{self.of(match[1])}-{match[2]}" if match and match[1] in self._topics else None

    def _letters(self, text: str) -> str:
        return base64.b32encode(self._digest("name", text)).decode().lower()[:_LETTERS]

    def _digest(self, what: str, text: str) -> bytes:
        return hmac.digest(self._key, f"{what}\0{text}".encode("utf-8", "surrogatepass"), "sha256")

    def _noted(self, pseudonym: str, text: str) -> str:
        if pseudonym != text:
            self.originals[pseudonym] = text
        return pseudonym
