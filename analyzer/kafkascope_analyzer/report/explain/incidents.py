"""Incidents, stalls and findings in sentences: the words and numbers are those of the report."""

from kafkascope_analyzer.dataset.dataset import Dataset
from kafkascope_analyzer.dataset.stall_limit import limit_text
from kafkascope_analyzer.report.commands import cut_command, wireshark_command
from kafkascope_analyzer.report.explain.identities import FINDING, INCIDENT, STALL, Identity
from kafkascope_analyzer.report.explain.model import Explanation, proof_sentences
from kafkascope_analyzer.report.formatting import absolute, clock, count, list_of, safe, span, visible
from kafkascope_analyzer.report.model.findings import Finding
from kafkascope_analyzer.report.model.incidents.families import Family
from kafkascope_analyzer.report.model.incidents.load import Facts
from kafkascope_analyzer.report.model.incidents.model import Incident
from kafkascope_analyzer.report.model.incidents.summary import load_overview, title_of
from kafkascope_analyzer.report.model.incidents.waits import what_waited, who_waited
from kafkascope_analyzer.report.model.proofs import load_proofs, proofs_of
from kafkascope_spark.stories.stalls.table import Stall

MOST_STALLS = 20


def explain_incident(dataset: Dataset, identity: Identity) -> Explanation:
    """Explains an incident: what failed, which clients stalled, the consequences, what to change, the proof."""
    overview = load_overview(dataset)
    incident, family = overview.incident(identity.id)
    title = f"{incident.title}, {incident.when}, on {absolute(incident.start_ns).split()[0]}."
    sentences = [f"{incident.severity.capitalize()}: {title}", incident.sentence]
    root = overview.root_of(identity.id)
    if root.incident_id != identity.id:
        sentences.append(f"It followed from {root.incident_id}: {title_of(root)}.")
    sentences += _who_stalled(incident, family, overview.facts)
    sentences += _followed(incident, overview.findings)
    sentences += [f"What to change, {action.owner}: {action.text}" for action in incident.actions]
    sentences += [f"Shown by: {incident.how_known}."] if incident.how_known else []
    of_row = next(row for row in family.members if row.incident_id == identity.id)
    sentences += [f"Whether it was {other.what}: see {other.decided_by}." for other in of_row.alternatives]
    many = overview.facts.n_files > 1
    sentences += proof_sentences(incident.evidence, incident.n_evidence, several_files=many)
    kept = [sentence for sentence in sentences if sentence]
    rows = {"incident": incident}
    return Explanation(INCIDENT, identity.id, kept, incident.cut, incident.wireshark, rows)


def _who_stalled(incident: Incident, family: Family, facts: Facts) -> list[str]:
    """Returns a sentence for each stall, the longest first."""
    if not incident.n_stalls:
        return [f"Nobody stalled for {limit_text(facts.stall_ms)} or longer because of it."]
    longest = sorted(family.stalls, key=lambda s: (s.to_ns is not None, -s.waited_ms, s.stall_id))
    belong = "belongs" if incident.n_stalls == 1 else "belong"
    waiting = {stall.client_instance_id or who_waited(stall, facts) for stall in family.stalls}
    made = [f"{count(incident.n_stalls, 'stall')} of {count(len(waiting), 'client')} {belong} to it:"]
    made += [f"{_stall(stall, facts)} ({stall.stall_id})." for stall in longest[:MOST_STALLS]]
    left = len(longest) - MOST_STALLS
    return [*made, f"… and {left:,} more stalls."] if left > 0 else made


def _stall(stall: Stall, facts: Facts) -> str:
    """Returns `worker-1 waited 29.1 s from 00:06.900 on to produce to clicks-0, until it was served`, without a full
    stop."""
    since = clock(stall.from_ns - facts.start_ns)
    lasted = span(1000 * stall.waited_ms)
    end = "and was served then" if stall.served is not False else "and gave up or ended"
    end = end if stall.served is not None else "until a time began that no file covers"
    end = end if stall.to_ns is not None else "and was still waiting when the capture ended"
    return f"{safe(who_waited(stall, facts))} waited {lasted} from {since} on ({what_waited(stall)}) {end}"


def _followed(incident: Incident, findings: tuple[Finding, ...]) -> list[str]:
    """Returns the consequences, kind by kind, each with its sentences and ids."""
    made = []
    for part in incident.followed:
        named = list(part.sentences)
        if part.ids and len(part.ids) == len(part.sentences):
            pairs = zip(part.sentences, map(safe, part.ids), strict=True)
            named = [f"{sentence.rstrip('.')} ({identity})" for sentence, identity in pairs]
        left = part.n - len(named) if part.ids else 0
        made += [f"What followed: {part.text}.", *(f"{name.rstrip('.')}." for name in named)]
        made += [f"… and {left:,} more."] if left > 0 else []
    return made


def explain_stall(dataset: Dataset, identity: Identity) -> Explanation:
    """Explains a stall: which client waited for what, from when to when, on which broker, and the incident that it
    belongs to."""
    overview = load_overview(dataset)
    facts = overview.facts
    stall = next(stall for stall in facts.stalls if stall.stall_id == identity.id)
    proofs = proofs_of(stall.evidence, load_proofs(dataset, [stall.evidence]))
    until = "when the capture ended" if stall.to_ns is None else absolute(stall.to_ns)
    sentences = [
        f"{_stall(stall, facts)}.",
        f"It waited from {absolute(stall.from_ns)} until {until}.",
    ]
    if stall.node_id is not None:
        sentences.append(f"It waited on node {stall.node_id} first.")
    attempts = count(stall.n_attempts or 0, "request")
    errors = list_of([safe(error) for error in stall.error_names], 5)
    got = f"; the errors were {errors}" if errors else "; no error came back"
    sentences.append(f"Meanwhile {attempts} for it {'was' if stall.n_attempts == 1 else 'were'} sent{got}.")
    owner = next((row for row in facts.incidents if row.incident_id == stall.incident_id), None)
    belongs = f"{owner.incident_id}: {title_of(owner)}" if owner else "no incident"
    sentences.append(f"It belongs to {belongs}.")
    sentences += proof_sentences(proofs, len(stall.evidence), several_files=facts.n_files > 1)
    ports = [proof.server_port for proof in proofs]
    cut = cut_command("stall", [identity.id], identity.id)
    rows = {"stall": stall}
    return Explanation(STALL, identity.id, sentences, cut, wireshark_command(identity.id, ports), rows)


def explain_finding(dataset: Dataset, identity: Identity) -> Explanation:
    """Explains a finding, with all rows that say the same about other clients."""
    overview = load_overview(dataset)
    finding = next(found for found in overview.findings if identity.id in found.finding_ids)
    sentences = [f"{finding.severity.capitalize()}, rule {safe(finding.rule)}: {visible(finding.sentence)}."]
    sentences += [f"{visible(sentence)}." for sentence in finding.sentences]
    sentences.append(f"It was seen {finding.when}." if finding.when else "")
    incident = next((row for row in overview.facts.incidents if row.incident_id == finding.incident_id), None)
    if incident is not None:
        sentences.append(f"It is a consequence of {incident.incident_id}: {title_of(incident)}.")
    sentences += [f"What to change: {visible(finding.advice)}"] if finding.advice else []
    many = overview.facts.n_files > 1
    sentences += proof_sentences(finding.evidence, finding.n_evidence, several_files=many)
    sentences += [finding.packets[:1].upper() + finding.packets[1:] + "."] if not finding.evidence else []
    ports = [proof.server_port for proof in finding.evidence]
    kept = [sentence for sentence in sentences if sentence and sentence != "."]
    rows = {"finding": finding}
    return Explanation(FINDING, identity.id, kept, finding.cut, wireshark_command(finding.finding_id, ports), rows)
