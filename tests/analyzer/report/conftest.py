from collections.abc import Callable
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType

import pytest


def load(path: Path) -> ModuleType:
    spec = spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="session")
def small() -> ModuleType:
    return load(Path(__file__).with_name("small_dataset.py"))


@pytest.fixture
def dataset(tmp_path: Path, small: ModuleType) -> Callable[..., Path]:
    def write(**options: object) -> Path:
        return small.write_dataset(tmp_path / "small.kscope", **options)

    return write
