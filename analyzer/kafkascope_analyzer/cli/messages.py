"""Messages of a command on standard error: errors, warnings and notes, a sentence each.

Where the user requested JSON (`--format json`, or jsonl), each is a line of JSON instead: `{"error": sentence,
"exit_code": number}`, `{"warning": sentence}` or `{"note": sentence}`.
"""

import json
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum
from itertools import pairwise

_JSON_FORMATS = ("json", "jsonl")


@dataclass(frozen=True, slots=True)
class Messages:
    """Writes the errors, warnings and notes of a command to standard error. is_json: each as a line of JSON; quiet:
    without notes and progress."""

    is_json: bool = False
    quiet: bool = False

    @classmethod
    def of(cls, format: Enum | None = None, *, quiet: bool = False) -> "Messages":  # noqa: A002 - the option's name
        """Returns the messages of a command with that value of --format."""
        return cls(format is not None and format.value in _JSON_FORMATS, quiet)

    def error(self, sentence: str, exit_code: int) -> None:
        """Writes why the command fails with that code."""
        self._write(sentence, "error", exit_code=exit_code)

    def warn(self, sentence: str) -> None:
        """Writes a warning, after which the command continues."""
        self._write(sentence, "warning")

    def note(self, sentence: str) -> None:
        """Writes a note, unless the user asked for quiet."""
        if not self.quiet:
            self._write(sentence, "note")

    def _write(self, sentence: str, kind: str, **more: int) -> None:
        """Writes the sentence without control characters: a file name may contain any."""
        shown = "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in sentence)
        if self.is_json:
            print(json.dumps({kind: shown, **more}), file=sys.stderr)
        else:
            print(shown if kind == "note" else f"kafkascope: {shown}", file=sys.stderr)


PLAIN = Messages()
"""The messages of a command that has neither --format nor -q."""


def asks_for_json(arguments: Iterable[str]) -> bool:
    """Whether a command line requests JSON, even an invalid one."""
    words = [word for one in arguments for word in (one.split("=", 1) if one.startswith("--format=") else [one])]
    chosen = [value for option, value in pairwise(words) if option == "--format"]
    return bool(chosen) and chosen[-1] in _JSON_FORMATS
