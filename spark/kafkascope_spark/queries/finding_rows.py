"""Makes the rows of the table findings from facts: the sentence, the advice, the subject, the id and the incident of
each finding."""

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace

import pyarrow as pa

from kafkascope_analyzer.dataset.failed_parts import FailedParts
from kafkascope_analyzer.dataset.row_types import batch_of_rows
from kafkascope_spark.queries.failing import RULE
from kafkascope_spark.stories.findings.causes import Causes
from kafkascope_spark.stories.findings.rule import Detector, Facts, Rule
from kafkascope_spark.stories.findings.sql import MOST_EVIDENCE
from kafkascope_spark.stories.findings.table import FindingRow

SCHEMA = batch_of_rows(FindingRow, []).schema
"""Schema of findings without its `*_ts` columns, which the writer adds."""
Batches = Iterable[pa.RecordBatch]


def finding_writer(
    detectors: Mapping[str, tuple[Rule, Detector]],
    start_ns: int,
    causes_found: Callable[[], Causes],
    failed_parts: FailedParts | None = None,
) -> Callable[[Batches], Iterator[pa.RecordBatch]]:
    """Returns the function that a Spark worker maps over transform.found_facts. start_ns: start of the capture;
    causes_found: returns the possible causes of findings, called in the worker; failed_parts: collects rules whose
    texts raise an error."""
    failed = FailedParts() if failed_parts is None else failed_parts

    def findings_of(batches: Batches) -> Iterator[pa.RecordBatch]:
        causes = failed.value("findings", "the incidents that they belong to", Causes(), causes_found)
        for batch in batches:
            rows = []
            columns = (batch[name].to_pylist() for name in ("detector", "software_name", "facts"))
            for key, software_name, text in zip(*columns, strict=True):
                rule, detector = detectors[key]
                with failed.part(RULE, rule.name):
                    facts = Facts({"software_name": software_name} | json.loads(text), start_ns)
                    row = finding_row(rule, detector, facts, causes)
                    rows.append(batch_of_rows(FindingRow, [row]))
            if rows:
                yield pa.concat_batches(rows)

    return findings_of


def finding_row(rule: Rule, detector: Detector, facts: Facts, causes: Causes) -> FindingRow:
    """Returns a row of findings. causes: causes from all incidents and stalls."""
    subject = detector.subject(facts)
    evidence = list(dict.fromkeys(facts.evidence or ()))
    conn_ids = facts.conn_ids if facts.conn_ids is not None else connections_of(evidence)
    row = FindingRow(
        finding_id=finding_id(rule.name, subject, facts.client_instance_id, facts.first_ns),
        rule=rule.name,
        severity=facts.severity or rule.severity,
        sentence=detector.sentence(facts),
        advice=detector.advice(facts) if detector.advice else rule.advice,
        client_instance_id=facts.client_instance_id,
        conn_ids=tuple(sorted({conn_id for conn_id in conn_ids if conn_id is not None})[:MOST_EVIDENCE]),
        subject=subject,
        n=facts.n,
        first_ns=facts.first_ns,
        last_ns=facts.last_ns,
        incident_id=None,
        evidence=tuple(evidence[:MOST_EVIDENCE]),
    )
    incident_id = causes.incident_of(rule.follows, row, facts)
    is_explained = incident_id is not None and rule.follows is not None and not rule.follows.keeps_advice
    return replace(row, incident_id=incident_id, advice=None if is_explained else row.advice)


def finding_id(rule: str, subject: str | None, client_instance_id: str | None, first_ns: int) -> str:
    """Returns the id of a finding; the same capture gives the same id."""
    text = "|".join((rule, subject or "", client_instance_id or "", str(first_ns)))
    return f"finding-{hashlib.sha256(text.encode()).hexdigest()[:16]}"


def connections_of(ids: Iterable[str]) -> set[str]:
    """Returns the conn_ids of request ids and conn_ids: a request id is its connection's id, a dash and a number."""
    return {each.partition("-")[0] for each in ids}
