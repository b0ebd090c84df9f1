"""scripts/ensure_java.sh, with a made-up java, apt-get and id on the PATH."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[3] / "scripts" / "ensure_java.sh"
JAVA = "#!/bin/sh\necho 'openjdk version \"{version}\" 2025-01-01' >&2\n"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    for tool in ("bash", "sh", "sed", "head", "cp", "chmod", "cat"):
        found = shutil.which(tool)
        assert found is not None
        (tmp_path / tool).symlink_to(found)
    return tmp_path


def program(path: Path, name: str, text: str) -> None:
    (path / name).write_text(text)
    (path / name).chmod(0o755)


def run(path: Path, *, uid: int) -> subprocess.CompletedProcess[str]:
    program(path, "id", f"#!/bin/sh\necho {uid}\n")
    env = {"PATH": str(path), "HOME": os.environ.get("HOME", "/")}
    return subprocess.run(["bash", str(SCRIPT)], env=env, capture_output=True, text=True, check=False)


def apt_get(path: Path, *, installs: str | None) -> None:
    """An apt-get that writes down its calls, and whose install of anything brings that java, or fails."""
    give = (
        f"cat > {path}/java <<'E'\n{JAVA.format(version=installs)}E\nchmod +x {path}/java" if installs else "exit 100"
    )
    program(path, "apt-get", f'#!/bin/sh\necho "$@" >> {path}/calls\n[ "$1" = update ] && exit 0\n{give}\n')


@pytest.mark.parametrize("version", ["17.0.2", "21", "25.0.1"])
def test_a_java_that_will_do_is_left_alone(path: Path, version: str) -> None:
    program(path, "java", JAVA.format(version=version))
    apt_get(path, installs="17.0.2")
    done = run(path, uid=0)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert not (path / "calls").exists()


@pytest.mark.parametrize("old", [None, "1.8.0_402", "11.0.22"])
def test_root_gets_one_by_apt(path: Path, old: str | None) -> None:
    if old:
        program(path, "java", JAVA.format(version=old))
    apt_get(path, installs="17.0.2")
    done = run(path, uid=0)
    assert (done.returncode, done.stderr) == (0, "")
    assert (path / "calls").read_text().splitlines()[1].endswith("openjdk-17-jre-headless")


def test_where_apt_has_none_one_line_says_what_to_install(path: Path) -> None:
    apt_get(path, installs=None)
    done = run(path, uid=0)
    assert done.returncode == 0
    assert done.stderr.count("\n") == 1
    assert "Java 17 or newer" in done.stderr


def test_who_is_not_root_is_told_and_nothing_is_installed(path: Path) -> None:
    apt_get(path, installs="17.0.2")
    done = run(path, uid=1000)
    assert done.returncode == 0
    assert "Java 17 or newer" in done.stderr
    assert not (path / "calls").exists()
