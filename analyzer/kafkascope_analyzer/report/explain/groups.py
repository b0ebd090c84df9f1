"""Rebalances and transactions in sentences, with the packets that prove them."""

import shlex
from collections.abc import Mapping

from kafkascope_analyzer.dataset.dataset import Dataset
from kafkascope_analyzer.dataset.table_rows import capture_span, one_of
from kafkascope_analyzer.report.commands import SOME_DATASET, cut_command, wireshark_command
from kafkascope_analyzer.report.explain.identities import REBALANCE, TRANSACTION, Identity
from kafkascope_analyzer.report.explain.model import Explanation, proof_sentences
from kafkascope_analyzer.report.formatting import absolute, count, list_of, safe, span
from kafkascope_analyzer.report.model.client_names import NamedClient, named_clients
from kafkascope_analyzer.report.model.proofs import load_proofs, proofs_of
from kafkascope_analyzer.report.model.transactions import Transaction
from kafkascope_analyzer.report.model.unread_partitions import (
    Member,
    Rebalance,
    member_names,
    partition_text,
    unread_of,
)
from kafkascope_analyzer.report.rows import read
from kafkascope_parsers.errors import UsageError
from kafkascope_spark.stories.groups.table import DepartedMember

MOST_MEMBERS = 20
MOST_PARTITIONS = 20
MOST_TRANSACTIONS = 10
MOST_REQUESTS = 10
_ENDS = {
    "stable": "All members that the capture shows had their assignment.",
    "superseded": "Another rebalance began before it was complete.",
    "open": "It was not complete when the capture ended.",
    "taken_over": "A static member's place was taken over, without a new generation.",
    "unseen": "How it was made is not in the capture.",
}


def explain_rebalance(dataset: Dataset, identity: Identity) -> Explanation:
    """Explains a rebalance: what triggered it, each member, how it ended."""
    row = next(read(dataset, Rebalance, one_of("rebalance_id", [identity.id])))
    members = row.members_by_joining
    names = named_clients(dataset, [member.client_instance_id for member in members])
    sentences = [_rebalance_head(row)]
    sentences += [_member(member, row, names) for member in members[:MOST_MEMBERS]]
    sentences += [_departed(member) for member in row.departed[:MOST_MEMBERS]]
    sentences += _partitions(dataset, row)
    if row.last_joiner and len(members) > 1:
        sentences.append(f"The others waited for {safe(row.last_joiner)}, which joined last.")
    sentences.append(_ENDS.get(row.outcome or "unseen", _ENDS["unseen"]))
    proofs = proofs_of(row.evidence, load_proofs(dataset, [row.evidence]))
    sentences += proof_sentences(proofs, len(row.evidence), several_files=False)
    first_ns, last_ns = capture_span(dataset)
    begin, end = row.start_ns or first_ns, row.end_ns or last_ns
    window = f"--from +{(begin - first_ns) / 1e9:.6f}s --to +{(end - first_ns) / 1e9 + 0.001:.6f}s"
    cut = f"kafkascope cut {SOME_DATASET} --group {shlex.quote(row.group_id or '')} {window} -o rebalance.pcapng"
    ports = [proof.server_port for proof in proofs]
    return Explanation(
        REBALANCE, identity.id, sentences, cut, wireshark_command("rebalance", ports), {"rebalance": row}
    )


def _rebalance_head(row: Rebalance) -> str:
    number = "without a generation" if row.generation is None else f"generation {row.generation}"
    where = "" if row.node_id is None else f", coordinator node {row.node_id}"
    what = f"Group {safe(row.group_id)} ({row.group_protocol or 'unknown'} protocol, {number}{where})"
    begun = "" if row.start_ns is None else f" from {absolute(row.start_ns)} on"
    took = "" if row.duration_ms is None else f" for {span(1000 * row.duration_ms)}"
    why = f" ({safe(row.trigger_why)})" if row.trigger_why else ""
    return f"{what} rebalanced{begun}{took}. Its trigger: {row.trigger_words}{why}."


def _member(member: Member, row: Rebalance, names: Mapping[str, NamedClient]) -> str:
    who = member.client_id or _name(names, member.client_instance_id) or member.member_id or "a member"
    begun = row.start_ns
    joined = member.joined_ns
    after = "" if joined is None or begun is None else f" joined {span(max(0, joined - begun) // 1000)} after its begin"
    got = f"; it was assigned {count(len(member.assigned), 'partition')}"
    return f"Member {safe(who)}{after}{got}."


def _partitions(dataset: Dataset, row: Rebalance) -> list[str]:
    """Returns a sentence for each partition that changed its owner or was unread, longest unread first."""
    of_group = read(dataset, Rebalance, one_of("group_id", [row.group_id or ""]))
    names, (start_ns, _) = member_names(of_group), capture_span(dataset)
    unread = unread_of(row)
    if not row.partitions:
        return []
    others = tuple(entry for entry in row.partitions if entry.unread_ms is None)
    listed = [f"Partition {partition_text(entry, names, start_ns)}." for entry in (unread + others)[:MOST_PARTITIONS]]
    left = len(row.partitions) - len(listed)
    return listed + ([f"… and {count(left, 'more partition')} (table stories/rebalances)."] if left else [])


def _departed(member: DepartedMember) -> str:
    how = {"left": "left by itself", "evicted": "was removed because it was silent", "replaced": "was replaced"}
    silent = f" for {span(1000 * member.silent_ms)}" if member.silent_ms else ""
    gone = how.get(member.how or "", "is not a member any more")
    return f"Member {safe(member.client_id or member.member_id or '?')} {gone}{silent}."


def explain_transaction(dataset: Dataset, identity: Identity) -> Explanation:
    """Explains one transaction of a transactional id, or all of its transactions. Raises UsageError where it had no
    such transaction."""
    found = list(read(dataset, Transaction, one_of("transactional_id", [identity.id])))
    found = [row for row in found if identity.number in (None, row.transaction_no)]
    if not found:
        raise UsageError(f"{dataset} has no transaction {identity.number} of {safe(identity.id)}")
    found.sort(key=lambda row: (row.begin_ns or 0, row.transaction_no or 0))
    names = named_clients(dataset, [name for row in found for name in (row.client_instance_id, row.fenced_by)])
    sentences = [f"Transactional id {safe(identity.id)}: {count(len(found), 'transaction')}."]
    sentences += [_transaction(row, names) for row in found[:MOST_TRANSACTIONS]]
    left = len(found) - MOST_TRANSACTIONS
    sentences += [f"… and {left:,} more (table stories/transactions)."] if left > 0 else []
    evidence = [proof for row in found for proof in row.evidence]
    proofs = proofs_of(evidence, load_proofs(dataset, [evidence]))
    sentences += proof_sentences(proofs, len(evidence), several_files=False)
    cut = cut_command("request", evidence[:MOST_REQUESTS], "transaction") if evidence else ""
    ports = [proof.server_port for proof in proofs]
    behind = {"transactions": found[:MOST_TRANSACTIONS]}
    return Explanation(TRANSACTION, identity.id, sentences, cut, wireshark_command("transaction", ports), behind)


def _transaction(row: Transaction, names: Mapping[str, NamedClient]) -> str:
    who = safe(_name(names, row.client_instance_id) or "a client")
    begun = "before the capture" if row.begin_ns is None else f"at {absolute(row.begin_ns)}"
    took = "" if row.duration_ms is None else f" after {span(1000 * row.duration_ms)}"
    fenced = f" by {safe(_name(names, row.fenced_by) or row.fenced_by)}" if row.fenced_by else ""
    wrote = f"{count(row.n_records or 0, 'record')} to {count(len(row.partitions), 'partition')}"
    errors = list_of([safe(error) for error in row.error_names], 4)
    met = f"; errors: {errors}" if errors else ""
    held = row.n_blocked_consumers
    behind = f"; {count(held, 'read_committed consumer')} could not read past it" if held else ""
    number, outcome = row.transaction_no, row.outcome or "cut"
    return f"Number {number} of {who} began {begun}, wrote {wrote}, and was {outcome}{fenced}{took}{met}{behind}."


def _name(names: Mapping[str, NamedClient], client_instance_id: str | None) -> str | None:
    """Returns the client's name; None where it has none."""
    client = names.get(client_instance_id or "")
    return client.name if client else None
