"""Embeds the secrets of a piece's own TLS sessions, so that Wireshark and kafkascope can decrypt it: a Decryption
Secrets Block of pcapng, before the packets. Sessions are found by the client randoms of hellos in the piece.
"""

import mmap
import re
import shutil
import struct
from collections.abc import Sequence
from pathlib import Path

from kafkascope_analyzer.read.key_logs import key_log_lines
from kafkascope_analyzer.read.place import CapturePlace

_CLIENT_HELLO = re.compile(rb"\x16\x03[\x00-\x03]..\x01...\x03[\x00-\x03](.{32})", re.DOTALL)
_SECRETS_BLOCK, _TLS_KEY_LOG = 0x0A, 0x544C534B
_LENGTH_AT = 4


def embed_secrets(piece: Path, key_logs: Sequence[CapturePlace], scratch: Path) -> int:
    """Embeds the lines of the key logs that belong to sessions of a pcapng file. Returns the number of lines. scratch:
    a folder for a temporary file that only the owner can read. Raises UsageError where a key log cannot be read."""
    with piece.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        randoms = {match[1].hex().encode() for match in _CLIENT_HELLO.finditer(data)}
    lines = [line for line in key_log_lines(key_logs) if line.split()[1:2] and line.split()[1].lower() in randoms]
    if not lines:
        return 0
    text = b"\n".join(dict.fromkeys(lines)) + b"\n"
    length = 20 + len(text) + -len(text) % 4
    block = struct.pack("<IIII", _SECRETS_BLOCK, length, _TLS_KEY_LOG, len(text))
    block += text + bytes(-len(text) % 4) + struct.pack("<I", length)
    whole = scratch / "with-secrets.pcapng"
    with piece.open("rb") as source, whole.open("wb") as target:
        head = source.read(_LENGTH_AT + 4)
        target.write(head + source.read(int.from_bytes(head[_LENGTH_AT:], "little") - len(head)) + block)
        shutil.copyfileobj(source, target)
    with whole.open("rb") as source, piece.open("wb") as target:
        shutil.copyfileobj(source, target)
    whole.unlink()
    return len(set(lines))
