"""Packs a dataset as fixtures/datasets/NAME.tar.xz: all tables and stories, of the messages only Metadata.

    kafkascope analyze fixtures/captures/leader_move.pcap.zst -o /tmp/leader_move.kscope
    python scripts/make_dataset_fixture.py /tmp/leader_move.kscope

The manifest in the archive lists the files that are in it. The names of runs are left out of the names of files: the
same capture gives the same names.
"""

import io
import re
import sys
import tarfile
from dataclasses import replace
from pathlib import Path

from kafkascope_analyzer.dataset.dataset import Dataset
from kafkascope_analyzer.dataset.manifest import MANIFEST, MESSAGES

FIXTURES = Path(__file__).parents[1] / "fixtures" / "datasets"
KEPT_MESSAGES = (f"{MESSAGES}/Metadata/request", f"{MESSAGES}/Metadata/response")


_RUN = re.compile(r"-[0-9a-f]{12}(?=[-.])")
"""The name of the run in the name of a file."""


def pack(dataset: Dataset, archive: Path) -> None:
    dropped = {name for name in dataset.messages if name not in KEPT_MESSAGES}
    kept = {name: listed for name, listed in dataset.manifest.files.items() if name not in dropped}
    names = {file.path: _RUN.sub("", file.path) for listed in kept.values() for file in listed}
    files = {name: tuple(replace(file, path=names[file.path]) for file in listed) for name, listed in kept.items()}
    with tarfile.open(archive, "w:xz", preset=9) as tar:
        _add(tar, f"{dataset.name}/{MANIFEST}", dataset.manifest.with_files(files).to_json().encode())
        for path, name in names.items():
            _add(tar, f"{dataset.name}/{name}", dataset.storage.read_bytes(path))


def _add(tar: tarfile.TarFile, name: str, data: bytes) -> None:
    member = tarfile.TarInfo(name)
    member.size, member.mode = len(data), 0o644
    tar.addfile(member, io.BytesIO(data))


if __name__ == "__main__":
    opened = Dataset.open(sys.argv[1])
    pack(opened, FIXTURES / f"{opened.name}.tar.xz")
