"""`Programs`: the output of the compiler, which the machine runs: operations as rows of int32.

Row of `code`: [OP, SLOT, LEVEL, JUMP, A, B, NULLABLE, ELEMENT_SLOT]. LEVEL is the level of the slot's column.

    I8 I16 I32 I64 U16 BOOL UUID   read a fixed-width value. float64 is I64: its bits. I32_WIDENED is an int32
                                   whose column is int64, because another version has more bits
    STRING COMPACT                 read a length and that many bytes; A is the width of the length (2 or 4; COMPACT:
                                   unsigned varint of n + 1)
    ARRAY CARRAY                   read a count; A least bytes an element can have, B level of the elements; JUMP past
                                   the loop
    FARRAY CFARRAY                 the same, elements are fixed-width integers: A their width, ELEMENT_SLOT their
                                   column, no loop
    LOOP                           end of an element
    NULLABLE_STRUCT                int8 marker, below 0 is null (A = 1: unsigned varint, 0 is null, as in a tag); JUMP
                                   past the struct; B guard
    PRESENT                        a struct that is always there
    TAGS                           read the number of tagged fields; A, B: first row and number of rows of `tags`;
                                   JUMP past the section
    NEXT_TAG                       next tagged field: known tags continue in their own code, unknown ones are kept in
                                   SLOT + 1 (tag) and SLOT + 2 (bytes) on level ELEMENT_SLOT
    END_TAG                        end of a known tagged field, back to NEXT_TAG
    END                            end of the message

Row of `tags`: [TAG, first operation, guard]. A guard is the number of a part of the code that may not run (a tagged
field, a nullable struct): fields that were never reached in a batch need no column.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

(OP, SLOT, LEVEL, JUMP, A, B, NULLABLE, ELEMENT_SLOT) = range(8)
(I8, I16, I32, I64, U16, BOOL, I32_WIDENED, UUID, STRING, COMPACT, ARRAY, CARRAY, FARRAY, CFARRAY) = range(14)
(LOOP, NULLABLE_STRUCT, PRESENT, TAGS, NEXT_TAG, END_TAG, END) = range(14, 21)
MAX_DEPTH = 32
"""Arrays and tag sections inside each other, over all messages. StreamsGroupDescribe, Kafka's deepest, needs 5; the
compiler refuses more than the limit."""
MAX_TAGS = 64
"""Known tags of one struct: the machine keeps which it has seen in a 64-bit set. Kafka's most has 4."""
GUARD_ABSENT, GUARD_ALWAYS = -2, -1


@dataclass(frozen=True, slots=True)
class Programs:
    """The programs of all versions of one message, one after the other.

    code, tags    int32    as above
    entry         int32    per version from min_version: its first operation
    guard         int16    [version, slot]: GUARD_ABSENT, GUARD_ALWAYS on every instance of the level, or the guard it
                           stands behind
    has_level     bool     [version, level]
    n_guards      number of guards
    paths         field path of every operation, for messages about failures
    """

    code: NDArray[np.int32]
    tags: NDArray[np.int32]
    entry: NDArray[np.int32]
    guard: NDArray[np.int16]
    has_level: NDArray[np.bool_]
    n_guards: int
    paths: tuple[str, ...]
