"""A report as SARIF 2.1.0 (OASIS), for code hosts and viewers of check results: one run for each cluster.

The location of a result is a capture file; the line of its region is the packet number, as Wireshark counts.
"""

import json
from collections.abc import Sequence
from importlib.metadata import version
from urllib.parse import quote

from kafkascope_analyzer.report.checks import Check, Place, checks_of
from kafkascope_analyzer.report.formatting import visible
from kafkascope_analyzer.report.model.clusters import ClusterReports, each_report
from kafkascope_analyzer.report.model.report import Report

SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
MOST_PLACES = 10
_LEVELS = {"error": "error", "warning": "warning", "info": "note"}


def sarif_of(model: Report | ClusterReports) -> str:
    """Returns the report, or the reports of all clusters, with a trailing newline."""
    runs = [_run(report) for report in each_report(model)]
    return json.dumps({"$schema": SCHEMA, "version": "2.1.0", "runs": runs}, indent=2) + "\n"


def _run(report: Report) -> dict[str, object]:
    checks = checks_of(report)
    rules = list(dict.fromkeys(check.rule for check in checks))
    captures = [file.path or "" for file in report.capture.files]
    driver = {
        "name": "kafkascope",
        "semanticVersion": version("kafkascope"),
        "rules": [
            {"id": rule, "shortDescription": {"text": rule.replace("_", " ").replace("/", ": ")}} for rule in rules
        ],
    }
    return {
        "tool": {"driver": driver},
        "artifacts": [{"location": {"uri": _uri(capture)}} for capture in captures],
        "results": [_result(check, rules, captures) for check in checks],
    }


def _result(check: Check, rules: Sequence[str], captures: Sequence[str]) -> dict[str, object]:
    text = f"{check.sentence}\n{check.advice}".strip()
    return {
        "ruleId": check.rule,
        "ruleIndex": rules.index(check.rule),
        "level": _LEVELS[check.severity],
        "message": {"text": "\n".join(map(visible, text.splitlines()))},
        "locations": [_location(place, captures) for place in check.places[:1]],
        "relatedLocations": [_location(place, captures) for place in check.places[1:MOST_PLACES]],
        **({"partialFingerprints": {"kafkascope/v1": check.id}} if check.id else {}),
    }


def _location(place: Place, captures: Sequence[str]) -> dict[str, object]:
    artifact = {"uri": _uri(place.capture), "index": captures.index(place.capture)}
    region = {"region": {"startLine": place.packet_no}} if place.packet_no is not None else {}
    return {"physicalLocation": {"artifactLocation": artifact, **region}}


def _uri(capture: str) -> str:
    """Returns the name of a capture, as the user gave it, as a URI reference."""
    return quote(capture, safe="/:@!$&'()*+,;=~%?#[]" if "://" in capture else "/~")
