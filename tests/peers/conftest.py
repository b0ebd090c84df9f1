from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def w(load_module):
    """The builders of wire.py."""
    return load_module(Path(__file__).with_name("wire.py"))


@pytest.fixture
def read(w, tmp_path):
    """Ingests conversations and gives the dataset's tables."""
    return lambda *conversations, **options: w.read(tmp_path, *conversations, **options)
