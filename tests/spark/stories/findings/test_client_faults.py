"""Findings that repeat the incident of a client at fault."""

import sqlite3

import pytest

from kafkascope_spark.stories.findings.client_faults import client_fault_detector
from kafkascope_spark.stories.findings.read import Where
from kafkascope_spark.stories.findings.rule import Facts
from kafkascope_spark.stories.tables import INCIDENTS

FAULTS = INCIDENTS.column("client_fault").values


@pytest.mark.parametrize("fault", FAULTS)
def test_it_reads_the_incidents_of_its_fault_alone(fault: str) -> None:
    """The condition as SQL reads it, over one incident of each fault and one without."""
    incidents = sqlite3.connect(":memory:")
    incidents.execute("create table incidents (client_fault text)")
    incidents.executemany("insert into incidents values (?)", [*((name,) for name in FAULTS), (None,)])
    (read,) = client_fault_detector(fault).reads.values()
    assert isinstance(read, Where)
    assert incidents.execute(read.query("incidents")).fetchall() == [(fault,)]


def test_the_finding_has_the_first_sentence_and_the_advice_of_its_incident() -> None:
    detector = client_fault_detector(FAULTS[0])
    sentence = "app was not let in at 10.0.0.1:9093. It tried 7 times."
    facts = Facts({"subject": "10.0.0.1:9093", "sentence": sentence, "advice": "Correct its password."}, 0)
    assert detector.sentence(facts) == "app was not let in at 10.0.0.1:9093"
    assert (detector.subject(facts), detector.advice(facts)) == ("10.0.0.1:9093", "Correct its password.")
