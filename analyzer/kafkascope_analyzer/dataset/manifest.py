"""`_dataset.json`: what a dataset is, written last. A directory without it is not a dataset."""

import json
from importlib.metadata import version
from pathlib import Path
from typing import Any

from kafkascope_analyzer.dataset.contract import SCHEMA_VERSION
from kafkascope_parsers.errors import UsageError

MANIFEST = "_dataset.json"


def write_manifest(
    dataset: Path,
    *,
    options: dict[str, Any],
    inputs: list[dict[str, Any]],
    rows: dict[str, int],
    ledger: dict[str, int],
    limits_hit: dict[str, int],
) -> None:
    """Writes the manifest: options of the run, inputs, rows per table, the byte ledger over all TCP directions,
    and how much was left out at each limit that was hit (dataset.limits_hit).
    """
    manifest = {
        "schema_version": SCHEMA_VERSION,
        "tool_version": version("kafkascope"),
        "options": options,
        "inputs": inputs,
        "rows": dict(sorted(rows.items())),
        "ledger": ledger,
        "limits_hit": limits_hit,
    }
    (dataset / MANIFEST).write_text(json.dumps(manifest, indent=2) + "\n", encoding="utf-8")


def read_manifest(dataset: Path) -> dict[str, Any]:
    """The manifest of a dataset. Raises UsageError when the directory has none or it cannot be read."""
    path = dataset / MANIFEST
    try:
        manifest: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise UsageError(f"{dataset} is not a kafkascope dataset: it has no {MANIFEST}") from None
    except (OSError, ValueError) as error:
        raise UsageError(f"{path} cannot be read: {error}") from error
    return manifest
