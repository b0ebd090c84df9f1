"""A report as JUnit XML, which every CI system shows: one suite of incidents, stalls and starts, and one of findings.

Errors and warnings are failed cases; checks of severity info pass, with their text as output. An empty suite has one
case, which passes.
"""

from collections.abc import Sequence
from xml.etree import ElementTree

from kafkascope_analyzer.report.checks import Check, checks_of
from kafkascope_analyzer.report.formatting import visible
from kafkascope_analyzer.report.model.clusters import ClusterReports, each_report
from kafkascope_analyzer.report.model.report import Report


def junit_of(model: Report | ClusterReports) -> str:
    """Returns the report, or the reports of all clusters, with a trailing newline."""
    root = ElementTree.Element("testsuites", name="kafkascope")
    for report in each_report(model):
        of = report.capture.of_cluster
        where = f" of {visible(of.cluster)}" if of else ""
        checks = checks_of(report)
        _suite(root, f"incidents{where}", [check for check in checks if check.kind != "finding"])
        _suite(root, f"findings{where}", [check for check in checks if check.kind == "finding"])
    ElementTree.indent(root)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{ElementTree.tostring(root, encoding="unicode")}\n'


def _suite(root: ElementTree.Element, name: str, checks: Sequence[Check]) -> None:
    n_failed = sum(map(_fails, checks))
    counts = {"tests": str(len(checks) or 1), "failures": str(n_failed), "errors": "0", "skipped": "0"}
    suite = ElementTree.SubElement(root, "testsuite", {"name": name, **counts})
    for check in checks:
        _case(suite, check)
    if not checks:
        ElementTree.SubElement(suite, "testcase", classname="kafkascope", name=f"no {name}")


def _case(suite: ElementTree.Element, check: Check) -> None:
    name = visible(f"{check.title} ({check.id})" if check.id else check.title)
    case = ElementTree.SubElement(suite, "testcase", classname=f"kafkascope.{check.kind}.{check.name}", name=name)
    places = [f"{place.capture}: packet {place.packet_no}" for place in check.places if place.packet_no is not None]
    text = "\n".join(visible(line) for line in (check.sentence, *check.advice.splitlines(), *places) if line)
    if _fails(check):
        failure = ElementTree.SubElement(case, "failure", type=check.severity, message=visible(check.sentence))
        failure.text = text
    else:
        ElementTree.SubElement(case, "system-out").text = text


def _fails(check: Check) -> bool:
    return check.severity in ("error", "warning")
