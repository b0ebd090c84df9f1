"""Finds packets that the capture shows twice, as with `tcpdump -i any`, port mirroring, a router, a bridge, or both
ends of a tunnel.

The first copy is used, and the others are counted separately. Copies and retransmissions must not be confused, so the
fields that they have in common and in which they differ decide. Seen in captures of a Linux router with `-i any`
(offloads on and off, packets dropped on purpose): a copy comes 1 to 22 us later, with the same IP identification and
another TTL; a fast retransmission came as early as 44 us after the first sending, with the same timestamps option (1 ms
ticks), but always with a new identification. `editcap -d` compares whole packets within five packets, so it finds
neither copies with another TTL nor those on other link layers.

Rules. Two packets are copies when addresses, ports, sequence and acknowledgement number, flags, window, payload length,
IP identification and timestamp are the same, and - their TCP checksums are the same, or one of them is what offloading
leaves there (the sum of the pseudo header), or it is a SYN, whose MSS routers rewrite. A second sending with other
bytes is therefore never a copy; - they come within SURE_NS, or within COPY_NS if there is a proof that it is one
packet: the identification, if the sender gives packets different ones; or another TTL, if the identification is 0 or
missing (IPv6). - Without an identification, a packet that passes a point again after a copy passed another point (TTL)
was sent again. Keep-alives come seconds apart and are never copies. A byte-identical second sending within SURE_NS
(some systems repeat the identification, RFC 1122 3.2.1.5) cannot be distinguished from a copy, and counts as one.

State: the last RECENT packets, so memory is bounded and results do not depend on blocks. TCP counts a copy that comes
later than that as a retransmission. Copies with other addresses (NAT) are other connections.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from kafkascope_parsers.kernels import inlined, kernel

SURE_NS = 500_000
"""Longer than a switch or a bridge takes, and shorter than most round trips with a retransmission."""

COPY_NS = 50_000_000
"""How long a router may queue a packet. The shortest retransmission timeouts are of this order."""

RECENT = 2048
"""Packets remembered: 1 ms at 2 million packets a second. 80 kB, and 128 kB of hash buckets: the second-level cache
holds both. A power of 2."""

_STEPS = 32
"""Packets of one hash bucket that are compared; there is rarely more than one."""

_PROOF_STEPS = 64
"""Earlier packets that are searched for one of the same direction with another identification."""

_SYN = 2
_CHECKSUM_BITS, _TTL_BITS, _ID_BITS = np.uint64(32), np.uint64(24), np.uint64(48)

RECENT_ROW = np.dtype(
    (
        np.record,
        np.dtype(
            [
                ("n", np.int64),
                ("last", np.int64, (8 * RECENT,)),
                ("hash", np.uint64, (RECENT,)),
                ("mark", np.uint64, (RECENT,)),
                ("ts_ns", np.int64, (RECENT,)),
                ("before", np.int64, (RECENT,)),
                ("flow", np.uint32, (RECENT,)),
                ("elsewhere", np.uint8, (RECENT,)),
            ],
            align=True,
        ),
    )
)
"""The last packets, as one record: kernels get one pointer to it, while each array would cost a reference count.

n: packets so far; last: the last packet of every hash bucket, counted from the capture's start, or -1. Of packet i, at
i % RECENT: hash of what copies share; mark; time; `before`: the packet before it in its bucket; flow: hash of the
direction; elsewhere: a copy with another TTL has been seen.
"""


def no_packets() -> NDArray[np.void]:
    """One RECENT_ROW that remembers nothing yet."""
    rows = np.zeros(1, RECENT_ROW)
    rows["last"] = -1
    return rows


@inlined
def direction_hash(seg: Any) -> Any:
    """A 64-bit hash of the segment's addresses and ports, in order."""
    x = seg.source_low * np.uint64(0x9E3779B97F4A7C15) + seg.destination_low * np.uint64(0xC2B2AE3D27D4EB4F)
    x += seg.source_high * np.uint64(0x165667B19E3779F9) + seg.destination_high * np.uint64(0xBF58476D1CE4E5B9)
    x += (np.uint64(seg.source_port) << np.uint64(16) | np.uint64(seg.destination_port)) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(32))


@inlined
def copy_hash(seg: Any, flow: int) -> Any:
    """A 64-bit hash of the fields that are equal in copies."""
    x = np.uint64(flow) + (np.uint64(seg.seq) << np.uint64(32) | np.uint64(seg.ack))
    x = (x ^ (x >> np.uint64(29))) * np.uint64(0xFF51AFD7ED558CCD)
    x += (np.uint64(seg.window) << np.uint64(40)) + (np.uint64(seg.tcp_flags) << np.uint64(32)) + np.uint64(seg.length)
    x ^= seg.mark & np.uint64(0xFFFF000000FFFFFF)
    x = (x ^ (x >> np.uint64(32))) * np.uint64(0xC4CEB9FE1A85EC53)
    return x ^ (x >> np.uint64(33))


@kernel
def is_pseudo_sum(checksum: int, seg: Any) -> bool:
    """Whether a checksum is the sum of the pseudo header alone (RFC 9293, 3.1), because the network card adds the
    rest."""
    total = np.int64(6) + seg.length
    for shift in range(0, 64, 16):
        for part in (seg.source_high, seg.source_low, seg.destination_high, seg.destination_low):
            total += np.int64((part >> np.uint64(shift)) & np.uint64(0xFFFF))
    if seg.source_high == 0 and seg.source_low >> np.uint64(32) == 0xFFFF:
        total -= 2 * 0xFFFF
    for header in range(20, 64, 4):
        folded = total + header
        while folded >> 16:
            folded = (folded & 0xFFFF) + (folded >> 16)
        if folded == checksum:
            return True
    return False


@kernel
def identified(seg: Any, flow: int, recent: Any) -> bool:
    """Whether the sender gives packets different identifications: one of the last packets has another one."""
    mine, n = seg.mark >> _ID_BITS, recent.n
    if mine == 0:
        return False
    for step in range(1, min(n, _PROOF_STEPS) + 1):
        at = (n - step) & (RECENT - 1)
        if recent.flow[at] == flow and recent.mark[at] >> _ID_BITS != mine:
            return True
    return False


@kernel
def judge_copy(seg: Any, flow: int, at: int, recent: Any) -> bool:
    """Whether the segment is a copy of the packet at place `at`, which shares its hash."""
    age, mark = abs(seg.ts_ns - recent.ts_ns[at]), recent.mark[at]
    if age > COPY_NS:
        return False
    one = np.int64((seg.mark >> _CHECKSUM_BITS) & np.uint64(0xFFFF))
    other = np.int64((mark >> _CHECKSUM_BITS) & np.uint64(0xFFFF))
    if one != other and not seg.tcp_flags & _SYN and not is_pseudo_sum(one, seg) and not is_pseudo_sum(other, seg):
        return False
    moved = (seg.mark ^ mark) >> _TTL_BITS & np.uint64(0xFF) != 0
    if seg.mark >> _ID_BITS == 0 and recent.elsewhere[at] and not moved:
        return False
    if age > SURE_NS and not identified(seg, flow, recent) and (seg.mark >> _ID_BITS != 0 or not moved):
        return False
    if moved:
        recent.elsewhere[at] = 1
    return True


@inlined
def is_copy(seg: Any, recent: Any) -> bool:
    """Whether the capture has shown the segment already; if not, remembers it."""
    whole = direction_hash(seg)
    flow, key = np.uint32(whole & np.uint64(0xFFFFFFFF)), copy_hash(seg, whole)
    bucket = np.int64(key & np.uint64(8 * RECENT - 1))
    n = recent.n
    at = recent.last[bucket]
    for _ in range(_STEPS):
        if at < 0 or n - at > RECENT or recent.hash[at & (RECENT - 1)] == key:
            break
        at = recent.before[at & (RECENT - 1)]
    place = at & (RECENT - 1)
    if at >= 0 and n - at <= RECENT and recent.hash[place] == key and judge_copy(seg, flow, place, recent):
        return True
    place = n & (RECENT - 1)
    recent.hash[place], recent.mark[place], recent.ts_ns[place] = key, seg.mark, seg.ts_ns
    recent.before[place], recent.flow[place], recent.elsewhere[place] = recent.last[bucket], flow, 0
    recent.last[bucket] = n
    recent.n = n + 1
    return False
