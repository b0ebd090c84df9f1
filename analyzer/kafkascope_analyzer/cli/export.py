"""`kafkascope export`: writes a dataset for other systems, on standard output. Starts no Spark."""

import sys
from collections.abc import Iterator
from enum import Enum
from typing import TYPE_CHECKING, Annotated

import typer

from kafkascope_analyzer.cli.clusters import Cluster, open_dataset
from kafkascope_analyzer.cli.exits import exit_codes
from kafkascope_analyzer.cli.options import DatasetUri
from kafkascope_parsers.errors import UsageError

if TYPE_CHECKING:
    from kafkascope_analyzer.dataset.dataset import Dataset


class Form(str, Enum):  # noqa: UP042 - typer's choices want the value as text on every supported Python
    """The forms of an export."""

    openmetrics = "openmetrics"
    otlp = "otlp"
    grafana = "grafana"
    zeek = "zeek"
    delta = "delta"
    iceberg = "iceberg"


SERIES = (Form.openmetrics, Form.grafana)
LAKES = (Form.delta, Form.iceberg)


def export(
    form: Annotated[
        Form,
        typer.Argument(
            metavar="FORM",
            help="openmetrics (series for Prometheus), otlp (spans for OpenTelemetry, as JSON lines), grafana (a "
            "dashboard of these series), zeek (a kafka.log), delta or iceberg (tables of a lakehouse).",
            show_default=False,
        ),
    ],
    dataset: DatasetUri,
    cluster: Cluster = None,
    step: Annotated[
        int | None,
        typer.Option(
            "--step",
            metavar="SECONDS",
            min=1,
            max=86_400,
            help="For openmetrics and grafana: time between two samples. [default: 1 to 3600, so that 600 cover "
            "the capture]",
            show_default=False,
        ),
    ] = None,
    to: Annotated[
        str | None,
        typer.Option(
            "--to",
            metavar="PLACE",
            help="For delta: a folder or URI. For iceberg: a folder, or CATALOG.NAMESPACE of pyiceberg's "
            "configuration.",
            show_default=False,
        ),
    ] = None,
    exchanges: Annotated[
        bool, typer.Option("--exchanges", help="For otlp: also a span for each request with its response.")
    ] = False,
) -> None:
    """Write a dataset for other systems: Prometheus, OpenTelemetry, Grafana, Zeek, Delta Lake, Iceberg.

    Times are the capture's own. docs/exports.md says how to load each.
    """
    with exit_codes() as written:
        if step is not None and form not in SERIES:
            raise UsageError("--step is for openmetrics and grafana")
        if exchanges and form is not Form.otlp:
            raise UsageError("--exchanges is for otlp")
        if (to is None) == (form in LAKES):
            raise UsageError("delta and iceberg need --to PLACE" if to is None else "--to is for delta and iceberg")
        opened = open_dataset(dataset, cluster)
        if to is not None:
            written.clause = f"run it again: tables of {to} may lack the dataset, or have it"
            _export_to_lake(form, opened, to)
            return
        for part in _parts(form, opened, step, exchanges):
            sys.stdout.write(part)


def _export_to_lake(form: Form, dataset: "Dataset", to: str) -> None:
    from kafkascope_analyzer.dataset.installed import installed
    from kafkascope_analyzer.export.lake import Lake, export_to

    lake: Lake
    if form is Form.delta:
        installed("deltalake", "delta")
        from kafkascope_analyzer.export.delta import DeltaLake

        lake = DeltaLake(to)
    else:
        installed("pyiceberg", "iceberg")
        from kafkascope_analyzer.export.iceberg import IcebergLake

        lake = IcebergLake(to)
    for name in export_to(lake, dataset):
        sys.stdout.write(f"{name}\n")


def _parts(form: Form, dataset: "Dataset", step: int | None, exchanges: bool) -> Iterator[str]:
    from kafkascope_analyzer.sql.database import Database

    if form is Form.grafana:
        from kafkascope_analyzer.export.grafana import grafana
        from kafkascope_analyzer.export.series import default_step

        yield grafana(dataset, step or default_step(dataset))
        return
    with Database(dataset) as database:
        if form is Form.openmetrics:
            from kafkascope_analyzer.export.openmetrics import openmetrics
            from kafkascope_analyzer.export.series import default_step

            yield from openmetrics(database, step or default_step(dataset))
        elif form is Form.zeek:
            from kafkascope_analyzer.export.zeek import zeek_log

            yield from zeek_log(database)
        else:
            from kafkascope_analyzer.export.otlp import otlp

            yield from otlp(database, exchanges=exchanges)
