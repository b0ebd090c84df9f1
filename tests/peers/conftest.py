import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def w():
    """The builders of wire.py."""
    spec = spec_from_file_location("peers_wire", Path(__file__).with_name("wire.py"))
    module = module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def read(w, tmp_path):
    """Ingests conversations and gives the dataset's tables."""
    return lambda *conversations, **options: w.read(tmp_path, *conversations, **options)
