#!/usr/bin/env python3
"""Writes the reference pages under docs/ from what the program declares: tables.md from the contract, commands.md
from the command line, protocol.md from the schema facts, roles.md from the rules of roles, rules/ from the findings'
rules, report.md from the schema of report.json, that schema as the file that comes with the package, and its types for
the script of the HTML report.

scripts/reference_pages.py            # writes them
scripts/reference_pages.py --check    # exit 1 where one is not current
"""

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pyarrow as pa

DOCS = Path(__file__).resolve().parent.parent / "docs"
GENERATED = "<!-- Made by scripts/reference_pages.py: change the source, not this page. -->"

TABLES_HEAD = """# Tables of a dataset

A dataset `NAME.kscope` is a folder, local or in an object store ([storage](storage.md)). Each table is a folder of
Parquet files in it; stories lie under `stories/`.
Query them with `kafkascope sql`, or with anything that reads Parquet:

    kafkascope sql NAME.kscope "select api_name, count(*), median(latency_us) from requests group by all"
    duckdb -c "select api_name, count(*), median(latency_us) from 'NAME.kscope/requests/**/*.parquet' group by all"

`kafkascope sql --list` lists saved questions, as who stood still, slow producers, lag by partition; `--run NAME` asks
one, and `--show NAME` prints its SQL. `--format parquet` and `jsonl` write the rows for other programs.

In `kafkascope sql` tables have their own names, those under `stories/` too (`clients`), and a message is
`messages.Metadata_response`, its nested fields as they are below.

- Times: `ts` is a timestamp in microseconds, UTC; `ts_ns` beside it is the same in nanoseconds since the epoch.
- Durations carry their unit in the name (`latency_us`, `throttle_ms`), sizes end in `_bytes`, counts begin with `n_`.
- `conn_id` is the same for the same connection however the capture was cut; `request_id` is `conn_id` and a number.
- `client_instance_id` joins the stories; a connection reaches its client through `clients.conn_ids`.
- A nested column is `struct` or `list of struct` in the table of columns; its fields are listed below that table, with
  dots between a struct and its fields and `[]` after a list, and DuckDB reads them as `request.api_name`.
- `_dataset.json` is written last; a folder without it is not a dataset. Its `files` lists the files of every table with
  their rows and bytes: a file that is not listed is no part of the dataset. Its `ledger` counts the bytes of all TCP
  directions: `stream_bytes = decoded_bytes + undecoded_bytes`; `missing_bytes` are gaps, apart.
"""

EVENTS_TEXT = """\
Ingest reduces each connection to its events, and the stories of clients, groups and transactions are made from this
table alone. For a reader it is the short form of a capture: a connection that works has a handful of rows however many
requests it carries, and everything that failed, was slow, was unanswered or changed something is in it, in order. The
rows of a file are sorted by `key_kind`, `key`, `section`, `ts_ns`, `rank`, `packet_no`, `conn_id`, `seq`. A row has
one `kind`, and the struct of that name; all other structs are null, except that an `error_run` of several requests
also has the first of them as `request`. `requests` and `errors` have what is reduced here, request by request.

A client's address, a group and a transactional id each have events of their own (`key_kind`), so that a request may be
in the table more than once: name a `key_kind` or a `kind` in a query.

The examples are from `fixtures/captures/leader_move.pcap.zst`; `at` is minutes and seconds.

What happened on this connection, in order? A producer sends, is refused by a broker that does not lead the partition
any more, and its next Produce succeeds:

    kafkascope sql leader_move.kscope --format plain "
      select strftime(ts, '%M:%S.%f') as at, kind, packet_no,
        coalesce(request.api_name, error_run.error_name, partition.topic || '-' || partition.partition) as what
      from events where conn_id = '41117c5bdf655554' and key_kind = 'client' and section = 1
      order by ts_ns, rank, packet_no, seq"

    at            kind       packet_no  what
    ----------------------------------------------------------
    28:35.968067  request          845  ApiVersions
    28:41.413628  request         5172  Produce
    28:41.420847  error_run       5203  NOT_LEADER_OR_FOLLOWER
    28:41.420847  partition          0  clicks-leader60-5
    28:41.554035  request         5861  Produce

How was it used? The 31 Produce requests are two rows: of those that succeeded, and of those that failed.

    kafkascope sql leader_move.kscope --format plain "
      select usage.api_name as api, usage.failed, usage.n, strftime(ts, '%M:%S.%f') as first
      from events where conn_id = '41117c5bdf655554' and kind = 'usage' order by ts_ns"

    api          failed   n  first
    -------------------------------------
    ApiVersions   false   1  28:35.968067
    Produce       false  30  28:35.970555
    Produce        true   1  28:41.413628

Which requests failed again and again, and from when to when? An error that comes thousands of times in a row is one row
with a count, so add up `n` instead of counting rows:

    kafkascope sql leader_move.kscope --format plain "
      select client_ip, error_run.error_name as error, sum(error_run.n) as errors,
        count(distinct conn_id) as conns, strftime(min(ts), '%M:%S') as first, strftime(max(ts), '%M:%S') as last
      from events where kind = 'error_run'
      group by client_ip, error_run.error_name order by errors desc, client_ip limit 5"

    client_ip    error                errors  conns  first  last
    -------------------------------------------------------------
    10.77.0.104  FENCED_LEADER_EPOCH      16      6  28:41  29:02
    10.77.0.103  FENCED_LEADER_EPOCH       8      4  28:41  29:02
    10.77.0.12   FENCED_LEADER_EPOCH       6      2  28:41  29:02
    10.77.0.13   FENCED_LEADER_EPOCH       6      3  28:41  29:02
    10.77.0.103  UNSUPPORTED_VERSION       5      5  28:34  29:02

Which requests did the members of a group send to its coordinator? The API keys are Kafka's: 10 FindCoordinator, 11
JoinGroup, 13 LeaveGroup, 14 SyncGroup.

    kafkascope sql leader_move.kscope --format plain "
      select strftime(ts, '%M:%S.%f') as at, group_request.client_id, group_request.api_key as api,
        group_request.error_name as error
      from events where kind = 'group_request' and key = 'billing-leader29' order by ts_ns"

    at            client_id    api  error
    --------------------------------------------------
    28:34.584669  order-api-5   10  NONE
    28:34.587449  order-api-5   11  MEMBER_ID_REQUIRED
    28:34.588411  order-api-5   11  NONE
    28:34.892027  order-api-5   14  NONE
    29:07.544284  order-api-5   13  NONE
"""

COMMANDS_HEAD = """# Commands

`kafkascope COMMAND --help` says the same. Results go to standard output; progress, notes and errors to standard error.

| exit code | meaning |
|---|---|
| 0 | done |
| 1 | a finding is of the severity that `--fail-on` names, or worse; everything was written |
| 2 | usage: the call cannot be carried out as asked; nothing was changed |
| 3 | unreadable input: one sentence names the file (a capture with the byte and why, or a damaged file of a dataset); \
nothing was written |
| 4 | Spark failed: one sentence says why (memory, disk, a lost process) and what to do; the tables are complete |
| 5 | no Kafka in the capture: no packets, or no connection that speaks it; one sentence says which; what was read \
is written |
| 130 | interrupted; nothing was written |
| 141 | the program that read standard output closed it |
"""

MESSAGES = """## messages/&lt;Api&gt;/request and messages/&lt;Api&gt;/response

One row per message, all its versions together: the key columns below, then Kafka's own fields in snake case, nested as
Kafka nests them. A field that the message's version lacks is null. Record sets are not copied; no credentials either.
"""


PROTOCOL_HEAD = """# The protocol

Every API key of Kafka 0.8 to 4.4, every version, request and response. `kafkascope protocol` prints the table,
`kafkascope protocol Fetch` the fields of one API with their versions.

- decoded: the versions that are decoded. flexible: from here on KIP-482 tagged fields and compact lengths; request
  header v2 and response header v1. Responses of ApiVersions always have header v0 (KIP-511); ControlledShutdown v0 has
  request header v0, without a client id.
- 3.9, 4.0, 4.4: the versions that brokers and controllers of that release speak. gone in 4.0: what KIP-896 and the end
  of ZooKeeper removed.
- A field that a message's version lacks is null in `messages/`, never Kafka's default, so that what was said can be
  distinguished from what was not; a tagged field that was not sent is null for the same reason.
- Tags that the schema does not know are kept, as (path, element, tag, bytes), in `unknown_tagged_fields`.
- Records and secrets (passwords, SASL tokens, delegation tokens) are kept as a length only.
- Once a released layout changed in place: ReadShareGroupStateSummary response v0 has no `leader_epoch` up to Kafka 4.0.
  Where the bytes are of that form they are read as that, and `leader_epoch` is null.
- A version or API that is not here, bytes left over, a count or length beyond the end: a row in `undecoded`.
"""

PROTOCOL_RELEASES = """## First release of each version

A range stands for versions that came with one release; version 0 of the oldest APIs came with 0.8.0 or before.
"""

REPORT_HEAD = """# report.json

`analyze` and `stories` write it into the dataset; `kafkascope report OUT.kscope --json -` makes it anew and prints it.
The terminal report, Markdown and HTML are renderings of it. The same dataset gives the same bytes.

- Times are nanoseconds since the epoch (`*_ns`), durations microseconds (`*_us`) or milliseconds (`*_ms`); null is "the
  capture does not tell". Counts begin with `n`; `n_*` beside a list counts all, the list has a limit, so that the
  report on a whole day opens; the tables have everything.
- The file is ASCII: other characters are escaped. Strangers' text is as it was on the wire.
- Its schema (JSON Schema, draft 2020-12) is `kafkascope_analyzer/report/schema/report.schema.json`. `report_version`
  changes when a key changes its meaning or goes; new keys may come without that.
- A row of a table has the table's columns too ([tables.md](tables.md)), but for timestamps (`*_ts`).
"""

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
    from kafkascope_analyzer.connections import role_rules

    lines = [GENERATED, ROLES_HEAD.rstrip("\n")]
    for rule in (role_rules.PARTITION_LEADER, role_rules.FOLLOWER_FETCH, *role_rules.REQUEST_RULES):
        subject = "" if rule.subject == "none" else rule.subject.replace("_", " ")
        cells = rule.role, subject, ", ".join(sorted(rule.apis)), ", ".join(sorted(rule.refused_by))
        lines.append("| " + " | ".join(cells) + " |")
    asked = ", ".join(sorted(role_rules.BOOTSTRAP_APIS))
    lines.append(f"| bootstrap | | the first {asked} of a client | |")
    late = ", ".join(f"{api} from version {version} on" for api, version in role_rules.BETWEEN_BROKERS.items())
    return "\n".join(lines) + "\n" + ROLES_TAIL.replace("{late}", late)


FLOW_TEXT = """\
A slice of time has the shortest round length, of a second or more, of which 60 or fewer cover the capture; slices
begin at round times of day (UTC). A record is *created* when its producer says so in the header of the batch, on the
producer's clock, which is aligned with the capture's by the smallest distance between creating and sending that any
of its batches has: what a producer always waits before it sends is not seen. Of a batch the header has the times of
its first and last record; the others are taken to lie evenly between them. Some libraries (kafkajs) set the time anew
when they send a batch again. Where a producer's times cannot be create times (median more than half a second above
the smallest), latencies are null. A record is *acked* with the first byte of the response that accepts it, so records
sent with acks=0 are not counted, and *fetched* with the first byte of the first response to any member of the group
that brings it; responses to followers and share consumers do not count. What the capture lacks is null.

Percentiles cannot be added up, histograms can: the lists `created_to_acked` and `acked_to_fetched` have the records
of each class of latencies. Of `n_records` and `created_to_acked` every group's row has the same.

Which group fell behind at this partition, by how many records, and how long had the records waited that it got
afterwards? (`fixtures/service/frozen_broker.pcap.zst`)

    kafkascope sql frozen_broker.kscope --format plain "
      select strftime(ts, '%M:%S') as at, group_id, n_records as written, n_fetched as fetched, lag_last as lag,
        round(acked_to_fetched_p99_us / 1e6, 1) as seconds
      from partition_flow
      where partition = 2 and group_id like 'mailer%' and ts_ns between 1795349996e9 and 1795350000e9 order by ts_ns"

    at     group_id         written  fetched  lag  seconds
    ------------------------------------------------------
    19:56  mailer-frozen26        3        0   30
    19:57  mailer-frozen26        6        0   36
    19:58  mailer-frozen26        1        0   37
    19:59  mailer-frozen26        4        0   41
    20:00  mailer-frozen26        3       44    0      8.9
"""


def tables_page() -> str:
    from kafkascope_analyzer.dataset.stories import STORY_TABLES
    from kafkascope_analyzer.dataset.tables import INGEST_TABLES, MESSAGE_KEYS

    parts = [GENERATED, TABLES_HEAD]
    for table in INGEST_TABLES:
        text = f"{EVENTS_TEXT}\n" if table.name == "events" else ""
        parts += [f"## {table.name}\n\nOne row per {table.row}.\n\n{text}{columns(table.columns)}"]
    parts += [MESSAGES, columns(MESSAGE_KEYS)]
    for table in STORY_TABLES:
        text = f"{FLOW_TEXT}\n" if table.name == "partition_flow" else ""
        parts += [
            f"## stories/{table.name}\n\nOne row per {table.row}. Made by Spark.\n\n{text}{columns(table.columns)}"
        ]
    return "\n".join([*parts, views_section()])


VIEWS_HEAD = """## Views of kafkascope sql

They are no files of the dataset: `kafkascope sql` makes them, and every query can use them.
"""


def views_section() -> str:
    from kafkascope_analyzer.sql.saved import views

    parts = [VIEWS_HEAD]
    for view in views():
        indented = "".join(f"    {line}\n" for line in view.text.splitlines()[1:])
        parts.append(f"### {view.name}\n\n{view.description}\n\n{indented}")
    return "\n".join(parts)


def questions_table() -> str:
    from kafkascope_analyzer.sql.saved import questions

    rows = "".join(f"| `{saved.name}` | {saved.description} |\n" for saved in questions())
    return f"| saved question | what it answers |\n|---|---|\n{rows}"


def columns(declared) -> str:
    """The columns of a table as a Markdown table, and below it a list of the fields of those that are nested."""
    rows = ["| column | type | what |", "|---|---|---|"]
    for column in declared:
        values = f": {', '.join(f'`{v}`' for v in column.values)}" if column.values else ""
        rows.append(f"| `{column.name}` | {type_name(column.type)} | {column.doc.replace('|', '/')}{values} |")
    nested = [f"- `{c.name}`: {', '.join(fields(c.type, ''))}" for c in declared if struct_of(c.type) is not None]
    if nested:
        rows += ["", "Fields of the nested columns:", "", *nested]
    return "\n".join(rows) + "\n"


def type_name(declared: pa.DataType) -> str:
    """An Arrow type as the page names it; the fields of a struct are listed apart."""
    if pa.types.is_list(declared):
        return f"list of {type_name(declared.value_type)}"
    return "struct" if pa.types.is_struct(declared) else str(declared)


def struct_of(declared: pa.DataType) -> pa.StructType | None:
    """The struct that a column has, or of which it has a list; None for any other type."""
    inner = declared.value_type if pa.types.is_list(declared) else declared
    return inner if pa.types.is_struct(inner) else None


def fields(declared: pa.DataType, path: str) -> Iterator[str]:
    """The fields of a nested type, each with its path from the column and its type; those of structs inside follow
    theirs."""
    for field in struct_of(declared):
        name = f"{path}{field.name}"
        if struct_of(field.type) is None:
            yield f"`{name}` {type_name(field.type)}"
        else:
            yield from fields(field.type, f"{name}{'[]' if pa.types.is_list(field.type) else ''}.")


def commands_page() -> str:
    import typer

    from kafkascope_analyzer.cli.app import app

    parts = [GENERATED, COMMANDS_HEAD]
    for name, command in typer.main.get_command(app).commands.items():
        parts += [
            f"## kafkascope {name}\n\n{command.help}\n",
            "| | what |\n|---|---|\n" + "".join(map(option, command.params)),
        ]
        if name == "sql":
            parts.append(questions_table())
    return "\n".join(parts)


def option(param) -> str:
    is_argument = param.param_type_name == "argument"
    names = param.metavar if is_argument else ", ".join(param.opts)
    takes = f" {param.metavar}" if not is_argument and param.metavar else ""
    return f"| `{names}{takes}` | {param.help} |\n".replace("CAPTURE|OUT", "CAPTURE or OUT")


def protocol_page() -> str:
    from kafkascope_analyzer.cli.protocol import releases_of, table_rows
    from kafkascope_parsers.schema import api_keys, api_name
    from kafkascope_parsers.schema.releases import api_releases

    head, *rows = table_rows()
    lines = [GENERATED, PROTOCOL_HEAD, "| " + " | ".join(head) + " |", "|--:|---" + "|---" * (len(head) - 2) + "|"]
    lines += ["| " + " | ".join(row) + " |" for row in rows]
    lines += ["", PROTOCOL_RELEASES, "| key | API | version: release |", "|--:|---|---|"]
    for key in api_keys():
        old = api_releases()[key].old_names
        lines.append(f"| {key} | {api_name(key)}{f' (earlier {old})' if old else ''} | {releases_of(key)} |")
    return "\n".join(lines) + "\n"


def rule_pages() -> dict[str, Callable[[], str]]:
    from kafkascope_spark.findings.pages import index_page, rule_page
    from kafkascope_spark.findings.rules import RULES

    pages = {f"rules/{rule.name}.md": lambda rule=rule: f"{GENERATED}\n{rule_page(rule)}" for rule in RULES}
    return {"rules/README.md": lambda: f"{GENERATED}\n{index_page(RULES)}", **pages}


def report_page() -> str:
    from kafkascope_analyzer.report.schema import report_schema

    keys = report_schema()["properties"]
    parts = [GENERATED, REPORT_HEAD, "| key | what |", "|---|---|"]
    parts += [f"| `{key}` | {shape['description']} |" for key, shape in keys.items()]
    for key, shape in keys.items():
        inner = shape.get("items", shape)
        if "properties" in inner:
            parts += [
                "",
                f"## {key}",
                "",
                f"{shape['description'][0].upper()}{shape['description'][1:]}.",
                "",
                "| key | type | what |",
                "|---|---|---|",
            ]
            parts += report_keys(inner, "[]." if "items" in shape else "")
    return "\n".join(parts) + "\n"


def report_keys(shape, before: str) -> list[str]:
    """A line a key, those of nested objects after it; columns of a table's row are on the page of tables."""
    from kafkascope_analyzer.dataset.stories import STORY_TABLES
    from kafkascope_analyzer.dataset.tables import INGEST_TABLES

    columns = {(column.name, column.doc) for table in (*INGEST_TABLES, *STORY_TABLES) for column in table.columns}
    is_row = shape.get("description", "").startswith("a row of")
    lines = []
    for key, inner in shape.get("properties", {}).items():
        if is_row and (key, inner.get("description")) in columns:
            continue
        kinds = inner["type"] if isinstance(inner["type"], list) else [inner["type"]]
        what = inner.get("description", "")
        items = inner.get("items", {})
        if items.get("description", "").startswith("a row of"):
            what += f" ({items['description'].replace('a row of', 'rows of')})"
        values = f": {', '.join(f'`{v}`' for v in inner['enum'] if v)}" if "enum" in inner else ""
        lines.append(f"| `{before}{key}` | {' or '.join(kinds)} | {(what + values).replace('|', '/')} |")
        nested = items if "properties" in items else inner
        lines += report_keys(nested, f"{before}{key}{'[]' if nested is items else ''}.")
    return lines


def report_schema_file() -> str:
    from kafkascope_analyzer.report.schema import schema_text

    return schema_text()


def story_types_file() -> str:
    from kafkascope_analyzer.report.schema.typescript import story_types

    return story_types()


TYPES = "../analyzer/kafkascope_analyzer/report/html/script/story.d.ts"
SCHEMA = "../analyzer/kafkascope_analyzer/report/schema/report.schema.json"
PAGES = {
    "report.md": report_page,
    SCHEMA: report_schema_file,
    TYPES: story_types_file,
    "tables.md": tables_page,
    "commands.md": commands_page,
    "protocol.md": protocol_page,
    "roles.md": roles_page,
}


def main() -> int:
    check, stale = "--check" in sys.argv[1:], []
    for name, page in {**PAGES, **rule_pages()}.items():
        place = DOCS / name
        if check and (not place.exists() or place.read_text(encoding="utf-8") != page()):
            stale.append(name)
        elif not check:
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text(page(), encoding="utf-8")
    if stale:
        print(f"not current: {', '.join(stale)}; run scripts/reference_pages.py", file=sys.stderr)
    return 1 if stale else 0


if __name__ == "__main__":
    sys.exit(main())
