"""The table `findings`: faults that rules found, with their severity and the advice."""

from dataclasses import dataclass
from typing import Annotated, Literal, get_args

from kafkascope_analyzer.dataset.row_types import TIME, StoryRow, declares

Severity = Literal["info", "warning", "error"]
SEVERITIES: tuple[str, ...] = get_args(Severity)


@declares("findings", "diagnosis", sorted_by=("first_ns", "rule", "finding_id"), salted=("finding_id",))
@dataclass(frozen=True, slots=True)
class FindingRow(StoryRow):
    """A row of stories/findings."""

    finding_id: Annotated[str, "the diagnosis: the same for the same capture"]
    rule: Annotated[str, "rule that found it: `kafkascope rules` lists them"]
    severity: Annotated[Severity, "error (broken), warning (will break, or costs), info (worth knowing)"]
    sentence: Annotated[str, "what was found: subject, number, time"]
    advice: Annotated[
        str | None,
        "what to change: the setting, and its value where the wire shows it; null if its incident's actions say it",
    ]
    client_instance_id: Annotated[str | None, "client of the finding; null where it has none or several"]
    conn_ids: Annotated[tuple[str, ...], "connections of the finding, sorted; at most 100"]
    subject: Annotated[
        str | None, "what it is about: an address, group, topic-partition, transactional id, broker, ..."
    ]
    n: Annotated[int, "number of occurrences"]
    first_ns: Annotated[int | None, TIME, "first occurrence"]
    last_ns: Annotated[int | None, TIME, "last occurrence"]
    incident_id: Annotated[str | None, "incident of which it is a consequence; null where there is none"]
    evidence: Annotated[tuple[str, ...], "request ids (else conn_ids) that prove it, in order of time; at most 100"]


FINDINGS = FindingRow.TABLE
