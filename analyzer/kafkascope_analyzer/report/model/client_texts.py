"""Clients in words, for every form of the report: the name of each, its software, and facts about it."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Protocol

from kafkascope_analyzer.report.formatting import clock, count, list_of, safe
from kafkascope_parsers.group_protocols import PROTOCOLS

if TYPE_CHECKING:
    from kafkascope_analyzer.report.model.clients import ClientFacts, Job

GROUP_PROTOCOLS = {protocol.name: protocol.words for protocol in PROTOCOLS}
"""Group protocols in words."""
ROUNDS = {protocol.name: protocol.round_words for protocol in PROTOCOLS}
"""Words for what a rebalance produces (a generation, an epoch), by group protocol."""
ENDS = {
    "closed": "closed its connections",
    "died": "vanished",
    "evicted": "was removed from its group",
    "open": "was there when the capture ended",
}
"""Ends of clients in words."""
MOST_SUBJECTS = 3
"""Most subjects of a job that are named."""
_TRANSACTIONS = {"v1": " · transactions v1", "v2": " · transactions v2 (KIP-890)"}


class HasSoftware(Protocol):
    """A row that says which software a client runs."""

    @property
    def software_name(self) -> str | None:
        """The name of the library or program."""

    @property
    def software_version(self) -> str | None:
        """The version of the library or program."""


def client_name(client_id: str | None, client_ip: str | None = None) -> str:
    """Returns the client id; without one, the address and that there is no client id."""
    return safe(client_id) if client_id else f"(no client id) {safe(client_ip or '')}".rstrip()


def kind_text(kind: str | None) -> str:
    """Returns the client kind in words: `transactional producer`."""
    return (kind or "client").replace("_", " ")


def software_text(client: HasSoftware | None) -> str:
    """Returns the software and its version, as far as they are known."""
    return " ".join(safe(part) for part in (client.software_name, client.software_version) if part) if client else ""


def client_facts(client: "ClientFacts", mechanisms: Iterable[str | None], start_ns: int) -> tuple[str, ...]:
    """Returns facts about a client, a line each. mechanisms: SASL mechanisms on its connections; start_ns: the
    capture's start."""
    software = software_text(client)
    facts = [f"{kind_text(client.kind)} at {safe(client.client_ip or '?')}{software and f' · {software}'}"]
    if client.claimed_software:
        why = f": {safe(client.claimed_software_why)}" if client.claimed_software_why else ""
        facts.append(f"seems to run {safe(client.claimed_software)}{why}")
    if client.group_id:
        protocol = GROUP_PROTOCOLS.get(client.group_protocol or "", "")
        static = f", static member {safe(client.group_instance_id)}" if client.group_instance_id else ""
        facts.append(f"group {safe(client.group_id)}{static}{protocol and f' · {protocol}'}")
    if client.transactional_id:
        version = _TRANSACTIONS.get(client.transactions or "", "")
        facts.append(f"transactional id {safe(client.transactional_id)}{version}")
    by = sorted({safe(mechanism) for mechanism in mechanisms if mechanism})
    if by or client.principal:
        who = f" as {safe(client.principal)}" if client.principal else ""
        facts.append(f"authenticates by {' and '.join(by) or 'TLS'}{who}")
    if client.identity == "shared":
        why = f": {safe(client.identity_why)}" if client.identity_why else ""
        facts.append(f"may be more than one client object{why}")
    facts.append(_lifetime(client, start_ns))
    return tuple(facts)


def _lifetime(client: "ClientFacts", start_ns: int) -> str:
    first, last = (clock((ns or start_ns) - start_ns) for ns in (client.first_ns, client.last_ns))
    end = ENDS.get(client.end_state or "", "end unknown")
    counts = (("request", client.n_requests), ("error", client.n_errors))
    figures = ", ".join(count(n, what) for what, n in counts if n is not None)
    return " · ".join(part for part in (f"{first} to {last}", end, figures) if part)


def job_text(job: "Job") -> str:
    """Returns a job of a connection in words: its purpose, and how certain it is where no response of a broker proves
    it."""
    name: str = job.role.replace("_", " ")
    subjects = [safe(subject) for subject in job.subjects]
    if job.n_subjects > MOST_SUBJECTS:
        name += f" of {job.n_subjects:,}: {list_of(subjects[:2], 2)} …"
    elif subjects:
        name += f" of {list_of(subjects, MOST_SUBJECTS)}"
    if "confirmed" not in job.verdicts:
        return f"{name} ({', '.join(job.verdicts)})"
    unsure = [f"{n} {verdict}" for verdict, n in job.verdicts.items() if verdict != "confirmed"]
    return name + (f" ({', '.join(unsure)})" if unsure and job.n_subjects else "")
