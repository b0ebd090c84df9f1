"""Everything that counts towards the verdict of a report, one by one, for pipelines: with captures and the packets that
show it."""

from collections.abc import Iterator
from dataclasses import dataclass

from kafkascope_analyzer.report.model.incidents.model import Incident, Wait
from kafkascope_analyzer.report.model.proofs import Proof
from kafkascope_analyzer.report.model.report import Report


@dataclass(frozen=True, slots=True)
class Place:
    """A packet of a capture, counted from 1; the number is None where only the capture is known."""

    capture: str
    packet_no: int | None


@dataclass(frozen=True, slots=True)
class Check:
    """An incident, a stall that belongs to no incident, a failed start, or a finding.

    kind: which of these; name: the kind of incident or the rule of a finding; id: the id that `kafkascope explain`
    takes, empty where there is none; places: the first packet of each proof.
    """

    kind: str
    name: str
    id: str
    severity: str
    title: str
    sentence: str
    advice: str
    places: tuple[Place, ...]

    @property
    def rule(self) -> str:
        """The name that all checks of the same kind share: `incident/broker_down`."""
        return f"{self.kind}/{self.name}"


def checks_of(report: Report) -> tuple[Check, ...]:
    """Returns everything that counts towards the verdict and that the report lists, in the report's order."""
    captures = [file.path or "" for file in report.capture.files]
    return (
        *(_of_incident(each, captures) for each in report.incidents.listed),
        *(_of_stall(wait) for wait in report.incidents.unassigned),
        *_of_failed_starts(report),
        *(
            Check(
                kind="finding",
                name=each.rule,
                id=each.finding_id,
                severity=each.severity,
                title=each.subject or each.rule,
                sentence=each.sentence,
                advice=each.advice or "",
                places=tuple(_places(each.evidence, captures)),
            )
            for each in report.findings.listed
        ),
    )


def _of_incident(incident: Incident, captures: list[str]) -> Check:
    return Check(
        kind="incident",
        name=incident.kind,
        id=incident.incident_id,
        severity=incident.severity,
        title=incident.title,
        sentence=incident.sentence,
        advice="\n".join(f"{action.owner}: {action.text}" for action in incident.actions),
        places=tuple(_places(incident.evidence, captures)),
    )


def _of_stall(wait: Wait) -> Check:
    return Check(
        kind="stall",
        name=wait.kind,
        id=wait.stall_ids[0] if wait.stall_ids else "",
        severity="error" if not wait.over else "warning",
        title=wait.who,
        sentence=f"{wait.who} waited for {wait.what} from {wait.at} for {wait.lasted} ({wait.state})",
        advice="",
        places=(),
    )


def _of_failed_starts(report: Report) -> Iterator[Check]:
    for judged in report.headline.judged:
        if judged.kind == "failed start" and judged.n:
            sentence = f"{judged.n:,} {'start' if judged.n == 1 else 'starts'} of clients did not become ready"
            yield Check("start", "failed", "", judged.severity, "failed starts", sentence, "", ())


def _places(evidence: tuple[Proof, ...], captures: list[str]) -> Iterator[Place]:
    for proof in evidence:
        if proof.capture_id is not None and proof.capture_id < len(captures):
            yield Place(captures[proof.capture_id], proof.packets[0] if proof.packets else None)
