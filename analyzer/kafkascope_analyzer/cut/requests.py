"""Selects requests from a dataset: their ids, their connections, and their times.

A request's time runs from its first byte to the last byte of its response. Rows are held for the selected requests
only, and at most MOST_REQUESTS of them.
"""

from collections.abc import Iterable, Iterator

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds

from kafkascope_analyzer.cut.scope import ALL_TIME, Scope, Window, there_are
from kafkascope_analyzer.cut.selection import Selection
from kafkascope_analyzer.dataset.contract import Table
from kafkascope_analyzer.dataset.dataset import Dataset
from kafkascope_analyzer.dataset.near_names import did_you_mean
from kafkascope_analyzer.dataset.table_rows import one_of, scan
from kafkascope_analyzer.dataset.tables import ERRORS, PARTITIONS, REQUESTS
from kafkascope_parsers.errors import UsageError
from kafkascope_parsers.schema import api_keys, api_name, error_codes, error_name
from kafkascope_parsers.versions import MOST_INT16, parse_number

MOST_REQUESTS = 1_000_000
"""Most requests of one piece; some 150 bytes of memory each. For more, the user should select connections or a span of
time."""

TIMES = ["ts_ns", "request_last_ns", "response_ns", "response_last_ns"]
HITS = pa.schema([("request_id", pa.string()), ("conn_id", pa.string()), ("ts_ns", pa.int64()), ("end_ns", pa.int64())])


def selected_requests(dataset: Dataset, selection: Selection, scope: Scope | None, window: Window) -> pa.Table:
    """Returns the requests that match all conditions, and were in flight in the window: columns of HITS. Raises
    UsageError."""
    filters = [_apis(selection.apis)] if selection.apis else []
    if selection.groups:
        filters.append(one_of("group_id", list(selection.groups)))
    filters += [ds.field("request_id").isin(ids) for ids in _id_sets(dataset, selection)]
    if scope is not None:
        filters.append(one_of("conn_id", list(scope)))
    only = filters[0]
    for further in filters[1:]:
        only &= further
    hits = _bounded(_within(scan(dataset, REQUESTS, ["request_id", "conn_id", *TIMES], only), window), HITS)
    return hits if scope is None else _in_scope(hits, scope)


def with_ends(batch: pa.RecordBatch) -> pa.Array:
    """Returns the last known time of each request of the batch (with TIMES)."""
    return pc.max_element_wise(*(batch.column(name) for name in TIMES))


def _within(batches: Iterable[pa.RecordBatch], window: Window) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        rows = pa.record_batch([batch.column(0), batch.column(1), batch.column("ts_ns"), with_ends(batch)], HITS)
        inside = pc.and_(pc.less_equal(rows["ts_ns"], window[1]), pc.greater_equal(rows["end_ns"], window[0]))
        yield rows.filter(inside)


def _bounded(batches: Iterable[pa.RecordBatch], schema: pa.Schema) -> pa.Table:
    kept: list[pa.RecordBatch] = []
    n = 0
    for batch in batches:
        n += batch.num_rows
        kept.append(batch)
        if n > MOST_REQUESTS:
            raise UsageError(
                f"the selection takes more than {MOST_REQUESTS:,} requests; narrow it with --from and --to, "
                "or select connections"
            )
    return pa.Table.from_batches(kept, schema)


def _in_scope(hits: pa.Table, scope: Scope) -> pa.Table:
    """Returns the requests that were in flight in a window of their connection."""
    if all(windows == [ALL_TIME] for windows in scope.values()):
        return hits
    times = zip(hits["conn_id"].to_pylist(), hits["ts_ns"].to_pylist(), hits["end_ns"].to_pylist(), strict=True)
    inside = [any(start <= b and a <= end for a, b in scope.get(conn, [])) for conn, start, end in times]
    return hits.filter(pa.array(inside, pa.bool_()))


def _id_sets(dataset: Dataset, selection: Selection) -> Iterator[pa.Array]:
    """Yields, for each condition that is not on the table of requests, the request ids that meet it."""
    if selection.requests:
        yield pa.array(selection.requests, pa.string())
    if selection.errors:
        codes = pa.array([error_code_of(text) for text in selection.errors], pa.int16())
        yield _ids(dataset, ERRORS, ds.field("error_code").isin(codes), selection.errors)
    if selection.topics:
        yield _ids(dataset, PARTITIONS, one_of("topic", list(selection.topics)), selection.topics)


def _ids(dataset: Dataset, table: Table, only: ds.Expression, wanted: tuple[str, ...]) -> pa.Array:
    found = _bounded(scan(dataset, table, ["request_id"], only), pa.schema([table.schema.field("request_id")]))
    if not found.num_rows:
        column = "error_name" if table is ERRORS else "topic"
        known: set[str] = set()
        for batch in scan(dataset, table, [column]):
            known.update(name for name in pc.unique(batch.column(0)).to_pylist() if name)
        option = "--error" if table is ERRORS else "--topic"
        raise UsageError(
            f"{option} {', '.join(wanted)}: not in the capture{did_you_mean(wanted[0], known)}{there_are(known)}"
        )
    return pc.unique(found["request_id"].combine_chunks())


def _apis(wanted: tuple[str, ...]) -> ds.Expression:
    return ds.field("api_key").isin(pa.array([api_key_of(text) for text in wanted], pa.int16()))


def api_key_of(text: str) -> int:
    """Returns the key of an API from its name, in any case, or its number. Raises UsageError."""
    names = {api_name(key).casefold(): key for key in api_keys()}
    if text.casefold() in names:
        return names[text.casefold()]
    number = parse_number(text, MOST_INT16)
    if number is not None:
        return number
    raise UsageError(f"--api {text}: no such API{did_you_mean(text, [api_name(key) for key in api_keys()])}")


def error_code_of(text: str) -> int:
    """Returns the code of an error from its name, in any case, or its number. Raises UsageError."""
    names = {error_name(code): code for code in error_codes()}
    name = text.upper().removeprefix("UNKNOWN_") if text.upper() not in names else text.upper()
    if name in names:
        return names[name]
    number = parse_number(name.removeprefix("-"), MOST_INT16)
    if number is not None:
        return -number if name.startswith("-") else number
    raise UsageError(f"--error {text}: no such error{did_you_mean(text, list(names))}")
