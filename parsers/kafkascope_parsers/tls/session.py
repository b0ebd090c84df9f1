"""A session: the parameters from its hellos, and the ciphers for its secrets. It holds no secret, so it may be
saved."""

from dataclasses import dataclass

from kafkascope_parsers.tls.hello import TLS_12, TLS_13, Hello
from kafkascope_parsers.tls.key_log import EARLY, HANDSHAKE, MASTER, SessionSecrets
from kafkascope_parsers.tls.key_schedule import key_block, next_traffic_secret, traffic_keys
from kafkascope_parsers.tls.record_cipher import RecordCipher
from kafkascope_parsers.tls.secret import Secret
from kafkascope_parsers.tls.suites import SUITES_12, SUITES_13, Suite

EARLY_DATA, HANDSHAKES, APPLICATION = range(3)
"""Epochs of TLS 1.3, each with other secrets for the records of a side. TLS 1.2 has only the last one."""


@dataclass(frozen=True, slots=True)
class Epoch:
    """Identifies the keys of a record: the epoch's number, and how often the side has updated its keys within it."""

    number: int
    generation: int = 0


@dataclass(frozen=True, slots=True)
class Session:
    """version, suite: the numbers that the server chose; session_id: by which a key log may name it; encrypt_then_mac:
    for suites with CBC."""

    version: int
    suite: int
    client_random: bytes
    server_random: bytes = b""
    session_id: bytes = b""
    encrypt_then_mac: bool = False

    @classmethod
    def of(cls, client: Hello, server: Hello) -> "Session | str":
        """The session that two whole hellos agree on; if it cannot be decrypted, the reason."""
        version, suite = server.version_number or 0, server.suite or 0
        if version not in (TLS_12, TLS_13):
            return f"{server.version or f'version 0x{version:04x}'} is not supported"
        if suite not in (SUITES_13 if version == TLS_13 else SUITES_12):
            return f"cipher suite 0x{suite:04x} is not supported"
        return cls(version, suite, client.random, server.random, server.session_id, server.encrypt_then_mac)

    def cipher(self, secrets: SessionSecrets, side: int, epoch: Epoch) -> RecordCipher | None:
        """The cipher of the records of a side (0 is the client) in an epoch; None if its secret is not known."""
        from kafkascope_parsers.tls.ciphers import Aead13, cipher_12

        if self.version == TLS_13:
            suite = SUITES_13[self.suite]
            secret = _secret_13(suite, secrets, side, epoch)
            return None if secret is None else Aead13(suite, traffic_keys(suite, secret))
        master = secrets.by_label.get(MASTER)
        if master is None:
            return None
        suite = SUITES_12[self.suite]
        keys = key_block(suite, master, self.server_random, self.client_random)[side]
        return cipher_12(suite, keys, encrypt_then_mac=self.encrypt_then_mac)

    def has_secrets(self, secrets: SessionSecrets) -> bool:
        """Whether the application data of a side can be decrypted."""
        return any(self.cipher(secrets, side, Epoch(APPLICATION)) is not None for side in (0, 1))


def _secret_13(suite: Suite, secrets: SessionSecrets, side: int, epoch: Epoch) -> Secret | None:
    """The traffic secret of an epoch: from the key log, or derived from that of the generation before."""
    if epoch.number == EARLY_DATA:
        return secrets.by_label.get(EARLY) if side == 0 else None
    if epoch.number == HANDSHAKES:
        return secrets.by_label.get(HANDSHAKE[side])
    secret = secrets.traffic(side)
    for generation in range(1, epoch.generation + 1):
        logged = secrets.traffic(side, generation)
        secret = logged or (None if secret is None else next_traffic_secret(suite, secret))
    return secret
