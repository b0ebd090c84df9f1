"""A connection that may be decrypted. It is held until its hellos, or trials, show its secrets; then its directions are
decrypted.

held     nothing of it is read yet, so that framing gets all of it if it cannot be decrypted
open     both directions are decrypted
passed   it is not TLS, or cannot be decrypted; `why` has the reason

A connection whose hello was not captured is tried with those sessions of the key log whose client hello was not seen:
only TLS 1.3, as the keys of TLS 1.2 need the server's random bytes.
"""

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import NamedTuple

from kafkascope_parsers.tls.direction import Direction
from kafkascope_parsers.tls.hello import HELLO_LIMIT, TLS_13, Hello, read_hello, version_name
from kafkascope_parsers.tls.key_log import KeyLog, SessionSecrets
from kafkascope_parsers.tls.plain_text import PlainText
from kafkascope_parsers.tls.records import find_header
from kafkascope_parsers.tls.run import Run
from kafkascope_parsers.tls.session import APPLICATION, Epoch, Session
from kafkascope_parsers.tls.suites import CHACHA, SUITES_13

HELD, OPEN, PASSED = range(3)
HELD_BYTES = 3 * ((1 << 14) + 256 + 5)
"""Bytes of a direction that wait for a whole record that can be tried: two records of the largest size always contain
one."""
CANDIDATE_LIMIT = 10_000
"""Sessions of the key log that are tried for one connection; a trial costs some 50 microseconds."""
SEARCHED_CANDIDATES = 256
"""Sessions that are tried with ChaCha20-Poly1305, whose sequence number has to be searched."""
FIRST_SEQUENCES = 1 << 10
"""Sequence numbers that are tried for each of them: the connection may have sent that many records before the
capture."""
RECORDS_TRIED = 4
"""Records of a connection that are tried: after a cut, bytes may look like a header once, but hardly more often."""

NO_HANDSHAKE = "its handshake is not in the capture, and no session of the key log opens its records"
NO_SECRET = "no secret of its session is in the key log"
NO_ANSWER = "the server's hello is not in the capture"

Runs = tuple[list[Run], list[Run]]
"""The runs of a block, of side 0 and of side 1."""


class TlsConnection:
    """One connection. number: as in tcp.Streams; by_syn: whether its first SYN was seen: side 0 is then the client."""

    def __init__(self, number: int, *, by_syn: bool) -> None:
        self.state = HELD
        self.why: str | None = None
        self.session: Session | None = None
        self.is_partly_tried = False
        """Whether the key log has more sessions than are tried."""
        self._version: str | None = None
        self._number, self._by_syn = number, by_syn
        self._directions: tuple[Direction, Direction] | None = None
        self._n_tried = 0

    def unlock(self, key_log: KeyLog) -> None:
        """Makes the keys again, after `lock`, or after the state was saved."""
        if self.session is not None and self._directions is not None:
            key_log.resume(self.session.client_random, (self.session.session_id,))
            secrets = key_log.session(self.session.client_random) or SessionSecrets()
            for direction in self._directions:
                direction.unlock(secrets)

    def lock(self) -> None:
        """Deletes the keys, until `unlock`."""
        for direction in self._directions or ():
            direction.lock()

    def take_version(self) -> str | None:
        """The version of a connection that was opened without its handshake; returned once."""
        version, self._version = self._version, None
        return version

    def look(self, runs: Runs, key_log: KeyLog, *, final: bool) -> None:
        """Reads the runs of a connection that is held, and opens it or passes it. final: no more will come."""
        hello, client_side = _client_hello(runs)
        if hello is not None and hello.is_whole:
            self._look_at_hellos(hello, client_side, runs, key_log)
        is_over = final or self._is_over(runs)
        if self.state != HELD or (not is_over and (hello is not None or _may_begin(runs))):
            return
        known = key_log.session(hello.random) if hello is not None else None
        self._try(runs, key_log.unseen() if hello is None or known is None else [(hello.random, known)])
        if self.state == HELD and (is_over or self._n_tried >= RECORDS_TRIED):
            self._pass(NO_HANDSHAKE if hello is None else NO_SECRET if known is None else NO_ANSWER)

    def read(self, side: int, run: Run, out: PlainText) -> int:
        """Decrypts a run of an open connection. Returns how far it was read."""
        assert self._directions is not None  # it is open
        return self._directions[side].read(run, out)

    def _look_at_hellos(self, hello: Hello, client_side: int, runs: Runs, key_log: KeyLog) -> None:
        """Opens or passes a connection by its client's hello, and by the server's if it is there."""
        answer = _first_hello(runs[1 - client_side])
        if answer is None or answer.is_client or not answer.is_whole:
            return
        key_log.resume(hello.random, (answer.session_id,))
        secrets = key_log.session(hello.random)
        session = Session.of(hello, answer)
        if isinstance(session, str):
            self._pass(session)
        elif secrets is None or not session.has_secrets(secrets):
            self._pass(NO_SECRET)
        else:
            self._open(session, secrets, client_side, begun=True)
            if hello.early_data and self._directions is not None:
                self._directions[client_side].may_begin_early()

    def _try(self, runs: Runs, candidates: Iterable[tuple[bytes, SessionSecrets]]) -> None:
        """Tries records, and opens the connection if one of them shows the session."""
        tried: list[tuple[bytes, SessionSecrets]] | None = None
        for side in (0, 1):
            for record in _whole_records(runs[side]):
                if self._n_tried >= RECORDS_TRIED:
                    return
                self._n_tried += 1
                if tried is None:  # each record is tried with all of them
                    tried = list(islice(candidates, CANDIDATE_LIMIT + 1))
                    self.is_partly_tried = len(tried) > CANDIDATE_LIMIT
                    del tried[CANDIDATE_LIMIT:]
                found = _session_of(record, tried, (0, 1) if not self._by_syn else (side,))
                if found is not None:
                    self._version = version_name(TLS_13)
                    self._open(found.session, found.secrets, side ^ found.side, begun=False)
                    return

    def _open(self, session: Session, secrets: SessionSecrets, client_side: int, *, begun: bool) -> None:
        self.state, self.session = OPEN, session
        self._directions = tuple(  # type: ignore[assignment]
            Direction(2 * self._number + side, side ^ client_side, session, begun=begun) for side in (0, 1)
        )
        for direction in self._directions or ():
            direction.unlock(secrets)
            if self._by_syn and not begun:
                direction.lack_beginning()

    def _pass(self, why: str) -> None:
        self.state, self.why = PASSED, why

    def _is_over(self, runs: Runs) -> bool:
        """Whether waiting is useless: bytes are missing, or too many wait."""
        return any(len(side) > 1 or any(r.is_last for r in side) for side in runs) or any(
            run.end - run.start > HELD_BYTES for side in runs for run in side
        )


def _first_hello(runs: list[Run]) -> Hello | None:
    """The hello in the first bytes of a direction; None if there is none."""
    if not runs or runs[0].offset != 0:
        return None
    return read_hello(bytes(runs[0].view[runs[0].start : min(runs[0].end, runs[0].start + HELLO_LIMIT)]))


def _client_hello(runs: Runs) -> tuple[Hello | None, int]:
    """The client's hello, and the side that sent it."""
    for side in (0, 1):
        hello = _first_hello(runs[side])
        if hello is not None and hello.is_client:
            return hello, side
    return None, 0


def _may_begin(runs: Runs) -> bool:
    """Whether the first bytes of a direction may still become a hello."""
    return any(
        run.offset == 0
        and run.end - run.start < 11
        and b"\x16\x03".startswith(bytes(run.view[run.start : run.end][:2]))
        for side in runs
        for run in side[:1]
    )


def _whole_records(runs: list[Run]) -> Iterator[memoryview]:
    """Records of application data, each of them followed by another or by the run's end."""
    for run in runs:
        at = run.start
        while True:
            at = int(find_header(run.data, at, run.end, 5 + 17))
            after = run.end_of(at)
            if after is None:
                break
            if after <= run.end and (after == run.end or find_header(run.data, after, run.end, 0) == after):
                yield run.view[at:after]
                at = after
            else:
                at += 1


class _Found(NamedTuple):
    """A session of TLS 1.3 whose secrets open a record, and the side that sent it (0 is the client)."""

    session: Session
    secrets: SessionSecrets
    side: int


def _session_of(
    record: memoryview, candidates: list[tuple[bytes, SessionSecrets]], sides: tuple[int, ...]
) -> _Found | None:
    """The session that a record belongs to."""
    for n, (random, secrets) in enumerate(candidates):
        for number, suite in SUITES_13.items():
            if suite.mode == CHACHA and n >= SEARCHED_CANDIDATES:
                continue
            session = Session(TLS_13, number, random)
            for side in sides:
                if _opens(session, secrets, side, record):
                    return _Found(session, secrets, side)
    return None


def _opens(session: Session, secrets: SessionSecrets, side: int, record: memoryview) -> bool:
    """Whether a record opens as one of the first FIRST_SEQUENCES, or with any number if that needs no search."""
    secret, suite = secrets.traffic(side), SUITES_13[session.suite]
    if secret is None or (len(secret) == 48) != (suite.hash == "sha384"):
        return False
    cipher = session.cipher(secrets, side, Epoch(APPLICATION))
    return cipher is not None and cipher.sequence_of(record, 0, FIRST_SEQUENCES) is not None
