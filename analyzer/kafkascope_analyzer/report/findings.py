"""What is wrong, worst first: the rows of stories/findings with the packets that prove them and the command that cuts
them out.

Packet numbers are those of the capture files, from 1. The command names the dataset OUT.kscope; what prints it for a
person puts the real place there (`at_place`).
"""

import shlex
from collections import Counter
from typing import Any

from kafkascope_analyzer.dataset.dataset import Dataset
from kafkascope_analyzer.dataset.stories import CLIENTS, FINDINGS
from kafkascope_analyzer.dataset.stories.findings import SEVERITIES
from kafkascope_analyzer.dataset.tables import REQUESTS
from kafkascope_analyzer.report.scan import has_table, one_of, rows

Row = dict[str, Any]

WORST_FIRST = tuple(reversed(SEVERITIES))
MOST_FINDINGS = 200
MOST_EVIDENCE = 20
MOST_CONNECTIONS = 50
"""Limits of report.json; the table findings has everything."""
SOME_DATASET = "OUT.kscope"
_COLUMNS = [c.name for c in FINDINGS.columns if not c.name.endswith("_ts")]
_PACKETS = ["request_id", "api_name", "ts_ns", "capture_id", "request_packet_no", "response_packet_no", "error_name"]


def findings(dataset: Dataset) -> Row:
    """Findings by severity, then by time; `present` is false where the stories have no such table."""
    listed = sorted(rows(dataset, FINDINGS, _COLUMNS), key=_order)
    chosen = listed[:MOST_FINDINGS]
    names = {row["client_instance_id"]: row["client_id"] for row in _clients(dataset, chosen)}
    proofs = _proofs(dataset, chosen)
    found = Counter(row["severity"] for row in listed)
    return {
        "present": has_table(dataset, FINDINGS),
        "n": len(listed),
        "by_severity": {severity: found[severity] for severity in WORST_FIRST},
        "listed": [_told(row, names, proofs) for row in chosen],
    }


def at_place(model: Row, place: str) -> Row:
    """The report's model with the dataset's place, quoted for a shell, in the commands of its findings (where it has
    any: the model of `kafkascope info` has not).
    """
    if "findings" not in model:
        return model
    found = model["findings"]
    name = f" {shlex.quote(place)} "
    listed = [{**row, "cut": row["cut"].replace(f" {SOME_DATASET} ", name, 1)} for row in found["listed"]]
    return {**model, "findings": {**found, "listed": listed}}


def _order(row: Row) -> tuple[int, int, str]:
    severity = WORST_FIRST.index(row["severity"]) if row["severity"] in WORST_FIRST else len(WORST_FIRST)
    return severity, row["first_ns"] or 0, row["finding_id"]


def _clients(dataset: Dataset, chosen: list[Row]) -> list[Row]:
    ids = sorted({row["client_instance_id"] for row in chosen if row["client_instance_id"]})
    return list(rows(dataset, CLIENTS, ["client_instance_id", "client_id"], one_of("client_instance_id", ids)))


def _proofs(dataset: Dataset, chosen: list[Row]) -> dict[str, Row]:
    """request_id -> the request, of those that are shown as evidence."""
    ids = sorted({proof for row in chosen for proof in (row["evidence"] or ())[:MOST_EVIDENCE]})
    return {row["request_id"]: row for row in rows(dataset, REQUESTS, _PACKETS, one_of("request_id", ids))}


def _told(row: Row, names: dict[str, str | None], proofs: dict[str, Row]) -> Row:
    evidence, conn_ids = row["evidence"] or [], row["conn_ids"] or []
    return {
        **row,
        "client_id": names.get(row["client_instance_id"]),
        "n_connections": len(conn_ids),
        "conn_ids": conn_ids[:MOST_CONNECTIONS],
        "n_evidence": len(evidence),
        "evidence": [_evidence(proof, proofs.get(proof)) for proof in evidence[:MOST_EVIDENCE]],
        "cut": f"kafkascope cut {SOME_DATASET} --finding {shlex.quote(row['finding_id'])} -o finding.pcapng",
    }


def _evidence(proof: str, request: Row | None) -> Row:
    """A request, or a connection by its conn_id, that proves the finding."""
    if request is None:
        return {"id": proof, "api_name": None, "error_name": None, "ts_ns": None, "capture_id": None, "packets": []}
    packets = [request[name] for name in ("request_packet_no", "response_packet_no") if request[name] is not None]
    told = {name: request[name] for name in ("api_name", "error_name", "ts_ns", "capture_id")}
    return {"id": proof, **told, "packets": packets}
