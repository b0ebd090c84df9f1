"""Every recipe that a page prints for a shell runs as printed, for a newcomer: the program is installed from its wheel
into a fresh environment, and the home is empty at first. What a recipe names (captures, datasets, ids) is there, and
programs that need rights, other hosts or a network stand for themselves.

All of them are checked for commands and options that exist; running them takes minutes (make lab).
"""

import os
import re
import shlex
import shutil
import stat
import subprocess
import sys
import sysconfig
import tarfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest
import typer.main

from kafkascope_analyzer.cli.app import app
from kafkascope_analyzer.dataset.dataset import Dataset

ROOT = Path(__file__).resolve().parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
SHELL = frozenset(
    {
        "kafkascope",
        "sudo",
        "tcpdump",
        "ssh",
        "kubectl",
        "mkdir",
        "zstd",
        "find",
        "export",
        "git",
        "make",
        "pip",
        "docker",
    }
    | {"hdfs", "go", "python", "cat", "printf", "scripts"}
)
"""Programs with which a block for a shell begins."""
CLUSTER = "needs a Spark cluster; tests/spark/test_cluster.py runs such commands"
STORE = (
    "needs an object store; tests/analyzer/dataset/test_commands_on_s3.py and ingest/test_on_s3.py run such commands"
)
INSTALL = "installs or builds this program, or downloads"
CANNOT_RUN = {
    "docs/clusters.md": CLUSTER,
    "docs/packaging.md": f"{CLUSTER}; tests/analyzer/cli/test_pack_executors.py makes the archive",
    "docs/storage.md": STORE,
    "docs/hardening.md": "runs for minutes or hours; CI runs the smoke run",
    "README.md: git clone": INSTALL,
    "README.md: make test": INSTALL,
    "docs/extending.md": "reads what other repositories hold",
}
"""Pages, or blocks by their first two words, that cannot run here, each with the reason."""
URI = re.compile(r"\b(?:s3|sc|https)://")


@dataclass(frozen=True, slots=True)
class Recipe:
    page: str
    text: str

    @property
    def name(self) -> str:
        return f"{self.page}: {' '.join(self.text.split()[:2])}"

    @property
    def why_not(self) -> str | None:
        """Why it cannot run here."""
        return CANNOT_RUN.get(self.page) or CANNOT_RUN.get(self.name)


def recipes() -> Iterator[Recipe]:
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        found = re.findall(r"(?<=\n\n)(?:    .*\n)+", text)
        fenced = re.findall(r"^```(?:sh|bash|shell|console)\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
        for block in [*map(dedent, found), *fenced]:
            if block.split()[0].partition("/")[0] in SHELL:
                yield Recipe(str(page.relative_to(ROOT)), block.strip())


def calls(text: str) -> Iterator[list[str]]:
    """The words of each call of kafkascope in a block, up to what ends a command in a shell."""
    words = [word for line in joined_lines(text) for word in [*split(line), "\n"]]
    call: list[str] | None = None
    before = "\n"
    for word in words:
        if call is None and word == "kafkascope" and ends_a_command(before):
            call = []
        elif call is not None and ends_a_command(word):
            yield call
            call = None
        elif call is not None:
            call.append(word)
        before = word


def ends_a_command(word: str) -> bool:
    return set(word) <= set("|&;<>\n")


def split(line: str) -> list[str]:
    lexer = shlex.shlex(line, posix=True, punctuation_chars="|&;<>")
    lexer.whitespace_split = True
    return list(lexer)


def joined_lines(text: str) -> Iterator[str]:
    """Lines as a shell reads them: those that a backslash, or an open quote, joins are one."""
    whole = ""
    for line in text.replace("\\\n", " ").splitlines():
        whole = f"{whole}\n{line}" if whole else line
        try:
            split(whole)
        except ValueError:  # an open quote
            continue
        yield whole
        whole = ""
    assert whole == "", f"a quote is never closed: {whole}"


def test_there_are_recipes_and_each_reason_is_of_one() -> None:
    found = list(recipes())
    assert len(found) > 25
    names = {recipe.page for recipe in found} | {recipe.name for recipe in found}
    assert [place for place in CANNOT_RUN if place not in names] == []


@pytest.mark.parametrize("page", sorted({recipe.page for recipe in recipes()}))
def test_commands_and_options_exist(page: str) -> None:
    """Those of the blocks that cannot run here too, and of what a page says within a sentence."""
    group: Any = typer.main.get_command(app)
    texts = [recipe.text for recipe in recipes() if recipe.page == page]
    texts += re.findall(r"`(kafkascope [^`]+)`", (ROOT / page).read_text("utf-8").replace("\n", " "))
    for text in texts:
        for words in calls(text):
            command = group.get_command(None, words[0]) if words else None
            assert words[:1] == ["COMMAND"] or command is not None, f"{page}: kafkascope {words}"
            if command is not None:
                known = {name for option in command.params for name in (*option.opts, *option.secondary_opts)}
                used = [word.partition("=")[0] for word in words[1:] if re.match(r"--?[a-z]", word)]
                assert [option for option in used if option not in known | {"--help", "-h"}] == [], f"{page}: {text}"


DUCKDB = """#!{python}
import duckdb, sys
print(duckdb.sql(sys.argv[sys.argv.index("-c") + 1]))
"""
SUDO = """#!/bin/sh
exec "$@"
"""
LAST_ARGUMENT_IN_A_SHELL = """#!/bin/bash
exec bash -c "${@: -1}"
"""
AFTER_DASHES = """#!/bin/bash
while [ "$1" != -- ]; do shift; done
shift
exec "$@"
"""
TCPDUMP = """#!{python}
# Records two captures: into the file of -w, into two of a ring (-C), or into one whose name is a time (-G).
import subprocess, sys, time, zstandard
words = sys.argv[1:]
value = lambda name: words[words.index(name) + 1] if name in words else None
captures = [zstandard.open(place, "rb").read() for place in {captures!r}]
out = value("-w")
if out == "-":
    sys.stdout.buffer.write(captures[0])
    raise SystemExit
names = [f"{{out}}{{n:02d}}" for n in range(2)] if "-C" in words else [time.strftime(out)] if "-G" in words else [out]
for name, capture in zip(names, captures):
    with open(name, "wb") as file:
        file.write(capture)
    if value("-z"):
        subprocess.run([value("-z"), name], check=True)
"""
PIECES = WITHOUT_FINDINGS, WITH_ERRORS = [
    ROOT / "fixtures" / "captures" / "pieces" / f"{name}.pcap.zst" for name in ("quiet_restart", "sasl_users")
]
DATASETS = ("incident", "capture", "OUT", "before", "after", "fleet", "day")


WITHOUT_COMPILER = "import sys; sys.modules['numba'] = sys.modules['llvmlite'] = None"


@pytest.fixture(scope="module")
def newcomer(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The programs of a fresh environment that our wheel was installed into, beside a home. What the wheel needs is
    that of this environment: it is said by a path, and not installed again; what compiles kernels is not there."""
    place = tmp_path_factory.mktemp("newcomer")
    source = place / "source"
    left_out = shutil.ignore_patterns(".*", "build", "node_modules", "__pycache__", "fixtures", "tests")
    shutil.copytree(ROOT, source, ignore=left_out)
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", place]
    subprocess.run(build, cwd=source, check=True, capture_output=True)
    (wheel,) = place.glob("*.whl")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", place / "venv"], check=True)
    python = place / "venv" / "bin" / "python"
    install = [
        sys.executable,
        "-m",
        "pip",
        "--python",
        python,
        "install",
        "-q",
        "--no-index",
        "--no-deps",
        "--no-compile",
        wheel,
    ]
    subprocess.run(install, check=True)
    (packages,) = (place / "venv" / "lib").glob("python*/site-packages")
    (packages / "what_it_needs.pth").write_text(f"{sysconfig.get_path('purelib')}\n{WITHOUT_COMPILER}\n")
    (place / "venv" / "home").mkdir()
    return place / "venv" / "bin"


@pytest.fixture
def here(tmp_path: Path, newcomer: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with what recipes name, an empty home, and stand-ins for programs of other hosts and of root."""
    programs = tmp_path / "bin"
    programs.mkdir()
    stand_ins = {
        "tcpdump": TCPDUMP.format(python=sys.executable, captures=[str(piece) for piece in PIECES]),
        "duckdb": DUCKDB.format(python=sys.executable),
        "sudo": SUDO,
        "ssh": LAST_ARGUMENT_IN_A_SHELL,
        "kubectl": AFTER_DASHES,
    }
    for name, text in stand_ins.items():
        (programs / name).write_text(text)
        (programs / name).chmod(stat.S_IRWXU)
    work = tmp_path / "work"
    (work / "var").mkdir(parents=True)
    (work / "fixtures").symlink_to(ROOT / "fixtures")
    for place in ("dumps/1.pcap.zst", "captures/app-1/a.pcap.zst", "captures/host-a/b.pcap.zst"):
        (work / place).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(WITHOUT_FINDINGS, work / place)
    shutil.copy(WITH_ERRORS, work / "capture.pcap.zst")
    for place in ("incident.pcap", "capture.pcap"):
        subprocess.run(["zstd", "-q", "-d", WITH_ERRORS, "-o", work / place], check=True)
    shutil.copy(ROOT / "fixtures" / "tls" / "kafka_tls13.keys", work / "keys.log")
    (work / "points.txt").write_text("app-1: app-1/*\nbroker-1: host-a/*\n")
    with tarfile.open(ROOT / "fixtures" / "datasets" / "leader_move.kscope.tar.xz") as archive:
        archive.extractall(work, filter="data")
    for name in DATASETS:
        shutil.copytree(work / "leader_move.kscope", work / f"{name}.kscope")
    monkeypatch.setenv("PATH", f"{programs}:{newcomer}:{os.environ['PATH']}")
    monkeypatch.setenv("HOME", str(newcomer.parent / "home"))
    monkeypatch.delenv("NUMBA_CACHE_DIR", raising=False)
    monkeypatch.delenv("PYTHONPATH", raising=False)
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.chdir(work)
    return work


def as_here(text: str, here: Path) -> str:
    """A recipe with names that are there: what it writes is in a folder of the test, ids are some of the dataset, and
    a dataset that it makes is not there yet."""
    dataset = Dataset.open(here / "incident.kscope")
    some = {kind: dataset.read(f"stories/{table}")[f"{kind}_id"][0].as_py() for kind, table in STORIES.items()}
    text = re.sub(r"rec-[0-9a-f]{16}", some["recovery"], text)
    text = re.sub(r"finding-[0-9a-f]{16}", some["finding"], text)
    if "explain capture.kscope ID" in text:  # analyzed by a recipe before it
        incident = Dataset.open(here / "capture.kscope").read("stories/incidents")["incident_id"][0]
        text = text.replace("explain capture.kscope ID", f"explain capture.kscope {incident}")
    text = text.replace("/var/tmp", str(here / "var")).replace("/data/", f"{here}/var/")
    if cut := re.search(r"cut (\S+\.kscope) .*--error [A-Z_]+", text):
        error = Dataset.open(here / cut[1]).read("errors")["error_name"][0]
        text = re.sub(r"(?:--client \S+ )?--error [A-Z_]+", f"--error {error}", text)
    for name in DATASETS:
        if re.search(rf"(?:-o {name}\.kscope|analyze {name}\.pcap)", text):
            shutil.rmtree(here / f"{name}.kscope", ignore_errors=True)
    return text


STORIES = {"recovery": "recoveries", "finding": "findings"}


def run(text: str, here: Path) -> None:
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", as_here(text, here)],
        cwd=here,
        capture_output=True,
        text=True,
        check=False,
        stdin=subprocess.DEVNULL,
    )
    assert done.returncode == 0, f"{text}\n{done.stdout[-2000:]}\n{done.stderr[-2000:]}"


@pytest.mark.slow
def test_the_program_is_that_of_the_wheel(here: Path, newcomer: Path) -> None:
    """Not that of this repository: a file that the wheel lacks is missing to every recipe."""
    where = "import kafkascope_analyzer, kafkascope; print(kafkascope.__file__, kafkascope_analyzer.__file__)"
    done = subprocess.run([newcomer / "python", "-c", where], capture_output=True, text=True, check=True, cwd=here)
    assert [Path(file).is_relative_to(newcomer.parent) for file in done.stdout.split()] == [True, True]
    assert shutil.which("kafkascope") == str(newcomer / "kafkascope")


RUNNING = [recipe for recipe in recipes() if recipe.why_not is None]


@pytest.mark.slow
@pytest.mark.lab  # each page analyzes captures of its own, for half a minute or more
@pytest.mark.parametrize("page", sorted({recipe.page for recipe in RUNNING}))
def test_the_recipes_of_a_page_run_in_their_order(page: str, here: Path) -> None:
    for recipe in RUNNING:
        if recipe.page == page:
            for line in joined_lines(recipe.text):
                if not URI.search(line):  # those of a store or a cluster are checked for their options
                    run(line, here)


@pytest.mark.slow
def test_a_ring_is_recorded_packed_and_read_each_file_once(here: Path) -> None:
    """The recipe of docs/first-capture.md up to the analysis, which is another test's."""
    (ring,) = [recipe for recipe in recipes() if "-C 500" in recipe.text]
    (pack,) = [recipe for recipe in recipes() if recipe.text.startswith("zstd ")]
    run(ring.text, here)
    folder = here / "var" / "kafka"
    assert sorted(path.name for path in folder.iterdir()) == ["ring.pcap00", "ring.pcap01"]
    run(pack.text.splitlines()[0], here)
    run(ring.text, here)  # a second lap
    assert len(list(folder.iterdir())) == 4
    from kafkascope_analyzer.read.inputs import expand_inputs

    assert [Path(str(place)).name for place in expand_inputs([str(folder)])] == ["ring.pcap00", "ring.pcap01"]
