"""A start in sentences: its steps on the critical path, with whose time each took and the packets."""

from typing import Any

from kafkascope_analyzer.dataset.dataset import Dataset
from kafkascope_analyzer.report.commands import cut_command, wireshark_command
from kafkascope_analyzer.report.explain.identities import START, Identity
from kafkascope_analyzer.report.explain.model import Explanation, numbers
from kafkascope_analyzer.report.proofs import Proof, load_proofs
from kafkascope_analyzer.report.starts import start_with_client
from kafkascope_analyzer.report.words import absolute, count, list_of, node, safe, span, start_text

Row = dict[str, Any]

MOST_STEPS = 40
_DIFFERENCES = ("missing", "extra", "repeated", "out_of_order")


def explain_start(dataset: Dataset, identity: Identity) -> Explanation:
    """A start of a client: when, how it went, step by step, and how it differs from what is expected."""
    start, client = start_with_client(dataset, identity.id)
    steps = [step for step in start["steps"] if step["on_critical_path"] or step["outcome"] != "ok"]
    proofs = load_proofs(dataset, [step["request_ids"] for step in steps])
    sentences = [_head(start, client)]
    sentences += [_step(step, start, proofs) for step in steps[:MOST_STEPS]]
    left = len(start["steps"]) - min(len(steps), MOST_STEPS)
    if left > 0:
        sentences.append(f"… and {count(left, 'step')} beside these (table stories/startup_steps).")
    for name in _DIFFERENCES:
        differing = [safe(step).replace("_", " ") for step in start[f"{name}_steps"] or ()]
        if differing:
            against = safe(start["expected_sequence"] or "such a client")
            sentences.append(
                f"Against what is expected of {against}: {name.replace('_', ' ')}: {list_of(differing, 6)}."
            )
    ports = [proof.server_port for proof in proofs.values()]
    cut = cut_command("startup", [identity.id], identity.id)
    return Explanation(START, identity.id, sentences, cut, wireshark_command(identity.id, ports), {"start": start})


def _head(start: Row, client: Row) -> str:
    name = safe(client["client_id"]) if client["client_id"] else "A client without a client id"
    kind = (client["kind"] or "client").replace("_", " ")
    begun = "at an unknown time" if start["start_ns"] is None else f"at {absolute(start['start_ns'])}"
    took = f" after {span(start['total_us'])}" if start["total_us"] is not None else ""
    where = f" at {start['failed_step'].replace('_', ' ')}" if start["failed_step"] else ""
    subject = f" ({safe(start['failed_subject'])})" if start["failed_subject"] else ""
    error = f" with {safe(start['error_name'])}" if start["error_name"] else ""
    ended = f"{start_text(start['outcome'])}{took}{where}{subject}{error}"
    return (
        f"{name} ({kind} at {safe(client['client_ip'])}) began its start number {start['start_no']} {begun}: {ended}."
    )


def _step(step: Row, start: Row, proofs: dict[str, Proof]) -> str:
    since = "" if step["start_ns"] is None else f"+{span((step['start_ns'] - start['start_ns']) // 1000)}"
    packets = [number for name in step["request_ids"] or () if name in proofs for number in proofs[name].packets]
    where = f" at {node(step['node_id'], None)}" if step["node_id"] is not None else ""
    subject = f" ({safe(step['subject'])})" if step["subject"] else ""
    took = f" took {span(step['duration_us'])}" if step["duration_us"] is not None else " did not end"
    parts = [f"of it the broker {span(step['broker_us'])}"] if step["broker_us"] else []
    parts += [f"after a wait of {span(step['wait_us'])}"] if step["wait_us"] else []
    how = f", {', '.join(parts)}" if parts else ""
    failed = "" if step["outcome"] == "ok" else f": {safe(step['error_name'] or step['outcome'] or 'cut')}"
    return f"{since}{numbers(packets)}: {step['step'].replace('_', ' ')}{subject}{where}{took}{how}{failed}."
