"""`kafkascope decode`: decodes frames and record sets, to inspect bytes by hand and to compare the decoder
with Kafka."""

import sys
from dataclasses import dataclass
from typing import Annotated

import typer

from kafkascope_analyzer.cli.exits import UNREADABLE, CommandEnd, exit_codes
from kafkascope_parsers.errors import UsageError


@dataclass(frozen=True, kw_only=True)
class DecodeArguments:
    """The arguments of `kafkascope decode`."""

    files: Annotated[
        list[str] | None, typer.Argument(metavar="FILES", help="With --jsonl: files of JSON lines (.gz too).")
    ] = None
    hex: Annotated[
        str | None,
        typer.Option("--hex", metavar="FRAME", help="One frame as hex, with or without its 4-byte size; - reads it."),
    ] = None
    jsonl: Annotated[
        bool, typer.Option("--jsonl", help="Read JSON lines: a frame each, one line of JSON out for each.")
    ] = False
    response: Annotated[
        bool, typer.Option("--response", help="The frame is a response: say --api and --version too.")
    ] = False
    api: Annotated[
        str | None, typer.Option("--api", metavar="NAME", help="API of a response, as Fetch or 1.", show_default=False)
    ] = None
    version: Annotated[
        int | None, typer.Option("--version", metavar="N", help="Version of a response.", show_default=False)
    ] = None
    records: Annotated[
        bool,
        typer.Option("--records", help="The hex, or each line's records_hex, is a record set: open its records."),
    ] = False


def decode(given: DecodeArguments) -> None:
    """Decode frames or record sets, given as hex or as JSON lines, to JSON."""
    with exit_codes():
        _check(given)
        if given.hex is None:
            _decode_files(given.files or [], records=given.records)
        else:
            response = (given.api, given.version) if given.response else None
            _decode_hex(given.hex, response, records=given.records)


def _check(given: DecodeArguments) -> None:
    """Raises UsageError where options are missing or contradict each other."""
    if (given.hex is not None) == given.jsonl:
        raise UsageError("decode reads one frame (--hex FRAME) or files of JSON lines (--jsonl FILES): say which")
    if given.jsonl != bool(given.files):
        raise UsageError("--jsonl wants files" if given.jsonl else "files want --jsonl")
    if (given.api is not None or given.version is not None) and not given.response:
        raise UsageError("--api and --version are of a response: a request says its own; add --response")
    if given.records and given.response:
        raise UsageError("a record set is no response: --records and --response exclude each other")


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
