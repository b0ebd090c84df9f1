"""Times of packets in the type of the contract's `ts` columns."""

import numpy as np
import pyarrow as pa

from kafkascope_analyzer.dataset.contract import TIMESTAMP


def microseconds(ns: pa.Array) -> pa.Array:
    """Returns nanoseconds since the epoch as timestamp[us, UTC], rounded down."""
    if not ns.null_count:
        return pa.array(ns.to_numpy() // 1000, pa.int64()).cast(TIMESTAMP)
    return pa.array(ns.fill_null(0).to_numpy() // 1000, pa.int64(), mask=np.asarray(ns.is_null())).cast(TIMESTAMP)
