"""Finds the Java runtime, and tells what to install if there is none that Spark can use. Imports no Spark."""

import os
import pathlib
import re
import shutil
import subprocess

MIN_JAVA = 17
_HINT = f"install a Java {MIN_JAVA} or newer runtime (as the package openjdk-17-jre-headless), or set JAVA_HOME to one"
_VERSION_TIMEOUT_S = 30


def java_problem() -> str | None:
    """Returns why Spark cannot start, in one sentence that tells what to install; None if Java is fine."""
    java = find_java()
    if java is None:
        return f"Spark needs Java and none was found: {_HINT}."
    try:
        release = _installed_release(pathlib.Path(java)) or java_release(_version_output(java))
    except (OSError, subprocess.SubprocessError) as error:
        return f"Spark needs Java and {java} does not run ({error}): {_HINT}."
    if release is None or release < MIN_JAVA:
        return f"Spark needs Java {MIN_JAVA} and {java} is {release or 'unknown'}: {_HINT}."
    return None


def _installed_release(java: pathlib.Path) -> int | None:
    """Returns the feature release in the file `release` of the installation, which is faster than starting java; None
    if there is no such file."""
    file = java.resolve().parent.parent / "release"
    if not file.is_file():
        return None
    match = re.search(r'^JAVA_VERSION="(?:1\.)?([0-9]{1,6})', file.read_text(errors="replace"), re.MULTILINE)
    return int(match.group(1)) if match else None


def _version_output(java: str) -> str:
    command = [java, "-version"]
    return subprocess.run(command, capture_output=True, text=True, timeout=_VERSION_TIMEOUT_S, check=True).stderr


def java_release(printed: str) -> int | None:
    """Returns the feature release in the output of `java -version`: 8 for 1.8.0, 17 for 17.0.2; None if there is
    none."""
    match = re.search(r'version "(?:1\.)?([0-9]{1,6})', printed)
    return int(match.group(1)) if match else None


def find_java() -> str | None:
    """Returns the path of the java command: that of JAVA_HOME if it is set, else the first one on PATH."""
    home = os.environ.get("JAVA_HOME")
    if home:
        java = pathlib.Path(home) / "bin" / "java"
        return str(java) if java.exists() else None
    return shutil.which("java")
