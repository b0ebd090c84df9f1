from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest


@pytest.fixture
def dataset(tmp_path: Path, small: ModuleType) -> Callable[..., Path]:
    def write(**options: object) -> Path:
        return small.write_dataset(tmp_path / "small.kscope", **options)

    return write
