"""The commands that a report prints: how to cut packets out, open the resulting file, and read on.

They name the dataset OUT.kscope, so that report.json does not depend on where the dataset is. Reports for people
replace that name (`at_place`).
"""

import shlex
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import fields, is_dataclass, replace
from typing import TypeVar, cast

from kafkascope_analyzer.dataset.durations import moment_text
from kafkascope_analyzer.dataset.restriction import Restriction

SOME_DATASET = "OUT.kscope"
KAFKA_PORT = 9092
"""The port on which Wireshark decodes Kafka without an option."""
T = TypeVar("T")
_COMMANDS = ("cut", "explain", "report_all")


def cut_command(option: str, identities: Iterable[str], piece: str) -> str:
    """Returns the command that cuts packets out: `--OPTION ID` for each identity, into PIECE.pcapng. The file is named
    after its content, so that the commands of a report do not overwrite each other's files."""
    wanted = " ".join(f"--{option} {shlex.quote(identity)}" for identity in identities)
    return f"kafkascope cut {SOME_DATASET} {wanted} -o {piece}.pcapng"


def wireshark_command(piece: str, ports: Iterable[int | None] = ()) -> str:
    """Returns the command that opens PIECE.pcapng; see `open_in_wireshark`."""
    return open_in_wireshark(f"{piece}.pcapng", ports)


def open_in_wireshark(file: str, ports: Iterable[int | None] = ()) -> str:
    """Returns the command that opens the file in Wireshark. Wireshark decodes Kafka on ports other than KAFKA_PORT only
    with -d."""
    others = sorted({port for port in ports if port is not None and port != KAFKA_PORT})
    return " ".join([f"wireshark {file}", *(f"-d tcp.port=={port},kafka" for port in others)])


def explain_command(identity: str, restriction: Restriction | None = None) -> str:
    """Returns the command that explains the thing with this id, within the same restriction."""
    return " ".join(["kafkascope explain", SOME_DATASET, shlex.quote(identity), *_options(restriction)])


def report_command(restriction: Restriction | None, *options: str) -> str:
    """Returns the command that prints the report with these options, within the same restriction."""
    return " ".join(["kafkascope report", SOME_DATASET, *_options(restriction), *options])


def _options(restriction: Restriction | None) -> Iterator[str]:
    """Yields the options that restrict a command, quoted for a shell."""
    if restriction is None:
        return
    kinds = (
        ("--client", restriction.clients),
        ("--node", restriction.nodes),
        ("--group", restriction.groups),
        ("--topic", restriction.topics),
    )
    yield from (f"{option} {shlex.quote(str(name))}" for option, names in kinds for name in names)
    times = (("--from", restriction.from_ns), ("--to", restriction.to_ns))
    yield from (f"{option} {moment_text(ns)}" for option, ns in times if ns is not None)


def at_place(model: T, place: str) -> T:
    """Returns the model with the dataset's place, quoted for a shell, in all of its commands."""
    return cast("T", _at_place(model, place))


def _at_place(value: object, place: str) -> object:
    if isinstance(value, tuple | list):
        return type(value)(_at_place(part, place) for part in value)
    if isinstance(value, Mapping):
        return {key: _at_place(part, place) for key, part in value.items()}
    if not is_dataclass(value) or isinstance(value, type):
        return value
    changed = {}
    for field in fields(value):
        before = getattr(value, field.name)
        is_command = field.name in _COMMANDS and isinstance(before, str)
        after = _named(before, place) if is_command else _at_place(before, place)
        if after != before:
            changed[field.name] = after
    return replace(value, **changed) if changed else value


def _named(command: str, place: str) -> str:
    return command.replace(f" {SOME_DATASET} ", f" {shlex.quote(place)} ", 1)
