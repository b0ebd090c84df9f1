"""Counts the Fetch requests that clients sent in some stretches of time."""

from collections.abc import Sequence
from typing import NamedTuple

import pyarrow.compute as pc
import pyarrow.dataset as ds

from kafkascope_analyzer.dataset.dataset import Dataset
from kafkascope_analyzer.dataset.table_rows import one_of, scan
from kafkascope_analyzer.dataset.tables import REQUESTS
from kafkascope_parsers.api_keys import FETCH

_COLUMNS = ["client_ip", "client_id", "ts_ns"]


class FetchedBy(NamedTuple):
    """A question for the Fetch requests that a client sent from from_ns to to_ns, and that were answered."""

    client_ip: str
    client_id: str | None
    from_ns: int
    to_ns: int


def fetch_counts(dataset: Dataset | None, questions: Sequence[FetchedBy]) -> list[int]:
    """Returns the number of Fetch requests for each question. Raises UsageError where a table cannot be read."""
    counts = [0] * len(questions)
    if dataset is None or not questions:
        return counts
    addresses = one_of("client_ip", sorted({each.client_ip for each in questions}))
    from_ns, to_ns = min(each.from_ns for each in questions), max(each.to_ns for each in questions)
    in_time = (ds.field("ts_ns") >= from_ns) & (ds.field("ts_ns") <= to_ns)
    only = addresses & in_time & (ds.field("api_key") == FETCH) & (ds.field("status") == "ok")
    for batch in scan(dataset, REQUESTS, _COLUMNS, only):
        ips, ids, times = (batch.column(name) for name in _COLUMNS)
        for place, each in enumerate(questions):
            is_id = pc.is_null(ids) if each.client_id is None else pc.equal(ids, each.client_id)
            mine = pc.and_kleene(pc.equal(ips, each.client_ip), is_id)
            during = pc.and_(pc.greater_equal(times, each.from_ns), pc.less_equal(times, each.to_ns))
            counts[place] += pc.sum(pc.and_kleene(mine, during)).as_py() or 0
    return counts
