from collections.abc import Callable
from pathlib import Path

import pytest


@pytest.fixture
def leader_move(unpack: Callable[[Path], Path], tmp_path: Path) -> Path:
    """The dataset of a real capture, with stories."""
    return unpack(tmp_path / "local")
