import shutil
import tarfile
from collections.abc import Callable
from pathlib import Path

import pytest

FIXTURES = Path(__file__).parents[3] / "fixtures"


@pytest.fixture(scope="session")
def unpack(tmp_path_factory: pytest.TempPathFactory) -> Callable[[Path], Path]:
    """Puts the dataset of a real capture, with stories, into a folder."""
    original = tmp_path_factory.mktemp("original")
    with tarfile.open(FIXTURES / "datasets" / "leader_move.kscope.tar.xz") as archive:
        archive.extractall(original, filter="data")

    def unpacked(folder: Path) -> Path:
        return Path(shutil.copytree(original / "leader_move.kscope", folder / "leader_move.kscope"))

    return unpacked


@pytest.fixture
def leader_move(unpack: Callable[[Path], Path], tmp_path: Path) -> Path:
    """The dataset of a real capture, with stories."""
    return unpack(tmp_path / "local")
