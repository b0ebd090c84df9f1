"""Record protection of each kind of cipher suite (`RecordCipher`).

Sources: RFC 8446 section 5.2 (TLS 1.3), RFC 5288 (GCM), RFC 7905 (ChaCha20-Poly1305), RFC 5246 section 6.2.3.2 (CBC),
RFC 7366 (encrypt-then-MAC).
"""

import hmac
from hashlib import new

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from cryptography.hazmat.primitives.ciphers.aead import AESGCM, ChaCha20Poly1305

from kafkascope_parsers.tls.key_schedule import IV_BYTES, SideKeys
from kafkascope_parsers.tls.record_cipher import HEADER_BYTES, NOT_OPENED, Opened, RecordCipher
from kafkascope_parsers.tls.suites import CBC, GCM, Suite

_TAG_BYTES, _NONCE_BYTES, _BLOCK_BYTES = 16, 8, 16
_LARGEST_SEQUENCE = 1 << 64


def _searched(cipher: RecordCipher, record: memoryview, expected: int, window: int) -> int | None:
    """The first sequence number of the window with which the record opens."""
    room = memoryview(bytearray(len(record)))
    for sequence in range(expected, expected + window):
        if cipher.open(sequence, record, room)[0] >= 0:
            return sequence
    return None


def _opens(cipher: RecordCipher, record: memoryview, sequence: int) -> bool:
    """Whether a record has that sequence number."""
    return 0 <= sequence < _LARGEST_SEQUENCE and _searched(cipher, record, sequence, 1) is not None


class Aead13:
    """TLS 1.3 with AES-GCM or ChaCha20-Poly1305."""

    content_at = HEADER_BYTES
    overhead: int | None = HEADER_BYTES + _TAG_BYTES + 1
    least = HEADER_BYTES + _TAG_BYTES + 1

    def __init__(self, suite: Suite, keys: SideKeys) -> None:
        self.is_direct = suite.mode == GCM
        self._key = keys.key
        key = keys.key.reveal()
        self._decrypt = AESGCM(key).decrypt_into if self.is_direct else ChaCha20Poly1305(key).decrypt_into
        self._iv = int.from_bytes(keys.iv.reveal(), "big")

    def open(self, sequence: int, record: memoryview, room: memoryview) -> Opened:
        """As `RecordCipher.open`. The last byte that is not zero is the content type."""
        size = len(record) - HEADER_BYTES - _TAG_BYTES
        if size <= 0:
            return NOT_OPENED
        nonce = (self._iv ^ sequence).to_bytes(IV_BYTES, "big")
        try:
            self._decrypt(nonce, record[HEADER_BYTES:], record[:HEADER_BYTES], room[:size])
        except InvalidTag:
            return NOT_OPENED
        kind = room[size - 1]
        if not kind:
            size = len(bytes(room[:size]).rstrip(b"\0"))
            kind = room[size - 1] if size else 0
        return kind, max(size - 1, 0)

    def sequence_of(self, record: memoryview, expected: int, window: int) -> int | None:
        """As `RecordCipher.sequence_of`; GCM needs no search."""
        if not self.is_direct:
            return _searched(self, record, expected, window)
        nonce = gcm_nonce(self._key.reveal(), record[HEADER_BYTES:], record[:HEADER_BYTES])
        sequence = nonce ^ self._iv if nonce is not None else -1
        return sequence if _opens(self, record, sequence) else None


def gcm_nonce(key: bytes, body: memoryview, associated: memoryview) -> int | None:
    """The nonce of 12 bytes with which a text was sealed by AES-GCM; None if it was not sealed with this key.

    The tag is E(nonce || 1) xor GHASH(associated, text), and GHASH does not depend on the nonce. So GHASH is found by
    sealing the same encrypted text with a nonce of zeros, and the remaining block is decrypted. Its last four bytes
    have to be 1 (NIST SP 800-38D, section 7).
    """
    if len(body) < _TAG_BYTES:
        return None
    text, tag = body[:-_TAG_BYTES], bytes(body[-_TAG_BYTES:])
    zeros = bytes(IV_BYTES)
    stream = Cipher(algorithms.AES(key), modes.CTR(zeros + b"\0\0\0\2")).encryptor()
    sealed = AESGCM(key).encrypt(zeros, stream.update(text), associated)
    block = Cipher(algorithms.AES(key), modes.ECB())
    first = block.encryptor().update(zeros + b"\0\0\0\1")
    masked = int.from_bytes(tag, "big") ^ int.from_bytes(sealed[-_TAG_BYTES:], "big") ^ int.from_bytes(first, "big")
    counter = block.decryptor().update(masked.to_bytes(_TAG_BYTES, "big"))
    return int.from_bytes(counter[:IV_BYTES], "big") if counter[IV_BYTES:] == b"\0\0\0\1" else None


def _associated(sequence: int, record: memoryview, n_bytes: int) -> bytes:
    """The bytes that the tag of TLS 1.2 protects besides the content: sequence number, type, version, length of the
    content."""
    return sequence.to_bytes(8, "big") + bytes(record[:3]) + n_bytes.to_bytes(2, "big")


class Gcm12:
    """TLS 1.2 with AES-GCM: the record has the second part of its nonce."""

    content_at = HEADER_BYTES + _NONCE_BYTES
    overhead: int | None = HEADER_BYTES + _NONCE_BYTES + _TAG_BYTES
    least = HEADER_BYTES + _NONCE_BYTES + _TAG_BYTES

    def __init__(self, keys: SideKeys) -> None:
        self._decrypt = AESGCM(keys.key.reveal()).decrypt_into
        self._salt = keys.iv.reveal()
        self._ahead: int | None = None
        self._counts_up = True
        """The difference of nonces and sequence numbers, as long as it was the same for all records."""

    @property
    def is_direct(self) -> bool:
        """As of `RecordCipher`: if nonces count up with sequence numbers, they show how many records were lost."""
        return self._counts_up and self._ahead is not None

    def open(self, sequence: int, record: memoryview, room: memoryview) -> Opened:
        """As `RecordCipher.open`."""
        size = len(record) - self.least
        if size < 0:
            return NOT_OPENED
        nonce = bytes(record[HEADER_BYTES : self.content_at])
        associated = _associated(sequence, record, size)
        try:
            self._decrypt(self._salt + nonce, record[self.content_at :], associated, room[:size])
        except InvalidTag:
            return NOT_OPENED
        ahead = int.from_bytes(nonce, "big") - sequence
        self._counts_up = self._counts_up and ahead == (ahead if self._ahead is None else self._ahead)
        self._ahead = ahead
        return record[0], size

    def sequence_of(self, record: memoryview, expected: int, window: int) -> int | None:
        """As `RecordCipher.sequence_of`."""
        if not self._counts_up or self._ahead is None:
            return _searched(self, record, expected, window)
        sequence = int.from_bytes(record[HEADER_BYTES : self.content_at], "big") - self._ahead
        return sequence if _opens(self, record, sequence) else None


class ChaCha12:
    """TLS 1.2 with ChaCha20-Poly1305."""

    content_at = HEADER_BYTES
    overhead: int | None = HEADER_BYTES + _TAG_BYTES
    least = HEADER_BYTES + _TAG_BYTES
    is_direct = False

    def __init__(self, keys: SideKeys) -> None:
        self._decrypt = ChaCha20Poly1305(keys.key.reveal()).decrypt_into
        self._iv = int.from_bytes(keys.iv.reveal(), "big")

    def open(self, sequence: int, record: memoryview, room: memoryview) -> Opened:
        """As `RecordCipher.open`."""
        size = len(record) - self.least
        if size < 0:
            return NOT_OPENED
        nonce = (self._iv ^ sequence).to_bytes(IV_BYTES, "big")
        try:
            self._decrypt(nonce, record[HEADER_BYTES:], _associated(sequence, record, size), room[:size])
        except InvalidTag:
            return NOT_OPENED
        return record[0], size

    def sequence_of(self, record: memoryview, expected: int, window: int) -> int | None:
        """As `RecordCipher.sequence_of`."""
        return _searched(self, record, expected, window)


class Cbc12:
    """TLS 1.2 with AES-CBC: an IV in each record; the HMAC is of the content, or of the encrypted bytes
    (encrypt_then_mac)."""

    content_at = HEADER_BYTES + _BLOCK_BYTES
    overhead: int | None = None
    is_direct = False

    def __init__(self, suite: Suite, keys: SideKeys, *, encrypt_then_mac: bool) -> None:
        self._algorithm = algorithms.AES(keys.key.reveal())
        self._mac, self._mac_key = suite.mac, keys.mac
        self._mac_bytes = new(suite.mac).digest_size
        self._encrypt_then_mac = encrypt_then_mac
        blocks = _BLOCK_BYTES + self._mac_bytes if encrypt_then_mac else -(-(self._mac_bytes + 1) // 16) * 16
        self.least = HEADER_BYTES + _BLOCK_BYTES + blocks

    def open(self, sequence: int, record: memoryview, room: memoryview) -> Opened:
        """As `RecordCipher.open`."""
        content = self._content(sequence, record)
        if content is None:
            return NOT_OPENED
        room[: len(content)] = content
        return record[0], len(content)

    def sequence_of(self, record: memoryview, expected: int, window: int) -> int | None:
        """As `RecordCipher.sequence_of`."""
        return _searched(self, record, expected, window)

    def _content(self, sequence: int, record: memoryview) -> memoryview | None:
        end = len(record) - (self._mac_bytes if self._encrypt_then_mac else 0)
        if len(record) < self.least or (end - HEADER_BYTES) % _BLOCK_BYTES:
            return None
        if self._encrypt_then_mac and not self._is_mac(sequence, record, record[HEADER_BYTES:end], record[end:]):
            return None
        iv = bytes(record[HEADER_BYTES : self.content_at])
        text = memoryview(Cipher(self._algorithm, modes.CBC(iv)).decryptor().update(record[self.content_at : end]))
        n = len(text) - 1 - text[-1]
        if n < 0 or bytes(text[n:]) != bytes([text[-1]]) * (len(text) - n):
            return None
        if self._encrypt_then_mac:
            return text[:n]
        n -= self._mac_bytes
        if n < 0 or not self._is_mac(sequence, record, text[:n], text[n : n + self._mac_bytes]):
            return None
        return text[:n]

    def _is_mac(self, sequence: int, record: memoryview, covered: memoryview, mac: memoryview) -> bool:
        message = _associated(sequence, record, len(covered)) + bytes(covered)
        return hmac.compare_digest(hmac.digest(self._mac_key.reveal(), message, self._mac), mac)


def cipher_12(suite: Suite, keys: SideKeys, *, encrypt_then_mac: bool) -> RecordCipher:
    """The cipher of a suite of TLS 1.2."""
    if suite.mode == CBC:
        return Cbc12(suite, keys, encrypt_then_mac=encrypt_then_mac)
    return Gcm12(keys) if suite.mode == GCM else ChaCha12(keys)
