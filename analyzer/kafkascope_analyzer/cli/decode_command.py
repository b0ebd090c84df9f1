"""`kafkascope decode`: frames and record sets, to look at bytes by hand and to hold the decoder against Kafka."""

import sys
from typing import Annotated

import typer

from kafkascope_analyzer.cli.exits import UNREADABLE, CommandEnd, exit_codes
from kafkascope_parsers.errors import UsageError

Files = Annotated[
    list[str] | None, typer.Argument(metavar="FILES", help="With --jsonl: files of JSON lines (.gz too).")
]
Hex = Annotated[
    str | None,
    typer.Option("--hex", metavar="FRAME", help="One frame as hex, with or without its 4-byte size; - reads it."),
]
Jsonl = Annotated[bool, typer.Option("--jsonl", help="Read JSON lines: a frame each, one line of JSON out for each.")]
Response = Annotated[bool, typer.Option("--response", help="The frame is a response: say --api and --version too.")]
Api = Annotated[
    str | None, typer.Option("--api", metavar="NAME", help="API of a response, as Fetch or 1.", show_default=False)
]
Version = Annotated[
    int | None, typer.Option("--version", metavar="N", help="Version of a response.", show_default=False)
]
Records = Annotated[
    bool, typer.Option("--records", help="The hex, or each line's records_hex, is a record set: open its records.")
]


def decode(
    files: Files = None,
    hex: Hex = None,  # noqa: A002 - the option's name
    jsonl: Jsonl = False,
    response: Response = False,
    api: Api = None,
    version: Version = None,
    records: Records = False,
) -> None:
    """Decode frames or record sets, given as hex or as JSON lines, to JSON."""
    with exit_codes():
        if (hex is not None) == jsonl:
            raise UsageError("decode reads one frame (--hex FRAME) or files of JSON lines (--jsonl FILES): say which")
        if jsonl != bool(files):
            raise UsageError("--jsonl wants files" if jsonl else "files want --jsonl")
        if (api is not None or version is not None) and not response:
            raise UsageError("--api and --version are of a response: a request says its own; add --response")
        if records and response:
            raise UsageError("a record set is no response: --records and --response exclude each other")
        if hex is None:
            _decode_files(files or [], records=records)
        else:
            _decode_hex(hex, (api, version) if response else None, records=records)


def _decode_files(files: list[str], *, records: bool) -> None:
    from kafkascope_analyzer.cli.decode import decode_jsonl
    from kafkascope_analyzer.cli.decode_records import decode_record_lines

    (decode_record_lines if records else decode_jsonl)(files, sys.stdout)


def _decode_hex(text: str, response: tuple[str | None, int | None] | None, *, records: bool) -> None:
    import json

    from kafkascope_analyzer.cli.decode import decode_frame, parse_hex
    from kafkascope_analyzer.cli.decode_records import record_set_json

    raw = parse_hex(sys.stdin.read() if text == "-" else text)
    answer = record_set_json(raw) if records else decode_frame(raw, response)
    print(json.dumps(answer, ensure_ascii=True, allow_nan=False, indent=2))
    if "error" in answer:
        raise CommandEnd(f"the frame does not decode: {answer['error']['message']}", UNREADABLE)
