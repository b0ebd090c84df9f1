"""scripts/ensure_browser.sh, with made-up programs on the PATH."""

import shutil
import subprocess
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[4] / "scripts" / "ensure_browser.sh"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    for tool in ("bash", "sh", "cat", "chmod"):
        found = shutil.which(tool)
        assert found is not None
        (tmp_path / tool).symlink_to(found)
    return tmp_path


def program(path: Path, name: str, text: str) -> None:
    (path / name).write_text(f"#!/bin/sh\n{text}\n")
    (path / name).chmod(0o755)


def run(path: Path, *, uid: int) -> subprocess.CompletedProcess[str]:
    program(path, "id", f"echo {uid}")
    return subprocess.run(["bash", str(SCRIPT)], env={"PATH": str(path)}, capture_output=True, text=True, check=False)


def test_nothing_is_done_where_there_is_one(path):
    program(path, "chromium", "exit 0")
    program(path, "apt-get", f"echo called > {path}/calls")
    done = run(path, uid=0)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert not (path / "calls").exists()


def test_others_than_root_are_told_and_go_on(path):
    program(path, "apt-get", f"echo called > {path}/calls")
    done = run(path, uid=1000)
    assert done.returncode == 0
    assert "apt-get install chromium" in done.stderr
    assert not (path / "calls").exists()


def test_root_gets_it_installed(path):
    program(path, "apt-get", f'[ "$1" = install ] && printf "#!/bin/sh\\n" > {path}/chromium && chmod +x {path}/*')
    done = run(path, uid=0)
    assert (done.returncode, done.stderr) == (0, "")
    assert (path / "chromium").exists()


def test_a_failed_install_is_told_and_no_error(path):
    program(path, "apt-get", "exit 100")
    done = run(path, uid=0)
    assert done.returncode == 0
    assert "need Chromium" in done.stderr
