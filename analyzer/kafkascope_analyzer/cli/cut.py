"""`kafkascope cut`: cuts the relevant packets out as a small pcapng, for Wireshark. Never starts Spark."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kafkascope_analyzer.cli.exits import exit_codes
from kafkascope_analyzer.cli.messages import Messages
from kafkascope_analyzer.cli.options import From, Quiet, To
from kafkascope_parsers.errors import UsageError

if TYPE_CHECKING:
    from kafkascope_analyzer.cli.cut_piece import Wanted
    from kafkascope_analyzer.cut.selection import Selection

_Names = list[str] | None
MOST_MARGIN_NS = 86_400_000_000_000


@dataclass(frozen=True, kw_only=True)
class CutArguments:
    """The arguments of `kafkascope cut`."""

    captures: Annotated[
        list[str],
        typer.Argument(
            metavar="CAPTURE|OUT.kscope",
            help="A dataset, whose captures are then found automatically, or captures: files, directories, globs, "
            "or - for standard input. Without a dataset, times, packet numbers and addresses are searched in "
            "the packets; for any other selection the captures are read into a temporary dataset first.",
            show_default=False,
        ),
    ]
    out: Annotated[
        Path,
        typer.Option(
            "-o", "--out", metavar="PIECE.pcapng", help="File to write; - is standard output.", show_default=False
        ),
    ]
    dataset: Annotated[
        str | None,
        typer.Option("--dataset", metavar="OUT.kscope", help="The dataset that the captures were read into."),
    ] = None
    capture: Annotated[
        _Names,
        typer.Option(
            "--capture", metavar="PATH", help="The present place of a capture of the dataset, if it was moved."
        ),
    ] = None
    client: Annotated[
        _Names, typer.Option("--client", metavar="NAME", help="Connections of a client id or client_instance_id.")
    ] = None
    connection: Annotated[
        _Names,
        typer.Option("--connection", metavar="CONN_ID", help="A conn_id, or ip:port, ip or :port of either end."),
    ] = None
    api: Annotated[_Names, typer.Option("--api", metavar="NAME", help="Requests of this API.")] = None
    error: Annotated[
        _Names,
        typer.Option("--error", metavar="NAME", help="Requests answered with this error (name or code) anywhere."),
    ] = None
    request: Annotated[_Names, typer.Option("--request", metavar="REQUEST_ID", help="This request.")] = None
    group: Annotated[_Names, typer.Option("--group", metavar="NAME", help="Requests of this group.")] = None
    topic: Annotated[_Names, typer.Option("--topic", metavar="NAME", help="Requests that name this topic.")] = None
    finding: Annotated[
        _Names, typer.Option("--finding", metavar="ID", help="The requests and connections that prove this finding.")
    ] = None
    recovery: Annotated[
        _Names, typer.Option("--recovery", metavar="ID", help="The connections of this recovery, during it.")
    ] = None
    startup: Annotated[
        _Names, typer.Option("--startup", metavar="ID", help="The connections of this start, during it.")
    ] = None
    incident: Annotated[
        _Names,
        typer.Option(
            "--incident", metavar="ID", help="The requests and connections that prove this incident and its stalls."
        ),
    ] = None
    stall: Annotated[_Names, typer.Option("--stall", metavar="ID", help="The requests that prove this stall.")] = None
    packets: Annotated[
        str | None,
        typer.Option(
            "--packets",
            metavar="100-250,300",
            help="Packet numbers, as Wireshark counts them in a file; with several files as CAPTURE_ID:100-250.",
        ),
    ] = None
    start: From = None
    end: To = None
    margin: Annotated[
        str,
        typer.Option(
            "--margin",
            metavar="DURATION",
            help="Time to add before and after the selection, such as 500ms, 2s or 1min (a number alone: seconds),"
            " a day at most.",
        ),
    ] = "0"
    whole_connections: Annotated[
        bool,
        typer.Option(
            "--whole-connections",
            help="Every selected connection as a whole, even where only a part of it is selected.",
        ),
    ] = False
    comments: Annotated[
        bool,
        typer.Option(
            "--comments/--no-comments", help="Add comments to packets about the request or error that begins there."
        ),
    ] = True
    with_secrets: Annotated[
        bool,
        typer.Option(
            "--with-secrets",
            help="Copy packets as they were captured. Without it, messages that may contain passwords, tokens or "
            "configurations become zeros after their headers, as do bytes that did not decode.",
        ),
    ] = False
    redact: Annotated[
        Path | None,
        typer.Option(
            "--redact",
            metavar="KEYFILE",
            help="Replace addresses by pseudonyms and payload by zeros, for a file that strangers may see. Sizes, "
            "APIs, versions and correlation ids of messages stay. The key file resolves the pseudonyms "
            "(kafkascope resolve); a new one is made where there is none. Keep it secret.",
            show_default=False,
        ),
    ] = None
    tls_keylog: Annotated[
        _Names,
        typer.Option(
            "--tls-keylog",
            metavar="FILE",
            help="With --with-secrets: key log from which the secrets of the TLS sessions in the file are copied "
            "into it.",
            show_default=False,
        ),
    ] = None
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace the file if it is there already.")] = False
    quiet: Quiet = False


def cut(given: CutArguments) -> None:
    """Cut the packets that matter out of captures, as a small pcapng for Wireshark.

    Options of several kinds must all hold, several values of one kind any of them. A part of a connection comes with
    its handshake and ApiVersions, and begins where a message begins, so that Wireshark can read it. Packets are copied
    with the records in them. Messages that may contain secrets are blanked.
    """
    messages = Messages(quiet=given.quiet)
    with exit_codes(messages) as written:
        from kafkascope_analyzer.cli.cut_piece import cut_piece

        cut_piece(_wanted(given), given.out, messages, written, overwrite=given.overwrite)


def _wanted(given: CutArguments) -> "Wanted":
    """Returns the piece that the arguments describe. Raises UsageError."""
    from kafkascope_analyzer.cli.cut_piece import Wanted
    from kafkascope_analyzer.read.key_logs import key_log_places

    selection = _selection(given)
    if given.tls_keylog and not given.with_secrets:
        raise UsageError("--tls-keylog puts secrets into the piece: say --with-secrets too")
    if given.redact and given.with_secrets:
        raise UsageError("--redact takes out what --with-secrets leaves in: give only one of them")
    return Wanted(
        places=tuple(given.captures),
        dataset=given.dataset,
        moved=tuple(given.capture or ()),
        selection=selection,
        comments=given.comments and not given.redact,
        with_secrets=given.with_secrets,
        redact=given.redact,
        key_logs=key_log_places(given.tls_keylog or ()),
    )


def _selection(given: CutArguments) -> "Selection":
    """Returns the selection of packets in the arguments. Raises UsageError."""
    from kafkascope_analyzer.cut.packet_numbers import parse_packets
    from kafkascope_analyzer.cut.selection import Selection
    from kafkascope_analyzer.dataset.durations import parse_moment

    return Selection(
        clients=tuple(given.client or ()),
        connections=tuple(given.connection or ()),
        apis=tuple(given.api or ()),
        errors=tuple(given.error or ()),
        requests=tuple(given.request or ()),
        groups=tuple(given.group or ()),
        topics=tuple(given.topic or ()),
        findings=tuple(given.finding or ()),
        recoveries=tuple(given.recovery or ()),
        startups=tuple(given.startup or ()),
        incidents=tuple(given.incident or ()),
        stalls=tuple(given.stall or ()),
        packets=parse_packets(given.packets) if given.packets is not None else (),
        start=parse_moment(given.start, "--from") if given.start is not None else None,
        end=parse_moment(given.end, "--to") if given.end is not None else None,
        margin_ns=_margin(given.margin),
        whole_connections=given.whole_connections,
    )


def _margin(text: str) -> int:
    """Returns the nanoseconds of --margin. Raises UsageError."""
    from kafkascope_analyzer.dataset.durations import parse_duration

    margin_ns = parse_duration(text, "--margin")
    if margin_ns > MOST_MARGIN_NS:
        raise UsageError(f"--margin {text}: a day (24h) is the most")
    return margin_ns
