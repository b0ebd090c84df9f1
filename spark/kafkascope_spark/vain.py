"""Requests that name topic-partitions and were never answered because their connection failed: a broker's death seen
from what it led.

Whether the end of a connection is a failure is decided with all that is known of it (recoveries.failures); here are
those that may be: the server ended the connection, or the client did long after the answer was due, or while it waited
for Produce.
"""

import pathlib
from collections.abc import Collection

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as pads
from pyspark.sql import DataFrame
from pyspark.sql import functions as fn

from kafkascope_analyzer.dataset.tables import CONNECTIONS, REQUESTS
from kafkascope_spark import wire
from kafkascope_spark.recoveries.failures import OVERDUE_NS

NAMING = (wire.PRODUCE, wire.FETCH, wire.SHARE_FETCH, wire.SHARE_ACKNOWLEDGE)
MOST_IDS = 500
"""Ids that are told to Spark one by one; of more it makes a join."""
MOST_READ = 20_000
"""Unanswered requests that this process looks at: in a healthy capture each client ends with a few."""
BY_SERVER = ("fin_server", "rst_server")
_IS_WAITING = (pc.field("status") == "unanswered") & pc.field("api_key").isin(list(NAMING))
_WAITING = ["request_id", "conn_id", "api_key", "request_last_ns"]


def asked_in_vain(requests: DataFrame, connections: DataFrame) -> DataFrame:
    """request_id of such requests."""
    waiting = requests.where((fn.col("status") == "unanswered") & fn.col("api_key").isin(*NAMING))
    ends = connections.where(fn.col("close_ns").isNotNull()).select("conn_id", "close_kind", "close_ns")
    is_late = fn.col("close_ns") - fn.col("request_last_ns") > OVERDUE_NS
    wanted = waiting.select("request_id", "conn_id", "api_key", "request_last_ns")
    ended = wanted.join(ends, on="conn_id", how="inner")
    given_up = is_late | (fn.col("api_key") == wire.PRODUCE)
    return ended.where(fn.col("close_kind").isin(*BY_SERVER) | given_up).select("request_id")


def ids_asked_in_vain(dataset: pathlib.Path) -> tuple[str, ...] | None:
    """The same ids, read from the dataset where they are few: most datasets have none, and need no join for them.
    None where there are more than MOST_IDS."""
    place = dataset / REQUESTS.name
    if not _has_files(place):
        return ()
    waiting = pads.dataset(place).head(MOST_READ, columns=_WAITING, filter=_IS_WAITING)
    if waiting.num_rows == MOST_READ:
        return None
    found = _in_vain(dataset, waiting)
    return tuple(sorted(found.to_pylist())) if len(found) <= MOST_IDS else None


def ids_asked_in_vain_by(dataset: pathlib.Path, addresses: Collection[str]) -> pa.Array:
    """The same ids, of these clients, however many: a few for each connection that failed."""
    place = dataset / REQUESTS.name
    if not _has_files(place):
        return pa.array([], pa.string())
    mine = pc.field("client_ip").isin(list(addresses))
    waiting = pads.dataset(place).to_table(columns=_WAITING, filter=_IS_WAITING & mine)
    return pc.unique(_in_vain(dataset, waiting))


def _in_vain(dataset: pathlib.Path, waiting: pa.Table) -> pa.ChunkedArray:
    """The ids of those requests whose connection failed."""
    place = dataset / CONNECTIONS.name
    if not waiting.num_rows or not _has_files(place):
        return waiting["request_id"].slice(0, 0)
    is_closed = pc.is_valid(pc.field("close_ns")) & pc.field("conn_id").isin(pc.unique(waiting["conn_id"]))
    closed = pads.dataset(place).to_table(columns=["conn_id", "close_kind", "close_ns"], filter=is_closed)
    ended = waiting.join(closed, "conn_id", join_type="inner")
    is_late = pc.greater(pc.subtract(ended["close_ns"], ended["request_last_ns"]), OVERDUE_NS)
    by_server = pc.is_in(ended["close_kind"], pa.array(BY_SERVER))
    given_up = pc.or_(pc.fill_null(is_late, fill_value=False), pc.equal(ended["api_key"], wire.PRODUCE))
    return ended.filter(pc.or_(by_server, given_up))["request_id"]


def _has_files(place: pathlib.Path) -> bool:
    return next(place.rglob("*.parquet"), None) is not None
