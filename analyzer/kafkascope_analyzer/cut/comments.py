"""Comments on packets of the piece: where a selected request begins, and where its response begins, with its errors.

Wireshark shows them in the packet list and in the details. Control characters in text from the wire are removed, and
the text is cut.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds

from kafkascope_analyzer.cut.scope import Window
from kafkascope_analyzer.dataset.dataset import Dataset
from kafkascope_analyzer.dataset.table_rows import one_of, rows
from kafkascope_analyzer.dataset.tables import ERRORS, REQUESTS
from kafkascope_analyzer.report.formatting import safe, span
from kafkascope_parsers.capture import Packets
from kafkascope_parsers.capture.pcapng_writer import comment_options

MOST_REQUESTS = 500
"""Most requests with comments: two comments each are more than anyone reads."""
MOST_ERRORS_NAMED = 3
MOST_PER_PACKET = 8
"""Most comments on one packet: many small requests may begin in one segment."""

Place = tuple[int, int]
"""Number of the packet in its file, and its time: together they identify a packet, whatever its file."""


@dataclass(frozen=True, slots=True)
class Comments:
    """Texts by packet."""

    texts: dict[Place, list[str]]

    def options(self, packets: Packets) -> dict[int, bytes]:
        """Returns the pcapng options of the packets that have comments, by row."""
        if not self.texts or not len(packets):
            return {}
        numbers = np.array(sorted({number for number, _ in self.texts}), np.int64)
        found: dict[int, bytes] = {}
        for row in np.flatnonzero(np.isin(packets.packet_no, numbers)).tolist():
            texts = self.texts.get((int(packets.packet_no[row]), int(packets.ts_ns[row])))
            if texts:
                found[row] = comment_options(texts)
        return found


NO_COMMENTS = Comments({})


def comments_on(dataset: Dataset, hits: pa.Table | None, conn_ids: pa.Array, window: Window) -> Comments:
    """Returns comments on the first selected requests; where connections are selected (hits is None), on requests with
    errors."""
    if hits is None:
        only = (ds.field("n_errors") > 0) & ds.field("conn_id").isin(conn_ids)
        only &= (ds.field("ts_ns") >= window[0]) & (ds.field("ts_ns") <= window[1])
    else:
        first = pc.select_k_unstable(hits, MOST_REQUESTS, [("ts_ns", "ascending"), ("request_id", "ascending")])
        only = ds.field("request_id").isin(hits["request_id"].take(first).combine_chunks())
    columns = ["request_id", "api_name", "api_version", "correlation_id", "client_id", "status", "latency_us"]
    columns += ["ts_ns", "response_ns", "request_packet_no", "response_packet_no"]
    requests = []
    for request in rows(dataset, REQUESTS, columns, only):
        requests.append(request)
        if len(requests) >= MOST_REQUESTS:
            break
    errors = _errors_of(dataset, [request["request_id"] for request in requests])
    texts: dict[Place, list[str]] = {}
    for request in sorted(requests, key=lambda r: (r["ts_ns"], r["request_id"])):
        for place, text in _comments(request, errors.get(request["request_id"], [])):
            there = texts.setdefault(place, [])
            if len(there) < MOST_PER_PACKET:
                there.append(text)
    return Comments(texts)


def _errors_of(dataset: Dataset, request_ids: list[str]) -> dict[str, list[str]]:
    """Returns the distinct errors of each request as text: the error's name and its subject."""
    found: dict[str, list[str]] = {}
    for error in rows(dataset, ERRORS, ["request_id", "error_name", "resource"], one_of("request_id", request_ids)):
        what = " ".join(safe(part) for part in (error["error_name"], error["resource"]) if part)
        there = found.setdefault(error["request_id"], [])
        if what not in there:
            there.append(what)
    return found


def _comments(request: dict[str, Any], errors: list[str]) -> Iterator[tuple[Place, str]]:
    name = f"{request['api_name']} v{request['api_version']} corr {request['correlation_id']}"
    if request["request_packet_no"] is not None and request["status"] != "orphan_response":
        client = f" client {safe(request['client_id'])}" if request["client_id"] else ""
        unanswered = " unanswered" if request["status"] == "unanswered" else ""
        yield (request["request_packet_no"], request["ts_ns"]), f"kafkascope: {name} request{client}{unanswered}"
    if request["response_packet_no"] is not None and request["response_ns"] is not None:
        took = f" after {span(request['latency_us'])}" if request["latency_us"] is not None else ""
        more = f" and {len(errors) - MOST_ERRORS_NAMED} more" if len(errors) > MOST_ERRORS_NAMED else ""
        with_errors = f": {', '.join(errors[:MOST_ERRORS_NAMED])}{more}" if errors else ""
        yield (request["response_packet_no"], request["response_ns"]), f"kafkascope: {name} response{took}{with_errors}"
