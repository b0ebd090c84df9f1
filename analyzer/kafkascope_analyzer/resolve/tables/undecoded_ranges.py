"""Joins ranges of `undecoded` that the end of a block cut in two, so that rows do not depend on how much was read at a
time.

A range is open until its direction continues elsewhere or for another reason; of each direction only the last one is
held back.
"""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kafkascope_parsers.exchanges import UNDECODED_SCHEMA
from kafkascope_parsers.framing.layout import REASON_SASL, REASONS

SPILL_SCHEMA = UNDECODED_SCHEMA.append(pa.field("capture_id", pa.int32()))
"""Spilled rows of `undecoded`."""

_JOINED = pa.array([reason for reason in REASONS if reason != REASONS[REASON_SASL]])
"""Reasons whose ranges are joined. Others have units of their own: SASL tokens and whole frames are one row each."""


class OpenStretches:
    """Ranges that may continue. Call `take` with batch after batch, then `rest`."""

    def __init__(self) -> None:
        self._open = SPILL_SCHEMA.empty_table()

    def take(self, batch: pa.Table) -> pa.Table:
        """Takes spilled rows (SPILL_SCHEMA), each direction's in the order of its stream; returns the ranges that
        ended."""
        rows = pa.concat_tables([self._open, batch])
        directions = 2 * rows["conn"].to_numpy() + rows["side"].to_numpy()
        rows = rows.take(pa.array(np.lexsort((rows["stream_offset"].to_numpy(), directions)))).combine_chunks()
        rows = _joined(rows)
        directions = 2 * rows["conn"].to_numpy() + rows["side"].to_numpy()
        last = np.append(directions[1:] != directions[:-1], True)
        opens = last & np.asarray(pc.is_in(rows["reason"], _JOINED))
        self._open = rows.filter(pa.array(opens))
        return rows.filter(pa.array(~opens))

    def rest(self) -> pa.Table:
        """Returns the ranges that are open at the end."""
        return self._open


def _joined(rows: pa.Table) -> pa.Table:
    """Returns rows by direction and offset, in which adjacent ones with the same reason are joined."""
    conn, side, start, size = (rows[name].to_numpy() for name in ("conn", "side", "stream_offset", "bytes"))
    reasons = rows["reason"].combine_chunks().dictionary_encode().indices.to_numpy()
    joined = np.asarray(pc.is_in(rows["reason"], _JOINED))
    goes_on = (conn[1:] == conn[:-1]) & (side[1:] == side[:-1]) & (start[1:] == start[:-1] + size[:-1])
    goes_on &= (reasons[1:] == reasons[:-1]) & joined[1:]
    if not goes_on.any():
        return rows
    first = np.flatnonzero(np.concatenate([[True], ~goes_on]))
    out = rows.take(pa.array(first))
    return out.set_column(out.column_names.index("bytes"), "bytes", pa.array(np.add.reduceat(size, first)))
