import tarfile
from collections.abc import Callable
from pathlib import Path

import pytest

FIXTURES = Path(__file__).parents[3] / "fixtures"


@pytest.fixture(scope="session")
def unpack() -> Callable[[Path], Path]:
    """Puts the dataset of a real capture, with stories, into a folder."""

    def unpacked(folder: Path) -> Path:
        with tarfile.open(FIXTURES / "datasets" / "leader_move.kscope.tar.xz") as archive:
            archive.extractall(folder, filter="data")
        return folder / "leader_move.kscope"

    return unpacked


@pytest.fixture
def leader_move(unpack: Callable[[Path], Path], tmp_path: Path) -> Path:
    """The dataset of a real capture, with stories."""
    return unpack(tmp_path / "local")
