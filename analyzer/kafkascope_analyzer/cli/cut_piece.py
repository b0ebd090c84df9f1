"""The steps of `kafkascope cut`: what to read, with or without a dataset, and an output file that appears only when it
is complete."""

import os
import shlex
import shutil
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

from kafkascope_analyzer.cli.clusters import open_dataset
from kafkascope_analyzer.cli.exits import NOTHING_WRITTEN, Written
from kafkascope_analyzer.cli.messages import Messages
from kafkascope_analyzer.cli.progress import bar
from kafkascope_analyzer.cut.blanked import blank_secrets
from kafkascope_analyzer.cut.brokers import broker_names, kafka_ports
from kafkascope_analyzer.cut.copy import Copied, copy_packets
from kafkascope_analyzer.cut.flows import Endpoint, parse_endpoint
from kafkascope_analyzer.cut.originals import Original, originals_of
from kafkascope_analyzer.cut.plan import Plan, plan_on_dataset, wider, window_of
from kafkascope_analyzer.cut.selection import Selection
from kafkascope_analyzer.cut.session_secrets import embed_secrets
from kafkascope_analyzer.dataset.dataset import Dataset
from kafkascope_analyzer.dataset.dataset_uri import is_dataset
from kafkascope_analyzer.dataset.temporary_folders import temporary_folder
from kafkascope_analyzer.ingest.run import ingest
from kafkascope_analyzer.read.inputs import expand_inputs
from kafkascope_analyzer.read.place import STANDARD_INPUT, CapturePlace
from kafkascope_analyzer.read.series import in_time_order
from kafkascope_analyzer.read.source import iter_blocks
from kafkascope_analyzer.report.commands import open_in_wireshark
from kafkascope_analyzer.report.formatting import absolute, count, list_of, size, span
from kafkascope_analyzer.workers.engine import Progress
from kafkascope_parsers.capture.pcapng_writer import Section
from kafkascope_parsers.errors import UsageError

STANDARD_OUTPUT = Path("-")
MOST_NAMES = 5
"""Most input files that the section header names."""
_PEEK_BYTES = 1 << 16


@dataclass(frozen=True, slots=True)
class Wanted:
    """The user's request: places as given, the dataset if one is named, the current places of its captures, and the
    selection. redact: the key file of pseudonyms, where the piece is redacted."""

    places: tuple[str, ...]
    dataset: str | None
    moved: tuple[str, ...]
    selection: Selection
    comments: bool
    with_secrets: bool
    redact: Path | None = None
    key_logs: tuple[CapturePlace, ...] = ()


def cut_piece(wanted: Wanted, out: Path, messages: Messages, written: Written, *, overwrite: bool) -> None:
    """Writes the piece and prints what is in it. Raises CaptureError, UsageError; then nothing is written."""
    if wanted.selection.is_empty:
        raise UsageError("say what to cut: --client, --connection, --api, --error, --from and --to, --packets, … (-h)")
    _check_out(out, overwrite=overwrite)
    if out != STANDARD_OUTPUT:
        written.clause = NOTHING_WRITTEN
    with temporary_folder("cut") as scratch:
        dataset, originals, plan = _prepared(wanted, scratch, messages)
        _check_not_an_input(out, originals)
        names = {} if dataset is None else broker_names(dataset)
        section = Section(f"kafkascope {version('kafkascope')}", _comment(wanted, originals), names)
        ports = frozenset() if dataset is None else kafka_ports(dataset)
        total = sum(original.place.size_bytes() for original in originals)
        with _appearing(out, scratch) as piece:
            whole = scratch / "whole.pcapng" if wanted.redact else piece
            with whole.open("wb") as file, bar("cutting", quiet=messages.quiet) as shown:
                copied = copy_packets(originals, plan, file, section, lambda done: shown.at(done, total))
            if not copied.n_packets:
                raise UsageError(f"no packet matches {wanted.selection.words()}: nothing was written")
            n_secrets = embed_secrets(piece, wanted.key_logs, scratch) if wanted.key_logs else 0
            made = None if wanted.with_secrets else _ingested([whole], scratch / "piece.kscope")
            n_blanked = blank_secrets(piece, made) if made is not None and not wanted.redact else 0
            n_left_out = _redact(whole, piece, made, wanted.redact) if made is not None and wanted.redact else 0
    if out != STANDARD_OUTPUT:
        written.clause = f"{out} is whole"
    if wanted.key_logs:
        messages.note(f"{count(n_secrets, 'secret')} of TLS sessions are in it: who has it reads what was said")
    if n_blanked:
        messages.note(
            f"{count(n_blanked, 'message')} that may hold secrets, or did not decode, became zeros; "
            "--with-secrets copies packets as they are"
        )
    if wanted.redact:
        messages.note(f"{wanted.redact} resolves its pseudonyms: do not give it away")
    if n_left_out:
        messages.note(f"{count(n_left_out, 'packet')} that came twice, or are not TCP, were left out")
    _say(copied, out, ports, messages)


def _redact(whole: Path, piece: Path, dataset: Dataset, key_path: Path) -> int:
    """Writes a redacted copy of a piece, and notes the originals of its pseudonyms in the key file. dataset: the
    piece's own. Returns the number of packets that were left out."""
    from kafkascope_analyzer.cut.message_heads import heads_of
    from kafkascope_analyzer.cut.redacted import write_redacted
    from kafkascope_analyzer.redact.key_file import open_key_file

    key_file, tool = open_key_file(key_path), f"kafkascope {version('kafkascope')}"
    section = Section(tool, f"cut and redacted by {tool}")
    with piece.open("wb") as file:
        done = write_redacted(whole, heads_of(dataset), file, section, key_file.key)
    key_file.add(done.originals)
    if not done.n_packets:
        raise UsageError("no packet of the piece is TCP: nothing is left when it is redacted")
    return done.n_left_out


def _prepared(wanted: Wanted, scratch: Path, messages: Messages) -> tuple[Dataset | None, list[Original], Plan]:
    """Returns the dataset, where there is one; the captures to read, in order, and the plan."""
    selection = wanted.selection
    dataset, captures = _dataset_and_captures(wanted)
    if dataset is None and _needs_dataset(selection):
        dataset = _temporary_dataset(captures, selection, scratch, messages)
    if dataset is None:
        originals = [Original(place, i) for i, place in enumerate(in_time_order(captures))]
        plan = Plan(selection.packets or None, _window(selection, originals), _endpoints(selection))
    else:
        originals = originals_of(dataset, captures)
        first_ns, _ = dataset.capture_span or (0, 0)
        plan = plan_on_dataset(dataset, selection, window_of(selection, first_ns), comment=wanted.comments)
    if len(originals) > 1 and any(numbers.capture_id is None for numbers in selection.packets):
        names = ", ".join(f"{o.capture_id} is {o.place.name}" for o in originals[:MOST_NAMES])
        raise UsageError(f"--packets with several captures: say which, as CAPTURE_ID:100-250 ({names})")
    return dataset, originals, plan


def _dataset_and_captures(wanted: Wanted) -> tuple[Dataset | None, list[CapturePlace]]:
    """Returns the dataset, from --dataset or as the only place, and the named captures."""
    named = [place != "-" and is_dataset(place) for place in wanted.places]
    if any(named) and (len(named) > 1 or wanted.dataset):
        raise UsageError("give one dataset, or captures with --dataset OUT.kscope")
    if any(named):
        return open_dataset(wanted.places[0]), expand_inputs(wanted.moved) if wanted.moved else []
    if wanted.moved:
        raise UsageError("--capture says where a dataset's capture is: give the dataset")
    captures = expand_inputs(wanted.places)
    if wanted.dataset is not None and STANDARD_INPUT in captures:
        raise UsageError("standard input cannot be proved to be the dataset's capture: give the file")
    return open_dataset(wanted.dataset) if wanted.dataset else None, captures


def _needs_dataset(selection: Selection) -> bool:
    """Whether the selection needs more than packets: anything but times, packet numbers and addresses."""
    addresses = [parse_endpoint(name) for name in selection.connections]
    others = selection.clients or selection.names_stories
    return bool(selection.names_requests or others or selection.whole_connections or None in addresses)


def _temporary_dataset(
    captures: list[CapturePlace], selection: Selection, scratch: Path, messages: Messages
) -> Dataset:
    if selection.names_stories:
        raise UsageError(
            "--incident, --stall, --finding, --recovery and --startup need a dataset with stories: kafkascope analyze "
            "CAPTURE -o OUT.kscope"
        )
    if STANDARD_INPUT in captures:
        raise UsageError("standard input can be read only once, and this selection takes two passes: give a file")
    messages.note("reading the captures into a temporary dataset; kafkascope ingest keeps one")
    with bar("reading captures", quiet=messages.quiet) as shown:
        return _ingested(captures, scratch / "captures.kscope", shown.at)


def _ingested(captures: Sequence[CapturePlace | Path], out: Path, progress: Progress | None = None) -> Dataset:
    """Ingests some captures into a dataset in a temporary folder."""
    ingest(captures, out, progress=progress)
    return Dataset.open(out)


def _window(selection: Selection, originals: list[Original]) -> tuple[int, int] | None:
    """Returns --from and --to without a dataset: offsets count from the first packet of the first file."""
    moments = [moment for moment in (selection.start, selection.end) if moment]
    if not moments:
        return None
    first_ns = 0
    if any(moment.relative for moment in moments):
        if originals[0].place == STANDARD_INPUT:
            raise UsageError("offsets from the first packet need a file; with standard input give whole times")
        first_ns = next((int(block.packets.ts_ns[0]) for block in iter_blocks(originals[0].place, _PEEK_BYTES)), 0)
    return wider(window_of(selection, first_ns), selection.margin_ns)


def _endpoints(selection: Selection) -> tuple[Endpoint, ...] | None:
    found = (parse_endpoint(name) for name in selection.connections)
    return tuple(endpoint for endpoint in found if endpoint) or None


def _check_out(out: Path, *, overwrite: bool) -> None:
    if out == STANDARD_OUTPUT:
        if sys.stdout.isatty():
            raise UsageError(
                "a pcapng cannot be shown on a terminal; write to a file, or pipe it into wireshark -k -i -"
            )
        return
    if out.exists() and not out.is_file():
        raise UsageError(f"{out}: is there and is not a file; give another name with -o")
    if out.exists() and not overwrite:
        raise UsageError(f"{out}: is there already; --overwrite replaces it, -o gives another name")
    if not out.absolute().parent.is_dir():
        raise UsageError(f"{out}: the directory it should go into is not there")


def _check_not_an_input(out: Path, originals: list[Original]) -> None:
    if out.exists() and any(_is_same_file(out, original.place) for original in originals):
        raise UsageError(f"{out}: is a capture that is being cut; give another name with -o")


def _is_same_file(out: Path, place: CapturePlace) -> bool:
    return place.local is not None and place.local.exists() and out.samefile(place.local)


@contextmanager
def _appearing(out: Path, scratch: Path) -> Iterator[Path]:
    """Yields a file to write, which gets its name, or is copied to standard output, at the end of the block; an error
    or Ctrl-C leaves nothing."""
    to_stdout = out == STANDARD_OUTPUT
    work = scratch / "piece.pcapng" if to_stdout else out.with_name(f".{out.name}.partial")
    try:
        yield work
        if to_stdout:
            with work.open("rb") as file:
                shutil.copyfileobj(file, sys.stdout.buffer)
        else:
            os.replace(work, out)
    except BrokenPipeError:
        raise
    except OSError as error:
        raise UsageError(f"{out}: cannot be written: {error.strerror or error}") from error
    finally:
        work.unlink(missing_ok=True)


def _comment(wanted: Wanted, originals: list[Original]) -> str:
    """Returns the comment of the section header: how the piece was made, and from which files."""
    names = list_of([original.place.name for original in originals], MOST_NAMES)
    return f"cut by kafkascope {version('kafkascope')}: {wanted.selection.words()}; out of {names}"


def _say(copied: Copied, out: Path, kafka_ports: frozenset[int], messages: Messages) -> None:
    """Prints what is in the piece and how to open it, on standard output (on standard error where the piece goes
    there)."""
    what = (
        f"{count(copied.n_packets, 'packet')} of {count(len(copied.flows), 'TCP connection')}, {size(copied.n_bytes)}"
    )
    when = f"{span((copied.last_ns - copied.first_ns) // 1000)} from {absolute(copied.first_ns)}"
    if out == STANDARD_OUTPUT:
        messages.note(f"{what}, {when}")
    else:
        print(f"{out}: {what}, {when}")
        print(open_in_wireshark(shlex.quote(str(out)), kafka_ports.intersection(copied.ports.tolist())))
