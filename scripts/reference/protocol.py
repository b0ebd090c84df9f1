"""docs/protocol.md: every API and its versions, from the schema facts."""

from kafkascope_analyzer.cli.protocol import releases_of, table_rows
from kafkascope_parsers.schema import api_keys, api_name
from kafkascope_parsers.schema.releases import api_releases

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
- Tags that the schema does not know are kept, as (path, element, tag, bytes, length), in `unknown_tagged_fields`.
- Records and secrets (passwords, SASL tokens, delegation tokens) are kept as a length only: [tables](tables.md#secrets)
  says which.
- Once a released layout changed in place: ReadShareGroupStateSummary response v0 has no `leader_epoch` up to Kafka 4.0.
  Where the bytes are of that form they are read as that, and `leader_epoch` is null.
- A version or API that is not here, bytes left over, a count or length beyond the end: a row in `undecoded`.
"""

PROTOCOL_RELEASES = """## First release of each version

A range stands for versions that came with one release; version 0 of the oldest APIs came with 0.8.0 or before.
"""


def protocol_page() -> str:
    """Every API with the versions that are decoded, and the release that each version came with."""
    head, *rows = table_rows()
    lines = [PROTOCOL_HEAD, "| " + " | ".join(head) + " |", "|--:|---" + "|---" * (len(head) - 2) + "|"]
    lines += ["| " + " | ".join(row) + " |" for row in rows]
    lines += ["", PROTOCOL_RELEASES, "| key | API | version: release |", "|--:|---|---|"]
    for key in api_keys():
        old = api_releases()[key].old_names
        lines.append(f"| {key} | {api_name(key)}{f' (earlier {old})' if old else ''} | {releases_of(key)} |")
    return "\n".join(lines) + "\n"
