"""Options that several commands share."""

from enum import Enum
from pathlib import Path
from typing import Annotated, Any

import typer


class Format(str, Enum):  # noqa: UP042 - typer's choices want the value as text on every supported Python
    """The format in which results are written."""

    rich = "rich"
    plain = "plain"
    json = "json"


class Severity(str, Enum):  # noqa: UP042 - as above
    """The severity of a finding."""

    info = "info"
    warning = "warning"
    error = "error"


Captures = Annotated[
    list[str],
    typer.Argument(
        metavar="CAPTURE",
        help="pcap or pcapng files, also compressed; directories, globs, or - for standard input. Paths, or URIs: s3, "
        "gs, abfs, hdfs, file; https for single files.",
    ),
]
Out = Annotated[
    str | None,
    typer.Option(
        "-o",
        "--out",
        metavar="OUT.kscope",
        help="Dataset to write: a folder, or a URI as s3://bucket/x.kscope. [default: the first input's name with "
        ".kscope, here]",
        show_default=False,
    ),
]
Overwrite = Annotated[bool, typer.Option("--overwrite", help="Replace the dataset if it is there already.")]
Append = Annotated[
    bool,
    typer.Option(
        "--append",
        help="Extend the dataset of -o by the captures that it does not have yet; where there is none, make "
        "one that can be extended.",
    ),
]
Quiet = Annotated[bool, typer.Option("-q", "--quiet", help="Print no progress and no notes; errors are still printed.")]
FormatOption = Annotated[
    Format, typer.Option("--format", help="How the result is written on standard output: rich, plain (ASCII) or json.")
]
Master = Annotated[
    str | None,
    typer.Option(
        "--master",
        metavar="URL",
        help="Spark master, as spark://host:7077. [default: this machine, all cores]",
        show_default=False,
    ),
]
Remote = Annotated[
    str | None,
    typer.Option(
        "--remote",
        metavar="URL",
        help="Spark Connect server, as sc://host:15002. [default: SPARK_REMOTE, if it is set]",
        show_default=False,
    ),
]
Stall = Annotated[
    str | None,
    typer.Option(
        "--stall",
        metavar="DURATION",
        help="Shortest wait that is a stall, such as 500ms, 2s or 1min (a number alone: seconds); at least "
        "500ms. [default: 1s]",
        show_default=False,
    ),
]
TlsKeyLogs = Annotated[
    list[str] | None,
    typer.Option(
        "--tls-keylog",
        metavar="FILE",
        help="Key log of TLS sessions, to decrypt them: a file as programs write it to SSLKEYLOGFILE, also compressed, "
        "or a directory of such files; a path, or a URI as of captures; may be repeated. The file that the environment "
        "variable SSLKEYLOGFILE names, and the secrets in pcapng files, are used too, but not on Spark.",
        show_default=False,
    ),
]
Jobs = Annotated[
    int | None,
    typer.Option(
        "--jobs",
        min=1,
        max=256,
        metavar="N",
        help="Number of processes, or of buckets on Spark; results are the same for any number. [default: "
        "number of cores]",
        show_default=False,
    ),
]
MaxMemory = Annotated[
    str | None,
    typer.Option(
        "--max-memory",
        metavar="SIZE",
        help="Most memory of each process, 512M or more; some 250,000 connections in a process may need more. "
        "[default: 1G]",
        show_default=False,
    ),
]
Temporary = Annotated[
    Path | None,
    typer.Option(
        "--temporary",
        metavar="DIRECTORY",
        help="Local directory for temporary files, about as large as the dataset. [default: TMPDIR, or the system's]",
        show_default=False,
    ),
]
RecordBatches = Annotated[
    bool,
    typer.Option(
        "--record-batches",
        help="Also write the table record_batches: a row per record batch, with its checksum verified.",
    ),
]
Records = Annotated[
    bool,
    typer.Option("--records", help="Open the batches, and also write the table records: a row per record. Slow."),
]
Payloads = Annotated[
    bool, typer.Option("--payloads", help="With --records: keys, values and header values too. They may be secret.")
]
Hosts = Annotated[
    Path | None,
    typer.Option(
        "--hosts",
        metavar="FILE",
        help="Names of brokers and their addresses, in hosts syntax, where the capture has no DNS answers.",
        show_default=False,
    ),
]
PointsOption = Annotated[
    str | None,
    typer.Option(
        "--capture-points",
        metavar="auto|FILE",
        help="Captures of several hosts that saw the same connections: each counts once, on one clock. auto: the "
        "directory of a capture names its point; FILE: lines `point: glob`.",
        show_default=False,
    ),
]
FailOn = Annotated[
    Severity | None,
    typer.Option(
        "--fail-on",
        help="End with exit code 1 where anything of this severity or worse counts towards the verdict: an "
        "incident, stall, failed start or finding.",
        show_default=False,
    ),
]
Ignore = Annotated[
    list[str] | None,
    typer.Option(
        "--ignore",
        metavar="RULE",
        help="A rule whose findings are neither counted nor shown; may be repeated. kafkascope rules lists the rules.",
        show_default=False,
    ),
]
From = Annotated[
    str | None,
    typer.Option(
        "--from",
        metavar="TIME",
        help="Only from this time on: 2026-11-21T14:22:07.5Z (UTC without a zone), or +12.5s after the start.",
    ),
]
To = Annotated[str | None, typer.Option("--to", metavar="TIME", help="Only up to this time, written in the same way.")]
DatasetUri = Annotated[
    str,
    typer.Argument(
        metavar="OUT.kscope", help="A dataset that kafkascope wrote: its folder, or its URI.", show_default=False
    ),
]


def _form(what: str) -> Any:
    return typer.Option(metavar="FILE", help=f"{what}; - is standard output.", show_default=False)


Html = Annotated[Path | None, _form("Write the report as one HTML file, which needs no network")]
Markdown = Annotated[Path | None, _form("Write it as Markdown, for an issue or a chat")]
Json = Annotated[Path | None, _form("Write it as JSON, as report.json holds it")]
Perfetto = Annotated[
    Path | None, _form("Write clients, requests, incidents and counters as a trace for ui.perfetto.dev")
]
Sarif = Annotated[
    Path | None, _form("Write incidents and findings as SARIF 2.1.0, each at a packet of its capture, for code hosts")
]
Junit = Annotated[Path | None, _form("Write incidents and findings as JUnit's XML, for the tests of a pipeline")]
OverwriteFiles = Annotated[bool, typer.Option("--overwrite", help="Replace files that are there already.")]
