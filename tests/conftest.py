"""How two processes share the tests (`make test`: pytest-xdist, -n 2 --dist loadgroup); what one process does is the same.

The tests of a module stay together, so that its fixtures are made once. So do all modules that need the embedded Spark
session, whose start and first queries take as long as all that follows. The order is random (pytest-randomly) but for
what comes first:

- two groups that between them compile all kernels: each process compiles half of them, and finds the other half on disk;
- what takes longest, so that no process ends with it while the other has nothing left.

With `-n 0`, without xdist, or with another number of processes the same tests pass: only the time differs.
"""

import pytest

COMPILING = {
    "packets": ("capture/test_formats.py", "link/test_link.py", "link/test_fragments.py", "tcp/test_streams.py"),
    "messages": ("framing/test_framer.py", "machine/test_golden.py", "records/test_batches.py"),
}
"""Group -> the modules of tests/parsers/ that between them call its kernels."""
GROUPS = {f"tests/parsers/{module}": group for group, modules in COMPILING.items() for module in modules}
SPARK = "spark"
LONGEST = (*COMPILING, SPARK, "tests/spark/test_cluster.py", "tests/analyzer/ingest/test_same_rows.py")


def group_of(item: pytest.Item) -> str:
    """The group in which a test runs: its module's, unless it shares more than a module's fixtures."""
    module, _, _ = item.nodeid.partition("::")
    return GROUPS.get(module, module)


@pytest.hookimpl(tryfirst=True)  # before xdist reads the groups
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Gives each test its group, and puts the longest groups first."""
    groups = {item: group_of(item) for item in items}
    sharing = {groups[item] for item in items if "spark" in getattr(item, "fixturenames", ())}
    for item, group in groups.items():
        groups[item] = SPARK if group in sharing else group
        item.add_marker(pytest.mark.xdist_group(groups[item]))
    rank = {group: number for number, group in enumerate(LONGEST)}
    items.sort(key=lambda item: rank.get(groups[item], len(rank)))
