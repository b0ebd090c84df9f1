from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest


@pytest.fixture(scope="session")
def small(load_module: Callable[[Path], ModuleType]) -> ModuleType:
    """Writes a small dataset of hand-made rows."""
    return load_module(Path(__file__).parent / "report" / "small_dataset.py")
