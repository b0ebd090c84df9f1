"""Each module of resolve is imported by a test: by one that says what it has to give, not only by what uses it."""

from tests.every_module import imported_from, modules_of

PACKAGE = "kafkascope_analyzer.resolve"


def test_each_module_has_a_test_that_imports_it() -> None:
    modules = modules_of(PACKAGE)
    assert len(modules) > 90
    assert sorted(modules - imported_from(PACKAGE)) == []
