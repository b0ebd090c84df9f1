import tarfile
from pathlib import Path

import pytest

FIXTURES = Path(__file__).parents[3] / "fixtures"


@pytest.fixture
def leader_move(tmp_path: Path) -> Path:
    """The dataset of a real capture, with stories."""
    with tarfile.open(FIXTURES / "datasets" / "leader_move.kscope.tar.xz") as archive:
        archive.extractall(tmp_path / "local", filter="data")
    return tmp_path / "local" / "leader_move.kscope"
