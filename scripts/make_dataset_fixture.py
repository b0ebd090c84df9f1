"""Packs a dataset as fixtures/datasets/NAME.tar.xz: all tables and stories, of the messages only Metadata.

    kafkascope analyze fixtures/captures/leader_move.pcap.zst -o /tmp/leader_move.kscope
    python scripts/make_dataset_fixture.py /tmp/leader_move.kscope

The manifest in the archive lists the files that are in it. The same dataset gives the same archive.
"""

import io
import sys
import tarfile
from pathlib import Path

from kafkascope_analyzer.dataset.dataset import MESSAGES, Dataset
from kafkascope_analyzer.dataset.manifest import MANIFEST

FIXTURES = Path(__file__).parents[1] / "fixtures" / "datasets"
KEPT_MESSAGES = (f"{MESSAGES}/Metadata/request", f"{MESSAGES}/Metadata/response")


def pack(dataset: Dataset, archive: Path) -> None:
    dropped = {name for name in dataset.messages if name not in KEPT_MESSAGES}
    files = {name: listed for name, listed in dataset.manifest.files.items() if name not in dropped}
    with tarfile.open(archive, "w:xz", preset=9) as tar:
        _add(tar, f"{dataset.name}/{MANIFEST}", dataset.manifest.with_files(files).to_json().encode())
        for listed in files.values():
            for file in listed:
                _add(tar, f"{dataset.name}/{file.path}", dataset.storage.read_bytes(file.path))


def _add(tar: tarfile.TarFile, name: str, data: bytes) -> None:
    member = tarfile.TarInfo(name)
    member.size, member.mode = len(data), 0o644
    tar.addfile(member, io.BytesIO(data))


if __name__ == "__main__":
    opened = Dataset.open(sys.argv[1])
    pack(opened, FIXTURES / f"{opened.name}.tar.xz")
