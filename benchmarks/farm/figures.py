"""The results of a run of the farm: a line for each layer and fault, and the table of docs/hardening.md."""

from collections.abc import Sequence
from pathlib import Path

from benchmarks.farm.rounds import fault_folder
from benchmarks.farm.runner import Figures

HEAD = "| layer | what is mutated | inputs | rounds | median and slowest round | growth | faults |\n"
RULE = "|---|---|--:|--:|--:|--:|--:|\n"


def text(figures: Figures, folder: Path) -> str:
    """The results of a layer, with the command that repeats each fault."""
    lines = [
        f"{figures.layer.name}: {figures.inputs:,} inputs in {figures.rounds:,} rounds, {figures.seconds:.0f} s "
        f"(slowest {figures.slowest_s:.1f} s), growth {figures.growth_bytes >> 20} MiB, "
        f"{sum(figures.faults.values())} faults of {len(figures.faults)} kinds, seed {figures.seed}"
    ]
    for name, times in sorted(figures.faults.items(), key=lambda item: -item[1]):
        first = figures.first[name]
        again = f"--layers {figures.layer.name} --seed {figures.seed} --first {first['at']} --inputs 1"
        lines.append(f"  {times} x {name}\n      python -m benchmarks.farm {again}")
        place = fault_folder(folder, figures.layer.name, name)
        if place.exists():
            lines.append(f"      {place}")
        place.mkdir(parents=True, exist_ok=True)
        (place / "fault.txt").write_text(f"{name}\n{again}\n\n{first.get('trace', '')}\n", encoding="utf-8")
    return "\n".join(lines)


def markdown(found: Sequence[Figures]) -> str:
    """The figures as a table."""
    rows = [
        f"| {f.layer.name} | {f.layer.what} | {f.inputs:,} | {f.rounds:,} | {f.median_s:.2f} s, {f.slowest_s:.1f} s | "
        f"{max(0, f.growth_bytes) >> 20} MiB | {sum(f.faults.values())} |\n"
        for f in found
    ]
    return HEAD + RULE + "".join(rows)
