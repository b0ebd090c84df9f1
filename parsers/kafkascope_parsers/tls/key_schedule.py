"""Derives keys from secrets: the PRF and key block of TLS 1.2 (RFC 5246, sections 5 and 6.3), HKDF-Expand-Label and
traffic keys of TLS 1.3 (RFC 8446, section 7). A key log has the master secret and the traffic secrets, so the earlier
steps are not needed."""

import hmac
from hashlib import new
from typing import NamedTuple

from kafkascope_parsers.tls.secret import Secret
from kafkascope_parsers.tls.suites import CBC, GCM, Suite

IV_BYTES = 12
"""Bytes of the nonce of an AEAD cipher."""
SALT_BYTES = 4
"""Bytes of the nonce that the key block of TLS 1.2 gives for GCM; the record has the rest."""


class SideKeys(NamedTuple):
    """Keys of one side of a connection. mac is empty except for CBC; iv is empty for CBC."""

    mac: Secret
    key: Secret
    iv: Secret


def prf(hash_name: str, secret: Secret, label: bytes, seed: bytes, n_bytes: int) -> bytes:
    """The pseudorandom function of TLS 1.2: P_hash of the label and the seed."""
    key, seed = secret.reveal(), label + seed
    out, chain = b"", seed
    while len(out) < n_bytes:
        chain = hmac.digest(key, chain, hash_name)
        out += hmac.digest(key, chain + seed, hash_name)
    return out[:n_bytes]


def key_block(suite: Suite, master: Secret, server_random: bytes, client_random: bytes) -> tuple[SideKeys, SideKeys]:
    """The keys of the client and of the server of a session of TLS 1.2."""
    mac_bytes = new(suite.mac).digest_size if suite.mode == CBC else 0
    iv_bytes = {CBC: 0, GCM: SALT_BYTES}.get(suite.mode, IV_BYTES)
    sizes = [mac_bytes, mac_bytes, suite.key_bytes, suite.key_bytes, iv_bytes, iv_bytes]
    block = prf(suite.hash, master, b"key expansion", server_random + client_random, sum(sizes))
    parts, at = [], 0
    for size in sizes:
        parts.append(Secret(block[at : at + size]))
        at += size
    return SideKeys(*parts[0::2]), SideKeys(*parts[1::2])


def hkdf_expand_label(hash_name: str, secret: Secret, label: bytes, n_bytes: int) -> Secret:
    """HKDF-Expand-Label with an empty context."""
    info = n_bytes.to_bytes(2, "big") + bytes([6 + len(label)]) + b"tls13 " + label + b"\0"
    out, chain = b"", b""
    for number in range(1, -(-n_bytes // new(hash_name).digest_size) + 1):
        chain = hmac.digest(secret.reveal(), chain + info + bytes([number]), hash_name)
        out += chain
    return Secret(out[:n_bytes])


def traffic_keys(suite: Suite, traffic_secret: Secret) -> SideKeys:
    """The keys of a traffic secret of TLS 1.3."""
    key = hkdf_expand_label(suite.hash, traffic_secret, b"key", suite.key_bytes)
    return SideKeys(Secret(b""), key, hkdf_expand_label(suite.hash, traffic_secret, b"iv", IV_BYTES))


def next_traffic_secret(suite: Suite, traffic_secret: Secret) -> Secret:
    """The traffic secret after a KeyUpdate."""
    return hkdf_expand_label(suite.hash, traffic_secret, b"traffic upd", new(suite.hash).digest_size)
