"""The parts of an explanation: sentences, commands, and the rows behind them."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from kafkascope_analyzer.report.formatting import node, safe
from kafkascope_analyzer.report.model.proofs import Proof

MOST_PROOFS = 10


@dataclass(frozen=True, slots=True)
class Explanation:
    """Sentences to read one after the other, and the commands that lead to the packets. rows: the rows that `--format
    json` adds.
    """

    asked_for: str
    id: str
    sentences: list[str]
    cut: str
    wireshark: str
    rows: Mapping[str, object] = field(default_factory=dict)


def numbers(packets: Iterable[int]) -> str:
    """Returns `[packets 12 and 15]` after a blank; an empty text without packets."""
    listed = [str(number) for number in packets]
    return f" [packet{'s' if len(listed) > 1 else ''} {' and '.join(listed)}]" if listed else ""


def proof_sentences(proofs: Iterable[Proof], n_evidence: int, *, several_files: bool) -> list[str]:
    """Returns a sentence for each request that proves something: its API, its broker, its latency, its packets."""
    listed = [proof for proof in proofs if proof.api_name is not None]
    made = []
    for proof in listed[:MOST_PROOFS]:
        answered = "got no answer" if proof.took == "no answer" else f"was answered after {proof.took or 'some time'}"
        error = f" with {safe(proof.error_name)}" if proof.error_name not in (None, "NONE") else ""
        place = f" of file {proof.capture_id}" if several_files and proof.capture_id is not None else ""
        where = node(proof.node_id, None)
        made.append(f"{safe(proof.api_name)} to {where}{numbers(proof.packets)}{place} {answered}{error}.")
    left = n_evidence - len(made)
    return ["It is proved by:", *made, *([f"… and {left:,} more."] if left > 0 else [])] if made else []
