"""What a command says on standard error: errors, warnings and notes, a sentence each.

Where the command was asked for JSON (`--format json`, or jsonl), each is a line of JSON instead: `{"error": sentence,
"exit_code": number}`, `{"warning": sentence}` or `{"note": sentence}`.
"""

import json
import sys
from collections.abc import Iterable, Sequence
from itertools import pairwise

_JSON_FORMATS = ("json", "jsonl")
_is_json = False
"""Whether this command was asked for JSON."""


def choose_form(arguments: Iterable[str]) -> None:
    """Has the sentences of a command with these arguments written as JSON where it is asked for JSON."""
    global _is_json  # noqa: PLW0603 - one process runs one command, and libraries' callbacks have no way to pass it on
    words = [word for one in arguments for word in (one.split("=", 1) if one.startswith("--format=") else [one])]
    chosen = [value for option, value in pairwise(words) if option == "--format"]
    _is_json = bool(chosen) and chosen[-1] in _JSON_FORMATS


def is_json() -> bool:
    """Whether sentences are written as JSON."""
    return _is_json


def report_error(sentence: str, exit_code: int) -> None:
    """Says why the command fails with that code."""
    _write(sentence, "error", exit_code=exit_code)


def warn(sentence: str) -> None:
    """Says what the user has to know though the command goes on."""
    _write(sentence, "warning")


def note(sentence: str, *, quiet: bool) -> None:
    """Says what is no error, unless the user asked for quiet."""
    if not quiet:
        _write(sentence, "note")


def closest(name: str, known: Sequence[str]) -> str:
    """Part of a sentence that names the known name most like it; empty where none is."""
    from difflib import get_close_matches

    found = get_close_matches(name, known, n=1)
    return f" (the closest is {found[0]})" if found else ""


def _write(sentence: str, kind: str, **more: int) -> None:
    """Writes the sentence without control characters: a file name may contain any."""
    shown = "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in sentence)
    if _is_json:
        print(json.dumps({kind: shown, **more}), file=sys.stderr)
    else:
        print(shown if kind == "note" else f"kafkascope: {shown}", file=sys.stderr)
