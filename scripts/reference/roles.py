"""docs/roles.md: the roles of connections, from their rules."""

from kafkascope_analyzer.connections import role_rules

ROLES_HEAD = """# Which connection is which

`roles` has a row for each job that a connection did: connection, role, subject (a topic-partition, a group, a
transactional id), verdict, first and last time, counts and evidence (the first three requests that prove it).
`connections.roles` lists those that were not refused; `primary_role` is the one that most requests served.

- confirmed: an answer proves it: without error, or (where no error denies the role) any answer.
- claimed: the client asked for it, and no answer that says either was seen.
- refused: answers only deny it, by the errors below. One good answer makes it confirmed; the refusals stay counted.
- COORDINATOR_LOAD_IN_PROGRESS refuses nothing: the broker is the coordinator, and not ready yet.

| role | subject | asked by | refused by |
|---|---|---|---|
"""

ROLES_TAIL = """
- bootstrap: confirmed for a Java client by its correlation ids, which count from 0 over all its connections; for others
  where the connection began before any connection of that address and client id had a Metadata answer. Where several
  clients of one name run side by side, a connection that did nothing but ask about the cluster is claimed.
- follower_fetch: a consumer's Fetch that a node answers while another leads (KIP-392); confirmed where a broker had
  sent the consumer to it, else claimed.
- inter_broker too: requests with a replica id, client ids that brokers give their own clients, and {late}.
- InitProducerId without a transactional id is no role: any broker answers it.
- A request that names several groups or transactional ids counts for the first one.

## Which broker is this address?

`connections.node_id`, and in `node_id_why` how it was found; where there is none, why:

1. The advertised host and port (Metadata, FindCoordinator, DescribeCluster, and the endpoints that Produce, Fetch,
   ShareFetch and ShareAcknowledge answer with): a literal address as it is; a name by DNS answers in the capture, else
   by the name resolution blocks of a pcapng file, else by `--hosts FILE`.
2. What it answers for: partitions and groups that the cluster says one node leads or coordinates (nine in ten answers).
3. The only node at its address: by another port of it, or by the id with which a broker there fetches.

An address that is advertised for several nodes or answers for several has no node id; nor has one that answers for
another node than it is advertised for. Nothing is guessed for TLS, for captures of one direction, or from addresses.
"""


def roles_page() -> str:
    """Every role with the requests that ask for it and the errors that refuse it."""
    lines = [ROLES_HEAD.rstrip("\n")]
    for rule in (role_rules.PARTITION_LEADER, role_rules.FOLLOWER_FETCH, *role_rules.REQUEST_RULES):
        subject = "" if rule.subject == "none" else rule.subject.replace("_", " ")
        cells = rule.role, subject, ", ".join(sorted(rule.apis)), ", ".join(sorted(rule.refused_by))
        lines.append("| " + " | ".join(cells) + " |")
    asked = ", ".join(sorted(role_rules.BOOTSTRAP_APIS))
    lines.append(f"| bootstrap | | the first {asked} of a client | |")
    late = ", ".join(f"{api} from version {version} on" for api, version in role_rules.BETWEEN_BROKERS.items())
    return "\n".join(lines) + "\n" + ROLES_TAIL.replace("{late}", late)
