"""docs/tables.md: the tables of a dataset, from its contract, and the views of `kafkascope sql`."""

import re
from collections.abc import Iterator, Sequence
from itertools import chain

import pyarrow as pa

from kafkascope_analyzer.dataset.contract import Column
from kafkascope_analyzer.dataset.tables import INGEST_TABLES, MESSAGE_KEYS
from kafkascope_analyzer.sql.reference_tables import REFERENCE_TABLES
from kafkascope_analyzer.sql.saved import macros, views
from kafkascope_parsers.schema.secrets import ALWAYS, SECRETS
from kafkascope_spark.stories.tables import STORY_TABLES

TABLES_HEAD = """# Tables of a dataset

A dataset `OUT.kscope` is a folder, local or in an object store ([storage](storage.md)). Each table is a folder of
Parquet files in it; stories lie under `stories/`.
Query them with `kafkascope sql`, or with anything that reads Parquet:

    kafkascope sql OUT.kscope "select api_name, count(*), median(latency_us) from requests group by all"
    duckdb -c "select api_name, count(*), median(latency_us) from 'OUT.kscope/requests/**/*.parquet' group by all"

Files lie by the day (UTC) of their rows' own times, and by bucket below that where ingest had several:
`requests/date=2026-11-21/bucket=3/part-0-RUN.parquet`. DuckDB and Spark make a column `date` of it, and read the files
of a day alone where a query asks for it. `connections`, `roles`, `captures` and the stories, which are of no one day,
lie in no such folder.

    duckdb -c "select api_name, count(*) from 'OUT.kscope/errors/**/*.parquet' where date = '2026-11-21' group by 1"

`kafkascope sql --list` lists saved questions, as who stalled, slow producers, lag by partition; `--run NAME` asks
one, and `--show NAME` prints its SQL. `--format parquet` and `jsonl` write the rows for other programs.

In `kafkascope sql` tables have their own names, those under `stories/` too (`clients`), and a message is
`messages.Metadata_response`, its nested fields as they are below.

- Times: `ts` is a timestamp in microseconds, UTC; `ts_ns` beside it is the same in nanoseconds since the epoch.
- Durations carry their unit in the name (`latency_us`, `throttle_ms`), sizes end in `_bytes`, counts begin with `n_`.
- `conn_id` is the same for the same connection however the capture was cut; `request_id` is `conn_id` and a number.
- `client_instance_id` joins the stories; a connection reaches its client through `clients.conn_ids`.
- Each Parquet file says in its metadata what a row of the table is (`kafkascope.row`) and what each column is
  (`kafkascope.columns`, JSON): `pyarrow.parquet.read_schema(FILE).metadata`. `kafkascope tables --search WORDS` finds
  columns by what they are.
- `views.sql` makes all tables, and the views of `kafkascope sql`, known to DuckDB: in the dataset's folder
  `duckdb -init views.sql`.
- A nested column is `struct` or `list of struct` in the table of columns; its fields are listed below that table, with
  dots between a struct and its fields and `[]` after a list, and DuckDB reads them as `request.api_name`.
- `_dataset.json` is written last; a folder without it is not a dataset. Its `files` lists the files of every table with
  their rows and bytes: a file that is not listed is no part of the dataset. Its `ledger` counts the bytes of all TCP
  directions: `stream_bytes = decoded_bytes + undecoded_bytes`; `missing_bytes` are gaps, apart.
"""

JOINS_HEAD = """## How tables join

A line is a column by which two tables join: one row of the table at the end with the two strokes, any number at the
other. `conn_ids` and `request_ids` are lists, which `unnest` takes apart. Nearly all tables have `cluster` too, which
has to be the same where a dataset has several.
"""

EVENTS_TEXT = """\
Ingest reduces each connection to its events, and the stories of clients, groups and transactions are made from this
table alone. For a reader it is the short form of a capture: a connection that works has a handful of rows however many
requests it carries, and everything that failed, was slow, was unanswered or changed something is in it, in order. A
row has one `kind`, and the struct of that name; all other structs are null, except that an `error_run` of several
requests also has the first of them as `request`. `requests` and `errors` have what is reduced here, request by request.

Each kind has files of its own, `events/date=2026-11-21/kind=usage/part-0-RUN.parquet`, which have the struct of that
kind and not those of others. What is the same in all rows of a kind (`key_kind`, `section`, `rank` and `kind`) is in no
file: `kafkascope sql` and the data source for Spark add it; whatever else reads the files takes `kind` from the folder.
The rows of a file are sorted by `key`, `ts_ns`, `packet_no`, `conn_id`, `seq`.

    duckdb -c "select conn_id, usage.api_key from 'OUT.kscope/events/*/kind=usage/**/*.parquet' limit 3"

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

FLOW_TEXT = """\
A slice of time has the shortest round length, of a second or more, of which 60 or fewer cover the capture; slices
begin at round times of day (UTC). A record is *created* when its producer says so in the header of the batch, on the
producer's clock, which is aligned with the capture's by the smallest distance between creating and sending that any
of its batches has: what a producer always waits before it sends is not seen. Of a batch the header has the times of
its first and last record; the others are taken to lie evenly between them. Some libraries (kafkajs) set the time anew
when they send a batch again. Where a producer's times cannot be create times (median more than half a second above
the smallest, or the smallest falls further and further), latencies are null. A record is *acked* with the first byte
of the response that accepts it, so records sent with acks=0 are not counted, and *fetched* with the first byte of the
first response to any member of the group that brings it; responses to followers and share consumers do not count.
What the capture lacks is null.

Percentiles cannot be added up, histograms can: the lists `created_to_acked` and `acked_to_fetched` have the records
of each class of latencies. Of `n_records` and `created_to_acked` every group's row has the same.

Which group fell behind at this partition, by how many records, and how long had the records waited that it got
afterwards? (`fixtures/service/frozen_broker.pcap.zst`)

    kafkascope analyze fixtures/service/frozen_broker.pcap.zst -o frozen_broker.kscope
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

MESSAGES = """## messages/&lt;Api&gt;/request and messages/&lt;Api&gt;/response

One row per message, all its versions together: the key columns below, then Kafka's own fields in snake case, nested as
Kafka nests them. A field that the message's version lacks is null. Record sets are not copied; secrets are not either.
"""

SECRETS_TEXT = """### Secrets

Of what is secret only the length is in a dataset: a field `x` that always is has the column `x_length` alone. A field
that is secret in some messages has both: where `x` is null and `x_length` is not, the value is hidden. Secret are

- always: SASL tokens, HMACs of delegation tokens, SCRAM credentials, the values that AlterConfigs and
  IncrementalAlterConfigs set, and what an Envelope holds;
- where `is_sensitive` is true, where Kafka gives the type PASSWORD, and where the name is that of a password
  (`*.password`, `*.secret`, `*.key`, `sasl.jaas.config`, key stores, certificates of trust stores, tokens, credentials,
  behind any prefix): values of configurations and of their synonyms;
- texts of brokers about such requests (`error_message`, also `errors.message`) that share six bytes or more with a
  secret that the same connection has shown, or where that cannot be known;
- unknown tags of these APIs, of those that carry records (Produce, Fetch, ShareFetch, FetchSnapshot), of SaslHandshake
  and of DescribeUserScramCredentials: `data` is null, `length` stays.

Of bytes that are in no decoded message nothing is shown but what names a protocol (`undecoded.head`). A user name
(`connections.principal`) comes from a well formed token that the broker has accepted.

| message | field | secret |
|---|---|---|
"""

REFERENCES_HEAD = """\
## Tables of kafkascope sql

What is known of Kafka and of client libraries, and what `--owners` names. They are no files of the dataset.
"""
VIEWS_HEAD = """## Views of kafkascope sql

They are no files of the dataset: `kafkascope sql` makes them, and every query can use them.
"""


def _secret_fields() -> str:
    """The rows of the fields that are secret."""
    return "".join(
        f"| {message} | `{path}` | {'always' if when == ALWAYS else 'by name'}"
        f"{', is_sensitive' if when.sensitive else ''}{', type' if when.types else ''} |\n"
        for message, fields in SECRETS.items()
        for path, when in fields.items()
    )


def tables_page() -> str:
    """Every table with its columns, in the order of the contract."""
    parts = [TABLES_HEAD, joins_section()]
    for table in INGEST_TABLES:
        text = f"{EVENTS_TEXT}\n" if table.name == "events" else ""
        parts.append(f"## {table.name}\n\nOne row per {table.row}.\n\n{text}{columns(table.columns)}")
    parts += [MESSAGES, columns(MESSAGE_KEYS), SECRETS_TEXT + _secret_fields()]
    for table in STORY_TABLES:
        text = f"{FLOW_TEXT}\n" if table.name == "partition_flow" else ""
        row = f"One row per {table.row}. Made by Spark."
        parts.append(f"## stories/{table.name}\n\n{row}\n\n{text}{columns(table.columns)}")
    return "\n".join([*parts, views_section()])


def joins_section() -> str:
    """Which tables join by which ids, as a diagram."""
    tables = (*INGEST_TABLES, *STORY_TABLES)
    owners: dict[str, str] = {}
    for table in tables:
        first = next(column.name for column in table.columns if not column.name.startswith("cluster"))
        if first.endswith("_id") and table.name.replace("ies", "y").startswith(first.partition("_")[0]):
            owners.setdefault(first, table.name)
    lines = [
        f"    {owners[key]} ||--o{{ {table.name} : {column.name}"
        for table in tables
        for column in table.columns
        if (key := re.sub("s$", "", column.name)) in owners and owners[key] != table.name
    ]
    return "\n".join([JOINS_HEAD, "```mermaid", "erDiagram", *lines, "```", ""])


def views_section() -> str:
    """The tables, views and macros of `kafkascope sql` that are no files of a dataset; views with their queries."""
    parts = [REFERENCES_HEAD]
    parts += [f"### {each.name}\n\nOne row per {each.row}.\n\n{columns(each.columns)}" for each in REFERENCE_TABLES]
    parts.append(VIEWS_HEAD)
    for view in (*views(), *macros()):
        indented = "".join(f"    {line}\n" for line in view.text.splitlines()[1:])
        parts.append(f"### {view.name}\n\n{view.description}\n\n{indented}")
    return "\n".join(parts)


def columns(declared: Sequence[Column]) -> str:
    """The columns of a table as a Markdown table, and below it a list of the fields of those that are nested."""
    rows = ["| column | type | what |", "|---|---|---|"]
    for column in declared:
        values = f": {', '.join(f'`{v}`' for v in column.values)}" if column.values else ""
        rows.append(f"| `{column.name}` | {type_name(column.type)} | {column.doc.replace('|', '/')}{values} |")
    nested = [column for column in declared if struct_of(column.type) is not None]
    if nested:
        rows += ["", "Fields of the nested columns:", "", *chain.from_iterable(map(nested_lines, nested))]
    return "\n".join(rows) + "\n"


def nested_lines(column: Column) -> list[str]:
    """The fields of a nested column: in a line each where they have sentences."""
    if not any(field.doc for field in column.fields):
        return [f"- `{column.name}`: {', '.join(fields(column.type, ''))}"]
    return [f"- `{column.name}`", *(f"  - {line}" for line in field_lines(column.fields, ""))]


def field_lines(declared: Sequence[Column], path: str) -> Iterator[str]:
    """The fields that a class declares, each with its path from the column, its type and its sentence."""
    for field in declared:
        name = f"{path}{field.name}"
        if field.doc or not field.fields:
            yield f"`{name}` {type_name(field.type)}{f': {field.doc}' if field.doc else ''}"
        if field.fields:
            yield from field_lines(field.fields, f"{name}{'[]' if pa.types.is_list(field.type) else ''}.")


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
