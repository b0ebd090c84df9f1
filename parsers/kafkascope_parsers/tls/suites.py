"""Cipher suites that can be decrypted, as data. Source: IANA's registry of TLS cipher suites."""

from typing import NamedTuple

GCM, CHACHA, CBC = "gcm", "chacha20-poly1305", "cbc"
"""Modes: AES in Galois/Counter Mode, ChaCha20-Poly1305, AES in cipher block chaining with an HMAC."""


class Suite(NamedTuple):
    """mode: how records are encrypted; key_bytes: of the cipher; hash: of the key schedule; mac: hash of the HMAC of
    CBC, empty for the others."""

    mode: str
    key_bytes: int
    hash: str
    mac: str = ""


SUITES_13 = {
    0x1301: Suite(GCM, 16, "sha256"),
    0x1302: Suite(GCM, 32, "sha384"),
    0x1303: Suite(CHACHA, 32, "sha256"),
}
"""Suites of TLS 1.3, by number."""

_AES_128_GCM = (0x009C, 0x009E, 0x00A0, 0x00A2, 0x00A4, 0x00A8, 0x00AA, 0x00AC, 0xC02B, 0xC02D, 0xC02F, 0xC031)
_AES_256_GCM = (0x009D, 0x009F, 0x00A1, 0x00A3, 0x00A5, 0x00A9, 0x00AB, 0x00AD, 0xC02C, 0xC02E, 0xC030, 0xC032)
_CHACHA = (0xCCA8, 0xCCA9, 0xCCAA, 0xCCAB, 0xCCAC, 0xCCAD, 0xCCAE)
_AES_128_CBC_SHA = (0x002F, 0x0030, 0x0031, 0x0032, 0x0033, 0x0034, 0xC004, 0xC009, 0xC00E, 0xC013, 0xC018)
_AES_256_CBC_SHA = (0x0035, 0x0036, 0x0037, 0x0038, 0x0039, 0x003A, 0xC005, 0xC00A, 0xC00F, 0xC014, 0xC019)
_AES_128_CBC_SHA256 = (0x003C, 0x003E, 0x003F, 0x0040, 0x0067, 0x006C, 0xC023, 0xC025, 0xC027, 0xC029)
_AES_256_CBC_SHA256 = (0x003D, 0x0068, 0x0069, 0x006A, 0x006B, 0x006D)
_AES_256_CBC_SHA384 = (0xC024, 0xC026, 0xC028, 0xC02A)

SUITES_12 = {
    **dict.fromkeys(_AES_128_GCM, Suite(GCM, 16, "sha256")),
    **dict.fromkeys(_AES_256_GCM, Suite(GCM, 32, "sha384")),
    **dict.fromkeys(_CHACHA, Suite(CHACHA, 32, "sha256")),
    **dict.fromkeys(_AES_128_CBC_SHA, Suite(CBC, 16, "sha256", "sha1")),
    **dict.fromkeys(_AES_256_CBC_SHA, Suite(CBC, 32, "sha256", "sha1")),
    **dict.fromkeys(_AES_128_CBC_SHA256, Suite(CBC, 16, "sha256", "sha256")),
    **dict.fromkeys(_AES_256_CBC_SHA256, Suite(CBC, 32, "sha256", "sha256")),
    **dict.fromkeys(_AES_256_CBC_SHA384, Suite(CBC, 32, "sha384", "sha384")),
}
"""Suites of TLS 1.2, by number."""
