"""Events of the kind error_run: the error codes in responses; one row for each, and one row for the middle of a run of
requests that fail with the same errors.
"""

from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from kafkascope_analyzer.dataset.flat import flat
from kafkascope_analyzer.dataset.sorted_rows import rank_in_group
from kafkascope_analyzer.dataset.tables.event_kinds.requests import ErrorRun
from kafkascope_analyzer.resolve.bucket_context import BucketContext
from kafkascope_analyzer.resolve.client_event import client_place
from kafkascope_analyzer.resolve.event_source import EventSource, MessageReader, event_table
from kafkascope_analyzer.resolve.requests.error_runs import ErrorRuns
from kafkascope_analyzer.resolve.requests.events import request_events
from kafkascope_analyzer.resolve.requests.run_hints import RunHints
from kafkascope_analyzer.scan.apis import int_column
from kafkascope_analyzer.scan.failed_requests import has_failed
from kafkascope_analyzer.scan.unanswered import MOST_NUMBER, is_one_of, number_parts, request_numbers

_OWN = ("request_id", "api_key", "error_name", "topic", "partition", "group_id", "transactional_id", "resource")
_SORT = [(name, "ascending") for name in ("conn", "ts_ns", "packet_no", "number", "field_path", "resource")]


class ErrorEvents(EventSource):
    """Makes events of the kind error_run. Memory: for each run the rows of its first request, and the leaders that its
    responses name."""

    KINDS = (ErrorRun,)

    def __init__(self, context: BucketContext) -> None:
        self._runs = context.runs
        self._hints = RunHints(context.runs)
        self._has_runs = np.zeros(context.connections.num_rows, np.bool_)
        self._has_runs[number_parts(context.runs.first)[0]] = True
        self._errors: list[pa.Table] = []
        self._requests: list[pa.Table] = []

    def take_errors(self, rows: pa.Table) -> Iterator[pa.Table]:
        """Yields one row per error code that is not in the middle of a run."""
        rows = rows.filter(pc.not_equal(rows["error_code"], 0))
        if len(self._runs):
            self._errors.append(self._first_ones(rows))
            rows = self._runs.without_middles(rows)
        if rows.num_rows:
            yield error_events(rows)

    def take_requests(self, rows: pa.Table) -> Iterator[pa.Table]:
        """Keeps the first request of each run's middle."""
        if len(self._runs):
            self._requests.append(self._first_ones(rows))
        yield from ()

    def keeps(self, rows: pa.Table) -> NDArray[np.bool_]:
        """Whether each request failed: it may become the first of a run's middle, once the run is long enough."""
        return has_failed(rows, int_column(rows, "status_code", 0))

    def wants_partitions(self, api_key: int, direction: str) -> NDArray[np.bool_] | None:
        """Whether each connection has runs, for responses."""
        return self._has_runs if direction == "response" else None

    def take_partitions(self, rows: pa.Table, api_key: int, direction: str) -> Iterator[pa.Table]:
        """Notes the leaders that the responses name."""
        self._hints.add(rows)
        yield from ()

    def finish(self, connections: pa.Table, read_messages: MessageReader) -> Iterator[pa.Table]:
        """Yields one row per run and error of its set."""
        if len(self._runs):
            errors, requests = pa.concat_tables(self._errors), pa.concat_tables(self._requests)
            yield run_events(errors, requests, self._runs, self._hints)

    def _first_ones(self, rows: pa.Table) -> pa.Table:
        """Returns the rows of the first request of each run's middle."""
        return rows.filter(pa.array(is_one_of(request_numbers(rows), self._runs.first)))


def run_events(errors: pa.Table, requests: pa.Table, runs: ErrorRuns, hints: RunHints) -> pa.Table:
    """Returns the middles of runs as events, with the first request of each. errors, requests: rows of those first
    requests."""
    events = error_events(errors)
    body = flat(events["error_run"])
    numbers = request_numbers(errors.sort_by(_SORT))
    which = runs.run_of(numbers)
    columns = {f.name: body.field(f.name) for f in body.type}
    last = (runs.last - runs.first)[which]
    last_ids = pc.binary_join_element_wise(
        flat(events["conn_id"]), pa.array((runs.last & MOST_NUMBER)[which]).cast(pa.string()), "-"
    )
    columns |= {
        "last_request_id": last_ids,
        "n": pa.array(last + 1),
        "last_ns": pa.array(runs.last_ns[which]),
        "last_sent_ns": pa.array(runs.last_sent_ns[which]),
        "waited_us": pa.array(runs.waited_us[which]),
        "leader_id": hints.leaders(which, columns["topic"], columns["partition"]),
    }
    struct = pa.StructArray.from_arrays([columns[f.name].cast(f.type) for f in body.type], fields=list(body.type))
    asked = requests.take(pc.index_in(pa.array(numbers), pa.array(request_numbers(requests))))
    first = flat(request_events(asked)["request"])
    for name, values in (("error_run", struct), ("request", first)):
        at = events.schema.get_field_index(name)
        events = events.set_column(at, events.schema.field(at), values)
    return events


def error_events(rows: pa.Table) -> pa.Table:
    """Returns rows of `errors`, with sent_ns (first byte of the request), as runs of length one."""
    rows = rows.sort_by(_SORT)
    seq = rank_in_group(*(int_column(rows, name, 0) for name in ("conn", "ts_ns", "packet_no")))
    ts_ns, sent_ns = int_column(rows, "ts_ns", 0), int_column(rows, "sent_ns", 0)
    place = client_place(rows["client_ip"], rows["conn_id"], rows["ts_ns"], rows["packet_no"], pa.array(seq))
    body = {name: rows[name] for name in _OWN} | {
        "last_request_id": rows["request_id"],
        "n": pa.array(np.ones(rows.num_rows, np.int64)),
        "last_ns": rows["ts_ns"],
        "last_sent_ns": pa.array(sent_ns),
        "waited_us": pa.array((ts_ns - sent_ns) // 1000),
    }
    return event_table(ErrorRun, place, {name: flat(values) for name, values in body.items()})
