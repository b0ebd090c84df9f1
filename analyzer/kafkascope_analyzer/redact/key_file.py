"""The key file of a redaction: a secret, and the originals of the pseudonyms that were made with it.

It is a text file of JSON lines that only its owner can read: the first line has the key, each other one a pseudonym and
its original. Whoever has it can undo the redaction: keep it, and give it to nobody. The same key gives the same
pseudonyms in every dataset.
"""

import json
import os
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from kafkascope_parsers.errors import UsageError

KEY_BYTES = 32


@dataclass(slots=True)
class KeyFile:
    """key: key of the pseudonyms; originals: pseudonym -> original, for those in the file."""

    path: Path
    key: bytes = field(repr=False)
    originals: dict[str, str] = field(default_factory=dict, repr=False)

    def add(self, found: Mapping[str, str]) -> None:
        """Notes the originals of pseudonyms. Raises UsageError."""
        new = {name: text for name, text in found.items() if name not in self.originals}
        self.originals |= new
        lines = (json.dumps({"pseudonym": name, "original": text}) for name, text in sorted(new.items()))
        try:
            with self.path.open("a", encoding="utf-8") as file:
                file.writelines(f"{line}\n" for line in lines)
        except OSError as error:
            raise UsageError(f"{self.path}: cannot be written: {error.strerror or error}") from None


def open_key_file(path: Path) -> KeyFile:
    """Opens the key file at a path; makes a new one where there is none. Raises UsageError."""
    try:
        made = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        return read_key_file(path)
    except OSError as error:
        raise UsageError(f"{path}: cannot be written: {error.strerror or error}") from None
    key = secrets.token_bytes(KEY_BYTES)
    with os.fdopen(made, "w", encoding="utf-8") as file:
        file.write(json.dumps({"key": key.hex()}) + "\n")
    return KeyFile(path, key)


def read_key_file(path: Path) -> KeyFile:
    """Reads the key file at a path. Raises UsageError where it does not exist, or is not a key file, with nothing of it
    in the message."""
    try:
        first, *rest = path.read_text("utf-8").splitlines() or [""]
        key = bytes.fromhex(json.loads(first)["key"])
        originals = {entry["pseudonym"]: entry["original"] for entry in map(json.loads, rest)}
    except OSError as error:
        raise UsageError(f"{path}: cannot be read: {error.strerror or error}") from None
    except (ValueError, KeyError, TypeError):
        raise UsageError(f"{path}: is no key file of kafkascope redact") from None
    if len(key) != KEY_BYTES:
        raise UsageError(f"{path}: is no key file of kafkascope redact")
    return KeyFile(path, key, originals)
