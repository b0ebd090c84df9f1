"""The shapes of what Spark's stories show: headline, incidents, findings, clients, rebalances, transactions."""

from kafkascope_analyzer.dataset.stories import (
    CADENCES,
    CLIENTS,
    REBALANCES,
    RECOVERIES,
    RECOVERY_STEP_ROWS,
    STARTUP_STEP_ROWS,
    STARTUPS,
    TRANSACTIONS,
)
from kafkascope_analyzer.dataset.stories.transactions import OUTCOMES
from kafkascope_analyzer.dataset.tables import ROLES
from kafkascope_analyzer.report.findings import Finding
from kafkascope_analyzer.report.flow import Flow
from kafkascope_analyzer.report.incidents.model import Headline, Incidents
from kafkascope_analyzer.report.restarts import Restarts
from kafkascope_analyzer.report.schema.shapes import (
    Shape,
    columns_of,
    counts,
    fields,
    flag,
    listed,
    shape_of,
    text,
    texts,
    whole,
)


def stories() -> Shape:
    """Key `stories`."""
    return fields("whether Spark's stories are in the dataset", _presence())


def _presence() -> dict[str, Shape]:
    return {
        "present": flag("whether the dataset has the table"),
        "why_not": text("why it has not, and what to do", null=True),
    }


def _section(doc: str, keys: dict[str, Shape]) -> Shape:
    return fields(doc, {**_presence(), **keys})


def headline() -> Shape:
    """Key `headline`."""
    return shape_of(Headline, "what the report says first")


def incidents() -> Shape:
    """Key `incidents`."""
    return shape_of(Incidents, "what failed, who stood still because of it, and what followed")


def restarts() -> Shape:
    """Key `restarts`."""
    return shape_of(Restarts, "brokers that went down or came back with another release, and what that cost clients")


def findings() -> Shape:
    """Key `findings`."""
    row = shape_of(Finding, "a finding; several rows of table findings that say the same about several clients are one")
    keys = {
        "n": whole("findings"),
        "by_severity": counts("findings by severity"),
        "listed": listed("findings, the gravest first, at most 200", row),
    }
    return _section("what is wrong, what to change, and the proof", keys)


def clients() -> Shape:
    """Key `clients`."""
    row = columns_of(CLIENTS, without=("conn_ids",))
    row |= {
        "stood_still": text("its longest stall in words; null where it never stood still", null=True),
        "n_connections": whole("its connections"),
        "connections": listed("the first 100 of them", _connection()),
        "n_starts": whole("its starts"),
        "starts": listed("the first 10 of them", _start()),
        "n_odd_loops": whole("its loops that are late or fast"),
        "odd_loops": listed("20 of them, late ones first", fields("a row of stories/cadences", columns_of(CADENCES))),
        "n_causes": whole("causes that hit it"),
        "recoveries": listed("its episodes, those of one cause together; the first 25 causes", _recovery()),
    }
    brokers = {
        "n": whole("clients inside brokers"),
        "n_connections": whole("their connections"),
        "n_requests": whole("their requests"),
        "n_errors": whole("errors that they got"),
        "addresses": texts("their addresses"),
        "ends": counts("clients by how they ended"),
    }
    keys = {
        "n": whole("client instances but for brokers"),
        "listed": listed(
            "by the time they were first seen, at most 200: those in trouble", fields("a row of stories/clients", row)
        ),
        "brokers": fields("the brokers' own clients, summed up", brokers),
    }
    return fields("client instances: what they are, where they connect, how they started and recovered", keys)


def _connection() -> Shape:
    role = {
        "role": text("the job", *ROLES),
        "n_subjects": whole("topic-partitions, groups or transactional ids that it is done for"),
        "subjects": texts("the first 5 of them"),
        "verdicts": counts("rows of table roles by verdict: confirmed, claimed, refused"),
        "n_requests": whole("requests that asked for it"),
        "first_ns": whole("first of them", null=True),
    }
    keys = {
        "conn_id": text("connection"),
        "node_id": whole("node id of the server", null=True),
        "protocol": text("what it speaks", null=True),
        "first_ns": whole("first segment", null=True),
        "last_ns": whole("last segment", null=True),
        "close_kind": text("how it ended", null=True),
        "n_requests": whole("requests", null=True),
        "n_errors": whole("errors", null=True),
        "primary_role": text("role that most requests served", null=True),
        "sasl_mechanism": text("SASL mechanism", null=True),
        "tls_version": text("TLS version", null=True),
        "client": text("address and port of the client", null=True),
        "server": text("address and port of the server", null=True),
        "roles": listed("its jobs by the time they began", fields("a job", role)),
    }
    return fields("a connection", keys)


def _start() -> Shape:
    slow = {
        "step": text("step"),
        "subject": text("what the step is about", null=True),
        "node_id": whole("node", null=True),
        "who": text("whom it waited for", "client", "broker", "network"),
        "us": whole("how long"),
    }
    keys = columns_of(STARTUPS) | {
        "slowest": listed("the three longest parts of the critical path", fields("a part", slow)),
        "n_steps": whole("its steps"),
        "steps": listed("the first 60 and last 20", fields("a row of startup_steps", columns_of(STARTUP_STEP_ROWS))),
    }
    return fields("a row of stories/startups", keys)


def _recovery() -> Shape:
    own: tuple[str, ...] = ("cause_id", "resource_kind", "resource", "first_error_name", "error_names", "n_errors")
    own += ("n_wasted_requests",)
    own += ("storm", "expected_reaction", "reaction", "outcome", "start_ns", "recovered_ns", "time_to_recover_ms")
    own += ("old_node_id", "new_node_id", "evidence")
    columns = columns_of(RECOVERIES)
    keys = {name: columns[name] for name in own} | {
        "told": text("recovery_id of the worst of them, which the other keys tell of"),
        "n_episodes": whole("episodes"),
        "n_resources": whole("resources that broke"),
        "resources": texts("the first 5 of them"),
        "outcomes": counts("episodes by how they ended"),
        "n_steps": whole("steps of the worst"),
        "steps": listed("the first 60 and last 20", fields("a row of recovery_steps", columns_of(RECOVERY_STEP_ROWS))),
    }
    return fields("a client's episodes of one cause", keys)


def rebalances() -> Shape:
    """Key `rebalances`."""
    row = columns_of(REBALANCES, without=("group_id", "group_protocol", "members"), clipped=True)
    member = columns_of(REBALANCES, clipped=True)["members"]["items"]
    member = {**member, "type": "object", "description": "a member"}
    member["properties"] = {**member["properties"], "client_id": text("client id of its instance", null=True)}
    partition = {
        "topic": text("topic"),
        "partition": whole("partition"),
        "owner_before": text("member id of who had it before; null for nobody, or where it is not known", null=True),
        "owner_after": text("member id of who has it next; null likewise", null=True),
        "unread_from_ns": whole("since when a record waited that nobody in the group fetched", null=True),
        "unread_to_ns": whole("when one was fetched; null: the capture ended before", null=True),
        "unread_ms": whole("from the one to the other; null where none waited, milliseconds", null=True),
    }
    row |= {
        "unread_text": text("the partitions that were unread, in words; empty where none was"),
        "partitions": listed("the first 10, those that were unread longest first", fields("a partition", partition)),
        "members": listed("members, the first 50 by joining", member),
        "last_joiner_client_id": text("client id of the last to join", null=True),
    }
    group = {
        "group_id": text("group"),
        "group_protocol": text("protocol", null=True),
        "n": whole("its rebalances"),
        "triggers": counts("rebalances by trigger"),
        "unread_ms": whole("longest time that a partition was unread; null where none was, milliseconds", null=True),
        "unread_text": text("the same in words; empty where none was"),
        "longest_ms": whole("longest rebalance, milliseconds"),
        "first_ns": whole("start of the first", null=True),
        "last_ns": whole("end of the last", null=True),
        "listed": listed("the first 50 of them", fields("a row of stories/rebalances", row)),
    }
    keys = {
        "n": whole("rebalances"),
        "n_groups": whole("groups that rebalanced"),
        "groups": listed(
            "groups, those whose partitions were unread longest first, at most 100", fields("a group", group)
        ),
    }
    return _section("generations and group epochs", keys)


def transactions() -> Shape:
    """Key `transactions`."""
    row = {"duration_us": whole("begin to end", null=True)}
    row["fenced_by_client_id"] = text("client id of the instance that took its transactional id over", null=True)
    row |= columns_of(TRANSACTIONS, without=("transactional_id",), clipped=True)
    client = {"client_instance_id": text("client"), "client_id": text("client id", null=True)}
    outcomes = fields("transactions by how they ended", {outcome: whole(outcome) for outcome in OUTCOMES})
    of_id = {
        "transactional_id": text("transactional id; empty where the capture does not show it"),
        "n": whole("its transactions"),
        "outcomes": outcomes,
        "transactions": texts("protocols: v1, v2 (KIP-890)"),
        "clients": listed("clients that used it", fields("a client", client)),
        "n_records": whole("records written"),
        "n_markers": whole("markers seen"),
        "p50_us": whole("median from begin to end", null=True),
        "max_us": whole("longest", null=True),
        "first_ns": whole("first begin", null=True),
        "last_ns": whole("last end", null=True),
        "n_unwell": whole("transactions that were not committed"),
        "unwell": listed("20 of them by time: hanging, then fenced, aborted, open", fields("a transaction", row)),
    }
    keys = {
        "n": whole("transactions"),
        "outcomes": outcomes,
        "n_ids": whole("transactional ids"),
        "ids": listed("those in trouble first, at most 200", fields("a transactional id", of_id)),
    }
    return _section("transactions of each transactional id", keys)


def flow() -> Shape:
    """Key `flow`."""
    shape = shape_of(Flow, "how records passed through topics: latency from end to end and lag, over slices of time")
    keys = {**_presence(), **shape["properties"]}
    return {**shape, "properties": keys, "required": list(keys)}
