"""Finds the next record after a corrupt place. A proof is required, so that chance is excluded.

A place is accepted as a record's beginning if CHAIN headers follow one another, each of them plausible, and each at the
place where the record before ends by its length. Plausible means, in pcap: lengths that fit each other and the file's
snap length, a time within a day of the last packet before, and within ten minutes of each other. Random bytes pass that
with a chance below 10^-15 for each place. In pcapng: equal lengths at both ends of each block.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from kafkascope_parsers.capture.columns import uint32_at
from kafkascope_parsers.kernels import kernel

CHAIN = 4
_SECONDS_OF_A_DAY = 86_400
_SECONDS_IN_A_CHAIN = 600
_ENHANCED_PACKET = 6
_LONGEST_BLOCK = 1 << 20
"""A longer block may be real, but is not taken as proof."""

NO, YES, MORE = 0, 1, 2


@kernel
def next_pcap_record(
    buf: NDArray[np.uint8], span: tuple[int, int], kind: Any, last_s: int, final: bool
) -> tuple[int, bool]:
    """The first place in buf[span[0]:span[1]] where a record begins, and True; else the first place that more bytes may
    prove (the end, if final: no more follow), and False.

    kind: pcap.RecordKind; last_s: seconds of the last packet before, negative where it is not known.
    """
    at, end = span
    while at < end:
        verdict = _pcap_chain(buf, (at, end), kind, last_s, final)
        if verdict == YES:
            return at, True
        if verdict == MORE:
            return at, False
        at += 1
    return end, False


@kernel
def _pcap_chain(buf: NDArray[np.uint8], span: tuple[int, int], kind: Any, last_s: int, final: bool) -> int:
    at, end = span
    for i in range(CHAIN):
        if end - at < kind.header_bytes:
            if final:
                return YES if i > 1 and at == end else NO
            return MORE
        caplen, wirelen = uint32_at(buf, at + 8, kind.big), uint32_at(buf, at + 12, kind.big)
        if caplen == 0 or caplen > wirelen or caplen > kind.limit or wirelen > kind.limit:
            return NO
        seconds = uint32_at(buf, at, kind.big)
        if last_s >= 0 and abs(seconds - last_s) > (_SECONDS_IN_A_CHAIN if i else _SECONDS_OF_A_DAY):
            return NO
        last_s = seconds
        if uint32_at(buf, at + 4, kind.big) * kind.unit_ns >= 1_000_000_000:
            return NO
        at += kind.header_bytes + caplen
        if at > end:
            return NO if final else MORE
    return YES


@kernel
def next_pcapng_block(buf: NDArray[np.uint8], span: tuple[int, int], big: bool, final: bool) -> tuple[int, bool]:
    """The first place in buf[span[0]:span[1]] where an enhanced packet block begins, as in `next_pcap_record`."""
    at, end = span
    while at < end:
        verdict = _pcapng_chain(buf, (at, end), big, final)
        if verdict == YES:
            return at, True
        if verdict == MORE:
            return at, False
        at += 1
    return end, False


@kernel
def _pcapng_chain(buf: NDArray[np.uint8], span: tuple[int, int], big: bool, final: bool) -> int:
    at, end = span
    for i in range(CHAIN):
        if end - at < 8:
            if final:
                return YES if i > 1 and at == end else NO
            return MORE
        kind, length = uint32_at(buf, at, big), uint32_at(buf, at + 4, big)
        if (i == 0 and kind != _ENHANCED_PACKET) or length < 12 or length & 3 or length > _LONGEST_BLOCK:
            return NO
        if length > end - at:
            return NO if final else MORE
        if uint32_at(buf, at + length - 4, big) != length:
            return NO
        at += length
    return YES
