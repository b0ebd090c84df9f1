"""Values that a field may have by its type and that no healthy client sends, and message trees changed by them."""

import random
import struct
from collections.abc import Sequence

from benchmarks.farm.message_tree import WIDTHS, Array, Item, Leaf, Struct, Tree
from benchmarks.farm.mutations import VARINTS

STRINGS: tuple[bytes | None, ...] = (
    None,
    b"",
    b" ",
    b"-",
    b"-1",
    b"0",
    b"1.",
    b"..",
    b"4.3.1-SNAPSHOT",
    b"9" * 30,
    b"9" * 5000,
    b"1" + b".1" * 2000,
    b"-9223372036854775809",
    b"1e999",
    b"NaN",
    "²³¼٣".encode(),
    "\u202emoc.live\u202c".encode(),
    "a\u0301\u200b\ufeff😀".encode(),
    b"\x00",
    b"a\x00b",
    b"\x1b[31mred\x1b[0m\x07\r\n\t",
    b"\xff\xfe\xed\xa0\x80",
    b"\xc3",
    b"=cmd|' /C calc'!A0",
    b"+1",
    b"@SUM(1)",
    b"</script><script>alert(1)</script>",
    b"<!--",
    b"`|*_[x](javascript:alert(1))",
    b"'; drop table requests; --",
    b'"\\',
    b"{}",
    b"%s%n{0}",
    b"../../../../etc/passwd",
    b"a/b",
    b"con_id:1",
    b"[::1]:9092",
    b"host:99999999999",
    b":-1",
    b"10.0.0.1",
    b"x" * 300,
    b"y" * 32767,
)
_LIMITS = {
    width: (-(1 << (8 * width - 1)), -(1 << (8 * width - 1)) + 1, -2, -1, 0, 1, 2, (1 << (8 * width - 1)) - 1)
    for width in (1, 2, 4, 8)
}
_NEAR = {
    1: (3, 127),
    2: (35, 1000, 32766),
    4: (9092, 65536, 2**31 - 2, -(2**16)),
    8: (2**31, 2**32, 2**53 + 1, 2**62, 1 << 55, -(2**62), 10**18, 253402300800000, -62135596800001, 10**13),
}
"""Values between: error codes, ports, the last double that is exact, the year 10000 and the year 0 in milliseconds."""
_DOUBLES = (0.0, -0.0, 1e308, -1e308, 5e-324, float("inf"), float("-inf"), float("nan"), 1e18, -1.0)


def change(r: random.Random, tree: Tree) -> None:
    """Changes a few fields of a message, each to a value of its type; one in eight of the changes writes bytes that are
    not well formed."""
    items = [item for item in tree.walk() if not is_correlation_id(item)]
    for item in r.choices(items, k=r.choice((1, 1, 2, 3, 8))):
        if isinstance(item, Leaf):
            change_leaf(r, item)
        elif isinstance(item, Array):
            change_array(r, item)
        else:
            change_struct(r, item)


def is_correlation_id(item: Item) -> bool:
    return item.path.endswith("CorrelationId")


def change_leaf(r: random.Random, leaf: Leaf) -> None:
    if leaf.type in WIDTHS:
        leaf.value = fixed(r, leaf.type)
    elif r.random() < 0.12:
        leaf.wire = r.choice(VARINTS) if leaf.compact else r.choice((b"\x80\0", b"\xff\xfe", b"\x7f\xff\xff\xff"))
    elif leaf.type == "string":
        leaf.value = r.choice(STRINGS)
    else:
        leaf.value = r.choice((None, b"", b"\0", r.randbytes(r.randint(1, 60)), *STRINGS[-3:], leaf.value))


def fixed(r: random.Random, kind: str) -> bytes:
    """A value of a type with a fixed width, as on the wire."""
    if kind == "uuid":
        return r.choice((bytes(16), b"\xff" * 16, bytes(15) + b"\1", r.randbytes(16)))
    if kind == "float64":
        return struct.pack(">d", r.choice(_DOUBLES))
    width = WIDTHS[kind]
    value = r.choice((*_LIMITS[width], *_NEAR[width]) if r.random() < 0.9 else (r.getrandbits(8 * width),))
    return (value % (1 << 8 * width)).to_bytes(width, "big")


def change_array(r: random.Random, array: Array) -> None:
    """Null, empty, an item twice or many times, items in another order, or a wrong count."""
    items = array.items or []
    choice = r.randrange(6)
    if choice == 0 or not items:
        array.items = r.choice((None, []))
    elif choice == 1:
        array.items = [*items, *r.choices(items, k=r.choice((1, 2, 100)))]
    elif choice == 2:
        array.items = r.sample(items, len(items))
    elif choice == 3:
        array.items = items[:-1]
    else:
        array.count = r.choice((-2, -1, 0, len(items) + 1, len(items) - 1, 2**31 - 1, -(2**31)))


def change_struct(r: random.Random, part: Struct) -> None:
    """An unknown tag, a tag twice, no tags; or null, for a struct that may be null."""
    if part.marker and r.random() < 0.5:
        part.members, part.tags, part.marker = None, None, b"\xff" if part.marker == b"\x01" else b"\0"
    elif part.tags is not None:
        unknown = (r.choice((9999, 2**31 - 1, 2**32 - 1, 77)), r.choice(_payloads(r)))
        part.tags = r.choice(([*part.tags, unknown], [*part.tags, *part.tags], [], [unknown] * 3))


def _payloads(r: random.Random) -> Sequence[bytes]:
    return (b"", b"\0", r.randbytes(9), b"z" * 4000, b"\xff" * 12)
