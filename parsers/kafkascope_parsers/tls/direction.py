"""One direction of a decrypted connection: records in order, each opened with the next sequence number.

After a gap the next record is a header whose record opens. With AES-GCM of TLS 1.3 the record shows its sequence number
(ciphers.gcm_nonce); for others as many numbers are tried as records may have been lost, at most SEARCH_LIMIT. If a
record does not open although nothing is missing, it may have the next keys, or TCP's stream may lack a few records
before it. After FAILURE_LIMIT such records in a row the rest of the direction is given up.
"""

from collections.abc import Iterator
from typing import Any

from kafkascope_parsers.tcp.streams import GAP_LOST, GAP_NONE
from kafkascope_parsers.tls.certificates import certificate_list
from kafkascope_parsers.tls.handshake_messages import (
    CERTIFICATE,
    END_OF_EARLY_DATA,
    FINISHED,
    KEY_UPDATE,
    HandshakeMessages,
)
from kafkascope_parsers.tls.hello import TLS_13
from kafkascope_parsers.tls.key_log import SessionSecrets
from kafkascope_parsers.tls.plain_text import Alert, Certificates, PlainText, Stretch, Undecrypted
from kafkascope_parsers.tls.record_cipher import HEADER_BYTES, NOT_OPENED, Opened, RecordCipher
from kafkascope_parsers.tls.records import (
    ALERT,
    APPLICATION_DATA,
    CHANGE_CIPHER_SPEC,
    HANDSHAKE,
    find_header,
    whole_records,
)
from kafkascope_parsers.tls.run import Run
from kafkascope_parsers.tls.session import APPLICATION, EARLY_DATA, HANDSHAKES, Epoch, Session

SEARCH_LIMIT = 1 << 16
"""Sequence numbers that are tried for the first record after a gap."""
RETRY_WINDOW = 16
"""Sequence numbers that are tried for a record that does not open although nothing is missing."""
TRIAL_LIMIT = 1 << 20
"""Sequence numbers that are tried in one direction: about two seconds."""
FAILURE_LIMIT = 16
"""Records in a row that do not open before a direction is given up."""
LOST_UPDATES = 2
"""Key updates that may be lost in a gap."""
CLOSED_RECORDS = 64
"""Encrypted records of a handshake that are skipped if the key log lacks the handshake's secrets."""

_KEPT = frozenset({CERTIFICATE})


class Direction:
    """Decrypts one direction. number: as in tcp.Streams; side: 0 is the client; begun: whether its handshake was seen
    from the first byte on, else its first record has to be found."""

    def __init__(self, number: int, side: int, session: Session, *, begun: bool) -> None:
        self._number, self._side, self._session = number, side, session
        self._is_13 = session.version == TLS_13
        self._epoch = Epoch(HANDSHAKES if begun and self._is_13 else APPLICATION)
        self._sequence = 0
        self._has_keys = not begun
        """TLS 1.2: whether its ChangeCipherSpec was seen; from then on all records are encrypted."""
        self._messages = HandshakeMessages(_KEPT)
        self._chain: tuple[bytes, ...] | None = None
        """Certificates that it sent, until they are returned."""
        self._n_records, self._n_failed, self._n_trials, self._n_closed = 0, 0, 0, 0
        self._hunts = not begun
        self._reason = "gap" if begun else "mid_stream_start"
        self._expected: int | None = None
        """Offset in TCP's stream of the record after one that a gap cut."""
        self._read_to: int | None = 0 if begun else None
        """Offset in TCP's stream after the last record that was taken."""
        self._offset, self._gap_kind = 0, GAP_NONE
        """The offset of the next decrypted byte, and why bytes are missing before it."""
        self._lost_kind = GAP_LOST
        """Why bytes are missing before the record that is searched."""
        self._given_up: str | None = None
        self._secrets = SessionSecrets()
        self._cipher: RecordCipher | None = None
        self._content_at = 0
        self._has_secret = False

    def __getstate__(self) -> dict[str, Any]:
        """The state without keys; `unlock` makes them again."""
        return vars(self) | {"_secrets": None, "_cipher": None}

    def unlock(self, secrets: SessionSecrets) -> None:
        """Makes the keys for the direction's current place."""
        self._secrets = secrets
        self._enter(self._epoch, self._sequence)
        self._has_secret = self._session.cipher(secrets, self._side, Epoch(APPLICATION)) is not None

    def lock(self) -> None:
        """Deletes the keys, until `unlock` makes them again."""
        self._secrets, self._cipher = SessionSecrets(), None

    def lack_beginning(self) -> None:
        """Notes that the connection's first bytes are missing."""
        self._offset, self._gap_kind, self._reason = 1, GAP_LOST, "gap"

    def may_begin_early(self) -> None:
        """Notes that the client offers early data: if the key log has the secret, its first records may be early
        data."""
        if self._is_13 and self._session.cipher(self._secrets, self._side, Epoch(EARLY_DATA)) is not None:
            self._enter(Epoch(EARLY_DATA), 0)

    def read(self, run: Run, out: PlainText) -> int:
        """Decrypts the records of a run. Returns how far it was read."""
        at = run.start
        if run.gap_kind != GAP_NONE:
            self._lose(run.gap_kind)
        while at < run.end and self._given_up is None:
            at = self._hunt(run, at, out) if self._hunts else at
            if self._hunts:
                break
            ends, _, is_sound = whole_records(run.data, at, run.end)
            at, is_stuck = self._open_all(run, at, ends, out)
            if is_stuck:
                at = self._pass_over(run, at, out)
            elif is_sound:
                break
            else:
                self._reason = "tls"
                self._lose(GAP_LOST)
        if self._given_up is None and not run.is_last:
            return at
        if at < run.end:
            reason, detail = (run.end_reason, None) if self._given_up is None else ("tls", self._given_up)
            if not self._hunts:
                self._expected = self._offset_behind(run, at)
            self._leave(run, (at, run.end), (reason, detail), out)
            self._lose(GAP_LOST)
        return run.end

    def _open_all(self, run: Run, at: int, ends: list[int], out: PlainText) -> tuple[int, bool]:
        """Opens records that follow each other. Returns the place where it stopped, and whether a record there does not
        open."""
        n, size, begin, is_stuck = 0, 0, at, False
        for end in ends:
            kind, n_bytes = self._open(run.view[at:end], out.room[out.filled :])
            if kind < 0:
                is_stuck = True
                break
            if kind == APPLICATION_DATA and n_bytes:
                out.begins.append(at + self._content_at)
                out.ends.append(end)
                out.sizes.append(n_bytes)
                out.filled += n_bytes
                n, size = n + 1, size + n_bytes
            elif kind == ALERT and n_bytes == 2:
                out.alerts.append(Alert(self._number, out.room[out.filled + 1]))
            at = end
        if self._chain is not None:
            out.certificates.append(Certificates(self._number >> 1, self._side == 0, self._chain))
            self._chain = None
        if n:
            out.stretches.append(Stretch(self._number, self._offset, self._gap_kind, n))
            self._offset, self._gap_kind = self._offset + size, GAP_NONE
        out.add_overhead(self._number, at - begin - size)
        self._n_failed = 0 if at > begin else self._n_failed
        self._read_to = run.offset_of(at)
        return at, is_stuck

    def _open(self, record: memoryview, room: memoryview) -> Opened:
        """The content type and size of the next record; NOT_OPENED if it does not open."""
        self._n_records += 1
        if not (record[0] == APPLICATION_DATA if self._is_13 else self._has_keys):
            return self._take_clear(record, room)
        opened = self._cipher.open(self._sequence, record, room) if self._cipher is not None else NOT_OPENED
        if opened[0] < 0:
            opened = self._open_by_proof(record, RETRY_WINDOW, room)
            if opened[0] < 0 and self._cipher is None and self._has_secret and self._n_closed < CLOSED_RECORDS:
                self._n_closed += 1
                return HANDSHAKE, 0
        if opened[0] >= 0:
            self._sequence += 1
            if opened[0] == HANDSHAKE and self._is_13:
                self._take_messages(room[: opened[1]])
        return opened

    def _take_clear(self, record: memoryview, room: memoryview) -> Opened:
        """Takes a record that is not encrypted; its content is used only if it is an alert."""
        if record[0] == CHANGE_CIPHER_SPEC and not self._is_13:
            self._has_keys, self._sequence = True, 0
        if record[0] == ALERT and len(record) == HEADER_BYTES + 2:
            room[:2] = record[HEADER_BYTES:]
            return ALERT, 2
        return HANDSHAKE, 0

    def _open_by_proof(self, record: memoryview, window: int, room: memoryview) -> Opened:
        """Opens a record if the number of records between the last one, or the new keys, and it is unknown."""
        for epoch, expected in self._possible_epochs():
            is_current = epoch == self._epoch
            cipher = self._cipher if is_current else self._session.cipher(self._secrets, self._side, epoch)
            if cipher is None or self._n_trials > TRIAL_LIMIT:
                continue
            self._n_trials += 1 if cipher.is_direct else window
            sequence = cipher.sequence_of(record, expected, window)
            if sequence is not None:
                self._use(epoch, sequence, cipher)
                self._has_keys = True
                return cipher.open(sequence, record, room)
        return NOT_OPENED

    def _possible_epochs(self) -> Iterator[tuple[Epoch, int]]:
        """The keys that a record may have, each with the lowest sequence number: the current ones, and the following
        ones."""
        yield self._epoch, self._sequence
        if self._is_13 and self._epoch.number == APPLICATION:
            for more in range(1, LOST_UPDATES + 1):
                yield Epoch(APPLICATION, self._epoch.generation + more), 0
        for number in range(self._epoch.number + 1, APPLICATION + 1):
            yield Epoch(number), 0

    def _take_messages(self, content: memoryview) -> None:
        """Takes messages of TLS 1.3: certificates, and those after which there are new keys."""
        for message in self._messages.ended_in(content):
            if message.kind == CERTIFICATE and message.body is not None:
                self._chain = tuple(certificate_list(message.body, is_13=True))
            elif message.kind == KEY_UPDATE and self._epoch.number == APPLICATION:
                self._enter(Epoch(APPLICATION, self._epoch.generation + 1), 0)
            elif message.kind == FINISHED and self._epoch.number == HANDSHAKES:
                self._enter(Epoch(APPLICATION), 0)
            elif message.kind == END_OF_EARLY_DATA and self._epoch.number == EARLY_DATA:
                self._enter(Epoch(HANDSHAKES), 0)

    def _enter(self, epoch: Epoch, sequence: int) -> None:
        self._use(epoch, sequence, self._session.cipher(self._secrets, self._side, epoch))

    def _use(self, epoch: Epoch, sequence: int, cipher: RecordCipher | None) -> None:
        """Continues with the record of that sequence number, and these keys."""
        self._epoch, self._sequence, self._cipher = epoch, sequence, cipher
        self._content_at = cipher.content_at if cipher is not None else 0

    def _pass_over(self, run: Run, at: int, out: PlainText) -> int:
        """Skips a whole record that does not open. Returns the place after it."""
        after = run.end_of(at)
        assert after is not None  # it is whole
        self._n_failed += 1
        detail = f"record {self._n_records} does not open with the keys of the key log"
        if self._cipher is None:
            detail = "the key log lacks the secret of this side's data"
        self._leave(run, (at, after), ("tls", detail), out)
        self._sequence += 1
        self._offset, self._gap_kind = self._offset + self._text_lost(after - at, 1), GAP_LOST
        self._read_to = run.offset_of(after)
        if self._n_failed >= FAILURE_LIMIT:
            self._given_up = detail
        return after

    def _lose(self, gap_kind: int) -> None:
        """Notes that the following bytes do not continue those that were read."""
        self._hunts, self._lost_kind = True, gap_kind
        self._messages = HandshakeMessages(_KEPT)

    def _hunt(self, run: Run, at: int, out: PlainText) -> int:
        """Searches for a record that opens, and returns its place, or the place from which more bytes are needed."""
        begin, place, found = at, at, False
        if self._expected is not None:
            place = min(max(at, run.start + self._expected - run.offset), run.end)
        least = self._cipher.least if self._cipher is not None else 0
        while not found:
            place = int(find_header(run.data, place, run.end, least))
            after = run.end_of(place)
            if after is None or (after > run.end and not run.is_last):
                break
            found = after <= run.end and self._proves(run, place)
            place += not found
        if found:
            self._hunts, self._expected = False, None
        self._leave(run, (begin, place), (self._reason, None), out)
        if found:
            self._reason = "gap"
        return place

    def _proves(self, run: Run, at: int) -> bool:
        """Whether the record at `at` opens; then it becomes the next one, and the number of lost bytes is known."""
        record = run.record(at)
        assert record is not None
        if self._is_13 and record[0] != APPLICATION_DATA:
            return False
        epoch, before = self._epoch, self._sequence
        lost = run.offset_of(at) - (self._read_to or 0)
        n_lost = lost // self._cipher.least if self._cipher is not None else 0
        room = memoryview(bytearray(len(record)))
        if self._open_by_proof(record, min(SEARCH_LIMIT, n_lost + 2), room)[0] < 0:
            return False
        if self._read_to is not None:
            self._offset += self._text_lost(lost, self._sequence - before if epoch == self._epoch else None)
            self._gap_kind = self._lost_kind
        return True

    def _text_lost(self, n_bytes: int, n_records: int | None) -> int:
        """The decrypted bytes in lost records: exact if the number of records is known, and each has the same
        overhead."""
        overhead = self._cipher.overhead if self._cipher is not None else None
        if overhead is None or n_records is None:
            return max(n_bytes, 1)
        return max(n_bytes - n_records * overhead, 0)

    def _offset_behind(self, run: Run, at: int) -> int | None:
        """The offset in TCP's stream after the record whose header is at `at`; None if that is not known."""
        after = run.end_of(at)
        return None if after is None else run.offset_of(after)

    def _leave(self, run: Run, span: tuple[int, int], why: tuple[str, str | None], out: PlainText) -> None:
        """Leaves bytes undecrypted. span: their places; why: reason and detail."""
        at, to = span
        out.add_undecrypted(Undecrypted(self._number, at, run.offset_of(at), to - at, *why))
