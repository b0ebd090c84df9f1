"""Key logs: the secrets of TLS sessions, by the random bytes of the client's hello.

The format is NSS's (SSLKEYLOGFILE; draft-ietf-tls-keylogfile): lines of a label, the client random and a secret, both
as hex; lines that begin with # are comments. Some programs in Java name sessions of TLS 1.2 by their id instead: "RSA
Session-ID:HEX Master-Key:HEX". Labels of secrets that do not decrypt anything (exporter secrets) are ignored. A line
that cannot be read is counted, and its text is never shown, as it may contain half a secret.
"""

import re
from collections.abc import Container, Iterator
from dataclasses import dataclass, field

from kafkascope_parsers.tls.secret import Secret

SESSION_LIMIT = 500_000
"""Sessions that are kept of all key logs: some 1 kB each with four secrets. Lines of more sessions are counted."""
RESUMABLE_LIMIT = 1 << 17
"""Names of sessions that may be resumed; beyond it a new one replaces the oldest."""
GENERATION_LIMIT = 1024
"""Highest accepted N of a TRAFFIC_SECRET_N."""

MASTER = "CLIENT_RANDOM"
EARLY = "CLIENT_EARLY_TRAFFIC_SECRET"
HANDSHAKE = ("CLIENT_HANDSHAKE_TRAFFIC_SECRET", "SERVER_HANDSHAKE_TRAFFIC_SECRET")
TRAFFIC = ("CLIENT_TRAFFIC_SECRET_", "SERVER_TRAFFIC_SECRET_")
"""Labels, those of the client first; the number of a generation follows TRAFFIC."""

RANDOM_BYTES = 32
_MASTER_BYTES = 48
_HASH_BYTES = (32, 48)
"""Lengths of the secrets of TLS 1.3: those of SHA-256 and SHA-384."""
_PASSED_OVER = frozenset({b"EXPORTER_SECRET", b"EARLY_EXPORTER_SECRET", b"RSA", b"ECH_SECRET", b"ECH_CONFIG"})
_PASSED_OVER |= {b"CLIENT_TRAFFIC_SECRET_N", b"SERVER_TRAFFIC_SECRET_N"}  # OpenSSL after a KeyUpdate: of any generation
_TRAFFIC_LABEL = re.compile(rb"(?:CLIENT|SERVER)_TRAFFIC_SECRET_(\d{1,5})")
_NAMED_LINE = re.compile(rb"RSA Session-ID:((?:[0-9A-Fa-f]{2}){1,32}) Master-Key:([0-9A-Fa-f]{96})")
_PLAIN_LABELS = frozenset(label.encode() for label in (MASTER, EARLY, *HANDSHAKE))


@dataclass(slots=True)
class SessionSecrets:
    """The secrets of one session, by label."""

    by_label: dict[str, Secret] = field(default_factory=dict)

    def traffic(self, side: int, generation: int = 0) -> Secret | None:
        """The secret of application data of a side (0 is the client), of a generation of keys."""
        return self.by_label.get(f"{TRAFFIC[side]}{generation}")


class KeyLog:
    """The secrets of all key logs. n_malformed: lines that cannot be read; n_left_out: lines of sessions beyond
    SESSION_LIMIT."""

    def __init__(self, unwanted: Container[bytes] = frozenset()) -> None:
        """unwanted: the client randoms of sessions whose secrets are not kept."""
        self._unwanted = unwanted
        self._sessions: dict[bytes, SessionSecrets] = {}
        self._seen: set[bytes] = set()
        self._resumable: dict[bytes, Secret] = {}
        """Master secrets by the ids and the hashes of tickets of their sessions."""
        self.has_masters = False
        self.n_malformed = 0
        self.n_left_out = 0

    def __len__(self) -> int:
        return len(self._sessions) + len(self._resumable)

    def __repr__(self) -> str:
        return f"KeyLog({len(self)} sessions)"

    def add(self, text: bytes) -> None:
        """Takes the lines of a key log."""
        for line in text.splitlines():
            words = line.split()
            if words and not words[0].startswith(b"#"):
                self._add_line(words)

    def session(self, client_random: bytes) -> SessionSecrets | None:
        """The secrets of the session whose client hello has these random bytes. The session then counts as seen."""
        self._seen.add(client_random)
        return self._sessions.get(client_random)

    def name_session(self, client_random: bytes, name: bytes) -> None:
        """Notes the name (an id, or the hash of a ticket) by which a session of TLS 1.2 may be resumed."""
        master = self._master(client_random)
        if name and master is not None:
            self._name(name, master)

    def resume(self, client_random: bytes, names: tuple[bytes, ...]) -> None:
        """Notes that a session has one of these names, or resumes the session with it: if the log lacks the secret for
        its client random, it gets that of the name."""
        master = next((self._resumable[name] for name in names if name in self._resumable), None)
        if master is not None and client_random not in self._sessions:
            self._sessions[client_random] = SessionSecrets({MASTER: master})

    def share(self, client_random: bytes, original: bytes) -> None:
        """Notes that a session of TLS 1.2 resumes the one with the client random `original`, and so has its secret."""
        master = self._master(original)
        if master is not None and client_random not in self._sessions:
            self._sessions[client_random] = SessionSecrets({MASTER: master})

    def _name(self, name: bytes, master: Secret) -> None:
        if len(self._resumable) >= RESUMABLE_LIMIT:
            del self._resumable[next(iter(self._resumable))]
        self._resumable[name] = master

    def _master(self, client_random: bytes) -> Secret | None:
        session = self._sessions.get(client_random)
        return None if session is None else session.by_label.get(MASTER)

    def unseen(self) -> Iterator[tuple[bytes, SessionSecrets]]:
        """The sessions whose client hello was not seen so far, first those that probably began shortly before the
        capture.

        A key log has no times, but programs append to it: sessions that began before the capture are before the first
        one that it shows, and the youngest of them is the last.
        """
        randoms = list(self._sessions)
        first = next((i for i, random in enumerate(randoms) if random in self._seen), len(randoms))
        for random in [*reversed(randoms[:first]), *randoms[first:]]:
            if random not in self._seen:
                yield random, self._sessions[random]

    def _add_line(self, words: list[bytes]) -> None:
        named = _read_named(words)
        if named is not None:
            self._name(*named)
            self.has_masters = True
            return
        if words[0] in _PASSED_OVER:
            return
        read = _read_line(words)
        if read is None:
            self.n_malformed += 1
            return
        label, random, secret = read
        if random in self._unwanted:
            return
        if random not in self._sessions and len(self._sessions) >= SESSION_LIMIT:
            self.n_left_out += 1
            return
        self._sessions.setdefault(random, SessionSecrets()).by_label[label] = secret
        self.has_masters = self.has_masters or label == MASTER


def _read_named(words: list[bytes]) -> tuple[bytes, Secret] | None:
    """Session id and master secret of a line that has them; None for others."""
    found = _NAMED_LINE.fullmatch(b" ".join(words))
    return None if found is None else (bytes.fromhex(found[1].decode()), Secret(bytes.fromhex(found[2].decode())))


def _read_line(words: list[bytes]) -> tuple[str, bytes, Secret] | None:
    """Label, client random and secret of a line; None if it is malformed."""
    if len(words) != 3:
        return None
    traffic = _TRAFFIC_LABEL.fullmatch(words[0])
    if words[0] not in _PLAIN_LABELS and (traffic is None or int(traffic[1]) > GENERATION_LIMIT):
        return None
    try:
        random, secret = (bytes.fromhex(word.decode("ascii")) for word in words[1:])
    except ValueError:  # UnicodeDecodeError is one
        return None
    lengths = (_MASTER_BYTES,) if words[0] == MASTER.encode() else _HASH_BYTES
    if len(random) != RANDOM_BYTES or len(secret) not in lengths:
        return None
    return words[0].decode("ascii"), random, Secret(secret)
