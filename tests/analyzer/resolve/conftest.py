"""The queries that say what events have to hold."""

from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType

import pytest


def load(path: Path) -> ModuleType:
    """A module of this folder: pytest imports tests without putting their folder on the path."""
    spec = spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="session")
def queries() -> ModuleType:
    return load(Path(__file__).with_name("event_queries.py"))
