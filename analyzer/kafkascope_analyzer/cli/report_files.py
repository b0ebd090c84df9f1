"""Writes a report to files: HTML, Markdown, JSON, Perfetto, SARIF, JUnit. All of them appear, or none.

Everything that can be checked before the work is checked before it. `-` is standard output, for at most one of them.
"""

import os
import re
import shutil
import sys
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING

from kafkascope_analyzer.cli.options import Html, Junit, Markdown, Perfetto, Sarif
from kafkascope_parsers.errors import UsageError

if TYPE_CHECKING:
    from kafkascope_analyzer.dataset.dataset import Dataset
    from kafkascope_analyzer.dataset.failed_parts import FailedParts
    from kafkascope_analyzer.read.place import CapturePlace
    from kafkascope_analyzer.report.model.clusters import ClusterReports
    from kafkascope_analyzer.report.model.report import Report

STANDARD_OUTPUT = Path("-")


@dataclass(frozen=True, slots=True)
class ReportFiles:
    """The file for each form of the report; None where it is not requested."""

    html: Path | None = None
    markdown: Path | None = None
    json: Path | None = None
    perfetto: Path | None = None
    sarif: Path | None = None
    junit: Path | None = None

    @property
    def wanted(self) -> list[tuple[str, Path]]:
        """(form, place) of the requested files."""
        places = [(field.name, getattr(self, field.name)) for field in fields(self)]
        return [(name, place) for name, place in places if place is not None]

    @property
    def on_standard_output(self) -> bool:
        """Whether one of the forms goes to standard output, so that nothing else may."""
        return any(place == STANDARD_OUTPUT for _, place in self.wanted)

    def check(self, *, overwrite: bool, captures: "Iterable[CapturePlace]" = ()) -> None:
        """Raises UsageError where a file cannot or must not be written: a capture that is read is never overwritten."""
        places = [place if place == STANDARD_OUTPUT else place.absolute() for _, place in self.wanted]
        for name, place in self.wanted:
            if places.count(place if place == STANDARD_OUTPUT else place.absolute()) > 1:
                raise UsageError(f"--{name} {place}: two forms of the report cannot go to the same place")
            if place != STANDARD_OUTPUT:
                _check_place(name, place, overwrite=overwrite)
            if place.exists() and any(c.local and c.local.exists() and place.samefile(c.local) for c in captures):
                raise UsageError(f"--{name} {place}: is a capture that is being read; give another name")
        if self.perfetto is not None:
            _check_perfetto(self.perfetto)


@dataclass(frozen=True, kw_only=True)
class FormOptions:
    """The options with files for forms of the report."""

    html: Html = None
    markdown: Markdown = None
    perfetto: Perfetto = None
    sarif: Sarif = None
    junit: Junit = None

    @property
    def forms(self) -> ReportFiles:
        """The requested files."""
        return ReportFiles(
            html=self.html, markdown=self.markdown, perfetto=self.perfetto, sarif=self.sarif, junit=self.junit
        )


def _check_place(name: str, place: Path, *, overwrite: bool) -> None:
    if place.exists() and not place.is_file():
        raise UsageError(f"--{name} {place}: is there and is not a file; give another name")
    if place.exists() and not overwrite:
        raise UsageError(f"--{name} {place}: is there already; --overwrite replaces it")
    if not place.absolute().parent.is_dir():
        raise UsageError(f"--{name} {place}: the directory it should go into is not there")


def _check_perfetto(place: Path) -> None:
    if place == STANDARD_OUTPUT and sys.stdout.isatty():
        raise UsageError("a trace cannot be shown on a terminal; write to a file, and open it in ui.perfetto.dev")


def write_report_files(
    dataset: "Dataset", model: "Report | ClusterReports", forms: ReportFiles, failed_parts: "FailedParts"
) -> list[tuple[str, Path]]:
    """Writes the forms to temporary files beside their places, and renames them when the last one is complete. Returns
    (form, place) of the written files: with several clusters a page and a trace for each, named after FILE and the
    cluster. Raises UsageError, unwritable; then no file is written. failed_parts: collects forms that cannot be made
    because of a defect; the others are written.
    """
    with ExitStack() as cleaning:
        done: list[tuple[Path, _File]] = []
        for file in _files(dataset, model, forms):
            work = _work_for(file.place, cleaning)
            form = failed_parts.part("form of the report", f"--{file.form} {file.place}")
            try:
                with form:
                    _write(file, work)
            except OSError as error:
                raise UsageError(f"--{file.form} {file.place}: cannot be written: {error.strerror or error}") from error
            if not form.has_failed:
                done.append((work, file))
        for work, file in done:
            if file.place == STANDARD_OUTPUT:
                _to_standard_output(work)
            else:
                os.replace(work, file.place)
    return [(file.form, file.place) for _, file in done]


@dataclass(frozen=True, slots=True)
class _File:
    """A file to write: the form, its place, and the data from which it is made."""

    form: str
    place: Path
    dataset: "Dataset"
    model: "Report | ClusterReports"


def _files(dataset: "Dataset", model: "Report | ClusterReports", forms: ReportFiles) -> Iterator[_File]:
    from kafkascope_analyzer.report.model.clusters import ClusterReports

    for form, place in forms.wanted:
        if form in _OF_ONE_CLUSTER and isinstance(model, ClusterReports):
            for overview, report in zip(model.clusters, model.reports, strict=True):
                of_cluster = dataset.of_cluster(overview.cluster)
                yield _File(form, _place_of_cluster(form, place, overview.cluster), of_cluster, report)
        else:
            yield _File(form, place, dataset, model)


_OF_ONE_CLUSTER = ("html", "perfetto")
_NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9_.-]+")


def _place_of_cluster(form: str, place: Path, cluster: str) -> Path:
    """Returns the file of a cluster beside the one that the user named. Raises UsageError for standard output."""
    if place == STANDARD_OUTPUT:
        raise UsageError(f"--{form} -: each of several clusters has a file of its own: choose one with --cluster")
    return place.with_name(f"{place.stem}-{_NOT_IN_NAMES.sub('_', cluster)}{place.suffix}")


def _work_for(place: Path, cleaning: ExitStack) -> Path:
    """Returns a file beside the place that is removed at the end; for standard output in the temporary directory."""
    if place == STANDARD_OUTPUT:
        from kafkascope_analyzer.dataset.temporary_folders import temporary_folder

        return cleaning.enter_context(temporary_folder("report")) / "report"
    work = place.with_name(f".{place.name}.partial")
    cleaning.callback(work.unlink, missing_ok=True)
    return work


def _to_standard_output(work: Path) -> None:
    sys.stdout.flush()
    with work.open("rb") as file:
        shutil.copyfileobj(file, sys.stdout.buffer)
    sys.stdout.buffer.flush()


def _write(file: _File, work: Path) -> None:
    from kafkascope_analyzer.report.model.report import Report

    if file.form == "html" and isinstance(file.model, Report):
        from kafkascope_analyzer.report.html import write_html
        from kafkascope_analyzer.report.page_model.page_model import page_model

        write_html(file.model, page_model(file.dataset, file.model), work)
    elif file.form == "markdown":
        from kafkascope_analyzer.report.markdown.clusters import markdown_of

        work.write_text(markdown_of(file.model), encoding="utf-8")
    elif file.form == "sarif":
        from kafkascope_analyzer.report.sarif import sarif_of

        work.write_text(sarif_of(file.model), encoding="ascii")
    elif file.form == "junit":
        from kafkascope_analyzer.report.junit import junit_of

        work.write_text(junit_of(file.model), encoding="utf-8")
    elif file.form == "json":
        from kafkascope_analyzer.report.plain import to_json

        work.write_text(to_json(file.model), encoding="ascii")
    else:
        from kafkascope_analyzer.report.trace.perfetto import write_perfetto
        from kafkascope_analyzer.report.trace_model import trace_model

        with trace_model(file.dataset) as model_of_trace:
            write_perfetto(model_of_trace, work)
