"""Times of packets in the type of the contract's `ts` columns."""

import numpy as np
import pyarrow as pa

from kafkascope_analyzer.dataset.contract import TIMESTAMP


def microseconds(ns: pa.Array) -> pa.Array:
    """Returns nanoseconds since the epoch as timestamp[us, UTC], rounded down."""
    mask = None if ns.null_count == 0 else np.asarray(ns.is_null())
    return pa.array(ns.fill_null(0).to_numpy() // 1000, pa.int64(), mask=mask).cast(TIMESTAMP)
