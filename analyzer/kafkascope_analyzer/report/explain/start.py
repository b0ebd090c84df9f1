"""A start in sentences: its steps on the critical path, with who spent the time of each step, and the packets."""

from kafkascope_analyzer.dataset.dataset import Dataset
from kafkascope_analyzer.report.commands import cut_command, wireshark_command
from kafkascope_analyzer.report.explain.identities import START, Identity
from kafkascope_analyzer.report.explain.model import Explanation, numbers
from kafkascope_analyzer.report.formatting import absolute, count, list_of, node, safe, span
from kafkascope_analyzer.report.model.client_texts import kind_text
from kafkascope_analyzer.report.model.proofs import Proof, load_proofs
from kafkascope_analyzer.report.model.starts import ClientStarts, Start, start_with_client
from kafkascope_spark.stories.startups.table import StartupStepRow

MOST_STEPS = 40


def explain_start(dataset: Dataset, identity: Identity) -> Explanation:
    """Explains a start of a client: when it began, how it went, step by step, and how it differs from the expected
    sequence."""
    start, client = start_with_client(dataset, identity.id)
    steps = [step for step in start.steps if step.on_critical_path or step.outcome != "ok"]
    proofs = load_proofs(dataset, [step.request_ids for step in steps])
    sentences = [_head(start, client)]
    sentences += [_step(step, start, proofs) for step in steps[:MOST_STEPS]]
    left = len(start.steps) - min(len(steps), MOST_STEPS)
    if left > 0:
        sentences.append(f"… and {count(left, 'step')} beside these (table stories/startup_steps).")
    against = safe(start.expected_sequence or "such a client")
    for way, steps_of_it in start.differences.items():
        differing = list_of([safe(step) for step in steps_of_it], 6)
        sentences.append(f"Against what is expected of {against}: {way}: {differing}.")
    ports = [proof.server_port for proof in proofs.values()]
    cut = cut_command("startup", [identity.id], identity.id)
    return Explanation(START, identity.id, sentences, cut, wireshark_command(identity.id, ports), {"start": start})


def _head(start: Start, client: ClientStarts) -> str:
    name = safe(client.client_id) if client.client_id else "A client without a client id"
    begun = "at an unknown time" if start.start_ns is None else f"at {absolute(start.start_ns)}"
    took = f" after {span(start.total_us)}" if start.total_us is not None else ""
    subject = f" ({safe(start.failed_subject)})" if start.failed_subject else ""
    error = f" with {safe(start.error_name)}" if start.error_name else ""
    ended = f"{start.outcome_text}{took}{start.failed_words}{subject}{error}"
    what = f"{kind_text(client.kind)} at {safe(client.client_ip)}"
    return f"{name} ({what}) began its start number {start.start_no} {begun}: {ended}."


def _step(step: StartupStepRow, start: Start, proofs: dict[str, Proof]) -> str:
    since = "" if step.start_ns is None else f"+{span((step.start_ns - (start.start_ns or 0)) // 1000)}"
    packets = [number for name in step.request_ids or () if name in proofs for number in proofs[name].packets]
    where = f" at {node(step.node_id, None)}" if step.node_id is not None else ""
    subject = f" ({safe(step.subject)})" if step.subject else ""
    took = f" took {span(step.duration_us)}" if step.duration_us is not None else " did not end"
    parts = [f"of it the broker {span(step.broker_us)}"] if step.broker_us else []
    parts += [f"after a wait of {span(step.wait_us)}"] if step.wait_us else []
    how = f", {', '.join(parts)}" if parts else ""
    failed = "" if step.outcome == "ok" else f": {safe(step.error_name or step.outcome)}"
    return f"{since}{numbers(packets)}: {step.words}{subject}{where}{took}{how}{failed}."
