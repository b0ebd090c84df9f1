"""The user name that a SASL token shows, where its mechanism shows one: never a password, proof or token.

PLAIN: authorization id, NUL, user, NUL, password (RFC 4616). SCRAM: the first message names the user, with `,` and `=`
escaped (RFC 5802); with Kafka's extension tokenauth the name is a delegation token's id, so it is nobody's (KIP-48).
OAUTHBEARER and GSSAPI hide it in what must not be read.
"""

import re

LONGEST_NAME = 255
_SCRAM_FIRST = re.compile(r"[nyp][^,]*,(?:a=[^,]*)?,n=(?P<user>[^,]*),r=[^,]*(?P<extensions>.*)", re.DOTALL)


def principal_of(mechanism: str, token: bytes) -> str | None:
    """The user of a connection's first token, as text without control characters; None where it shows none."""
    if mechanism == "PLAIN":
        return _plain(token)
    return _scram(token) if mechanism.startswith("SCRAM-") else None


def _plain(token: bytes) -> str | None:
    parts = token.split(b"\0")
    return _name(parts[1]) if len(parts) == 3 else None


def _scram(token: bytes) -> str | None:
    match = _SCRAM_FIRST.fullmatch(token.decode("utf-8", "replace"))
    if match is None or "tokenauth=true" in match["extensions"].split(","):
        return None
    return _name(match["user"].replace("=2C", ",").replace("=3D", "=").encode())


def _name(raw: bytes) -> str | None:
    text = raw.decode("utf-8", "replace")
    return text if text and text.isprintable() and len(text) <= LONGEST_NAME else None
