"""`findings`: what is wrong, how sure that is, and what to change."""

from dataclasses import dataclass
from typing import Annotated, Literal, get_args

from kafkascope_analyzer.dataset.row_types import TIME, StoryRow, declares

Severity = Literal["info", "warning", "error"]
SEVERITIES: tuple[str, ...] = get_args(Severity)


@declares("findings", "diagnosis", sorted_by=("first_ns", "rule", "finding_id"), salted=("finding_id",))
@dataclass(frozen=True, slots=True)
class FindingRow(StoryRow):
    """What a rule found."""

    finding_id: Annotated[str, "the diagnosis: the same for the same capture"]
    rule: Annotated[str, "rule that found it: `kafkascope rules` lists them"]
    severity: Annotated[Severity, "how bad: error (broken), warning (will break, or costs), info (worth knowing)"]
    sentence: Annotated[str, "what was found: subject, number, time"]
    advice: Annotated[str | None, "what to change: the setting, and its value where the wire shows it"]
    client_instance_id: Annotated[str | None, "client that it is about; null where it is about none or several"]
    conn_ids: Annotated[tuple[str, ...], "connections that it is about, sorted; at most 100"]
    subject: Annotated[
        str | None, "what it is about: an address, group, topic-partition, transactional id, broker, ..."
    ]
    n: Annotated[int, "how many times it was seen"]
    first_ns: Annotated[int | None, TIME, "first of them"]
    last_ns: Annotated[int | None, TIME, "last of them"]
    incident_id: Annotated[str | None, "incident that it is a consequence of; null where it stands alone"]
    evidence: Annotated[tuple[str, ...], "request ids (else conn_ids) that prove it, in order of time; at most 100"]


FINDINGS = FindingRow.TABLE
