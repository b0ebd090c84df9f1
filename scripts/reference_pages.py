#!/usr/bin/env python3
"""Writes the reference pages under docs/ from what the program declares: tables.md from the contract, commands.md.

scripts/reference_pages.py            # writes them
scripts/reference_pages.py --check    # exit 1 where one is not current
"""

import sys
from pathlib import Path

DOCS = Path(__file__).resolve().parent.parent / "docs"
COMMANDS = ("analyze", "ingest", "stories", "info")
GENERATED = "<!-- Made by scripts/reference_pages.py: change the source, not this page. -->"

TABLES_HEAD = """# Tables of a dataset

A dataset `NAME.kscope` is a directory. Each table is a directory of Parquet files in it; stories lie under `stories/`.
Query them with anything that reads Parquet:

    duckdb -c "select api_name, count(*), median(latency_us) from 'NAME.kscope/requests/**/*.parquet' group by all"

- Times: `ts` is a timestamp in microseconds, UTC; `ts_ns` beside it is the same in nanoseconds since the epoch.
- Durations carry their unit in the name (`latency_us`, `throttle_ms`), sizes end in `_bytes`, counts begin with `n_`.
- `conn_id` is the same for the same connection however the capture was cut; `request_id` is `conn_id` and a number.
- `client_instance_id` joins the stories; a connection reaches its client through `clients.conn_ids`.
- `_dataset.json` is written last; a directory without it is not a dataset. Its `ledger` counts the bytes of all TCP
  directions: `stream_bytes = decoded_bytes + undecoded_bytes`; `missing_bytes` are gaps, apart.
"""

COMMANDS_HEAD = """# Commands

`kafkascope COMMAND --help` says the same. Results go to standard output; progress, notes and errors to standard error.

| exit code | meaning |
|---|---|
| 0 | done |
| 2 | usage: the call cannot be carried out as asked; nothing was changed |
| 3 | unreadable input: one sentence names the file, the byte and why; nothing was written |
| 130 | interrupted; nothing was written |
"""

MESSAGES = """## messages/&lt;Api&gt;/request and messages/&lt;Api&gt;/response

One row per message, all its versions together: the key columns below, then Kafka's own fields in snake case, nested as
Kafka nests them. A field that the message's version lacks is null. Record sets are not copied; no credentials either.
"""


def tables_page() -> str:
    from kafkascope_analyzer.dataset.stories import STORY_TABLES
    from kafkascope_analyzer.dataset.tables import INGEST_TABLES, MESSAGE_KEYS

    parts = [GENERATED, TABLES_HEAD]
    for table in INGEST_TABLES:
        parts += [f"## {table.name}\n\nOne row per {table.row}.\n", columns(table.columns)]
    parts += [MESSAGES, columns(MESSAGE_KEYS)]
    for table in STORY_TABLES:
        parts += [f"## stories/{table.name}\n\nOne row per {table.row}. Made by Spark.\n", columns(table.columns)]
    return "\n".join(parts)


def columns(declared) -> str:
    rows = ["| column | type | what |", "|---|---|---|"]
    for column in declared:
        values = f": {', '.join(f'`{v}`' for v in column.values)}" if column.values else ""
        rows.append(
            f"| `{column.name}` | {str(column.type).replace('|', '/')} | {column.doc.replace('|', '/')}{values} |"
        )
    return "\n".join(rows) + "\n"


def commands_page() -> str:
    import typer
    from kafkascope_analyzer.cli.app import app

    main_command = typer.main.get_command(app)
    parts = [GENERATED, COMMANDS_HEAD]
    for name in COMMANDS:
        command = main_command.commands[name]
        parts += [
            f"## kafkascope {name}\n\n{command.help}\n",
            "| | what |\n|---|---|\n" + "".join(map(option, command.params)),
        ]
    return "\n".join(parts)


def option(param) -> str:
    is_argument = param.param_type_name == "argument"
    names = param.metavar if is_argument else ", ".join(param.opts)
    takes = f" {param.metavar}" if not is_argument and param.metavar else ""
    return f"| `{names}{takes}` | {param.help} |\n".replace("CAPTURE|OUT", "CAPTURE or OUT")


PAGES = {"tables.md": tables_page, "commands.md": commands_page}


def main() -> int:
    check, stale = "--check" in sys.argv[1:], []
    for name, page in PAGES.items():
        place = DOCS / name
        if check and (not place.exists() or place.read_text(encoding="utf-8") != page()):
            stale.append(name)
        elif not check:
            place.parent.mkdir(exist_ok=True)
            place.write_text(page(), encoding="utf-8")
    if stale:
        print(f"not current: {', '.join(stale)}; run scripts/reference_pages.py", file=sys.stderr)
    return 1 if stale else 0


if __name__ == "__main__":
    sys.exit(main())
