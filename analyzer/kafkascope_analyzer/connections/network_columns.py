"""Columns of `connections` about the network between the capture points that saw a connection."""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from kafkascope_analyzer.dataset.flat import flat
from kafkascope_analyzer.read.points.copies import WINDOW_NS


def network_columns(raw: pa.Table, times: pa.Table) -> dict[str, pa.Array]:
    """Returns the columns of all connections. raw: the spilled connections (scan.connection_state); times:
    NETWORK_TIMES."""
    at = _rows_of(raw, times)
    found = times.take(pa.array(at, mask=at < 0)).combine_chunks()
    turned: NDArray[np.bool_] = np.asarray(raw["client_is_greater"])
    is_up = pa.array(~turned)
    columns = {"n_segments_at_both": flat(found["n_both"])}
    columns["capture_points"] = _from_client_to_server(found, turned)
    for share in ("p50", "p99"):
        up, down = flat(found[f"up_{share}_ns"]), flat(found[f"down_{share}_ns"])
        columns[f"to_server_{share}_ns"] = pc.if_else(is_up, up, down)
        columns[f"to_client_{share}_ns"] = pc.if_else(is_up, down, up)
    return columns


def _rows_of(raw: pa.Table, times: pa.Table) -> NDArray[np.int64]:
    """Returns the row of `times` about each connection, -1 where there is none: of those with the same endpoints, the
    last that does not begin later than the connection."""
    flow = np.concatenate([times["flow"].to_numpy(), raw["flow"].to_numpy()])
    begins = np.concatenate([times["first_ns"].to_numpy(), raw["first_ns"].to_numpy() + WINDOW_NS])
    order = np.lexsort((np.arange(len(flow)), begins, flow))
    is_row = order < times.num_rows
    latest = np.maximum.accumulate(np.where(is_row, np.arange(len(order)), 0))
    row = order[latest]
    found = np.where((row < times.num_rows) & (flow[row] == flow[order]), row, -1)
    at = np.empty(len(order), np.int64)
    at[order] = found
    return at[times.num_rows :]


def _from_client_to_server(found: pa.Table, turned: NDArray[np.bool_]) -> pa.Array:
    """Returns the names of the points, the nearest to the client first where the times show that."""
    is_turned = turned & np.asarray(pc.greater(found["n_both"], 0).fill_null(False))
    names = zip(found["capture_points"].to_pylist(), is_turned.tolist(), strict=True)
    return pa.array([each[::-1] if each and back else each for each, back in names], pa.list_(pa.string()))
