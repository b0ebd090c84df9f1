"""Reads the user name in a SASL token, if its mechanism sends one; never a password, proof or token.

PLAIN: authorization id, NUL, user, NUL, password (RFC 4616). SCRAM: the first message names the user, with `,` and `=`
escaped (RFC 5802); with Kafka's extension tokenauth the name is a delegation token's id, so it is nobody's (KIP-48).
OAUTHBEARER: a token that is a JWT names its subject, the claim `sub`, which is the principal unless the broker has
another sasl.oauthbearer.sub.claim.name (RFC 7628, RFC 7519). GSSAPI encrypts it.

A name is read only from a token that is exactly well formed by the rules of Kafka's own servers (PlainSaslServer,
ScramMessages): UTF-8, the right number of parts, an authorization id only if it is the user. In any other token the
part in the place of the name may be the password. The same is true of a token that the broker refuses; `answers_needed`
says how many answers without an error show that it was accepted.
"""

import json
import re
from base64 import urlsafe_b64decode

LONGEST_NAME = 255
LONGEST_CLAIMS = 1 << 14
"""Largest length of the claims of a JWT that are read: usual ones have some hundred characters."""
_JWT = r"[A-Za-z0-9_-]+"
_BEARER = re.compile(
    rf"n,(?:a=(?P<authorization_id>{_JWT}|[^,\x00\x01]+))?,\x01(?:[A-Za-z]+=[^\x00\x01]*\x01)*?"
    rf"auth=[Bb]earer {_JWT}\.(?P<claims>{_JWT})\.[A-Za-z0-9_-]*\x01(?:[A-Za-z]+=[^\x00\x01]*\x01)*\x01?"
)
_NAME = r"(?:[^=,\x00]|=2C|=3D)+"
_SCRAM_FIRST = re.compile(
    rf"n,(?:a=(?P<authorization_id>{_NAME}))?,n=(?P<user>{_NAME}),r=[\x21-\x2b\x2d-\x7e]+(?P<extensions>(?:,[^,]+=[^,]*)*)"
)


def answers_needed(mechanism: str) -> int:
    """The number of tokens of the broker in a login that succeeds; 0 for a mechanism whose tokens show no name."""
    if mechanism in ("PLAIN", "OAUTHBEARER"):
        return 1
    return 2 if mechanism.startswith("SCRAM-") else 0


def is_refusal(mechanism: str, n_bytes: int) -> bool:
    """Whether an answer without an error code is still a refusal: with OAUTHBEARER a token of the broker is an error
    (RFC 7628, section 3.2.2). n_bytes: of its token."""
    return mechanism == "OAUTHBEARER" and n_bytes > 0


def is_success(mechanism: str, token: bytes) -> bool:
    """Whether a broker's last token shows that the login succeeded, for SaslHandshake v0, where nothing else shows
    it."""
    return token.startswith(b"v=") if mechanism.startswith("SCRAM-") else not token


def principal_of(mechanism: str, token: bytes) -> str | None:
    """The user of a connection's first token, as text without control characters; None where it shows none."""
    try:
        text = token.decode("utf-8")
    except UnicodeDecodeError:
        return None
    if mechanism == "PLAIN":
        return _plain(text)
    if mechanism == "OAUTHBEARER":
        return _bearer(text)
    return _scram(text) if mechanism.startswith("SCRAM-") else None


def _plain(token: str) -> str | None:
    parts = token.split("\0")
    if len(parts) != 3 or not parts[2]:
        return None
    authorization_id, user, _ = parts
    return _name(user) if authorization_id in ("", user) else None


def _scram(token: str) -> str | None:
    match = _SCRAM_FIRST.fullmatch(token)
    if match is None or match["authorization_id"] not in (None, match["user"]):
        return None
    if "tokenauth=true" in match["extensions"].split(","):
        return None
    return _name(match["user"].replace("=2C", ",").replace("=3D", "="))


def _bearer(token: str) -> str | None:
    """The subject of a JWT. Nothing else of it is read, and its signature is not checked."""
    match = _BEARER.fullmatch(token)
    if match is None or len(match["claims"]) > LONGEST_CLAIMS:
        return None
    try:
        claims = json.loads(urlsafe_b64decode(match["claims"] + "=" * (-len(match["claims"]) % 4)))
    except (ValueError, RecursionError):
        return None
    subject = claims.get("sub") if isinstance(claims, dict) else None
    if not isinstance(subject, str) or match["authorization_id"] not in (None, subject):
        return None
    return _name(subject)


def _name(text: str) -> str | None:
    return text if text and text.isprintable() and len(text) <= LONGEST_NAME else None
