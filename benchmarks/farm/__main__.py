"""The command line of the farm: `python -m benchmarks.farm`."""

import argparse
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from benchmarks.farm.figures import markdown, text
from benchmarks.farm.registry import LAYERS, SIZES
from benchmarks.farm.rounds import serve
from benchmarks.farm.runner import Figures, Order, Workers, run_layer
from benchmarks.farm.vectors import ROOT


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.farm", description=__doc__)
    parser.add_argument(
        "--size", choices=SIZES, default="usual", help="how many inputs: under a minute, minutes, hours"
    )
    parser.add_argument("--layers", nargs="+", choices=LAYERS, default=list(LAYERS), metavar="LAYER")
    parser.add_argument("--seed", type=int, default=time.time_ns() & 0xFFFFFFFF)
    parser.add_argument("--first", type=int, default=0, help="the number of the first round")
    parser.add_argument("--inputs", type=int, help="how many inputs each layer gets, instead of --size")
    parser.add_argument("--minutes", type=float, default=60 * 24 * 7, help="stop after this time in all")
    parser.add_argument("--shrink", type=float, default=60, metavar="SECONDS", help="for making a failing input small")
    parser.add_argument("--folder", type=Path, default=ROOT / "build" / "farm", help="for faults, logs, other files")
    parser.add_argument(
        "--processes", type=int, default=1, help="layers that run at the same time, each in a process of its own"
    )
    parser.add_argument("--table", type=Path, help="also write the figures there, as a Markdown table")
    parser.add_argument("--child", type=Path, metavar="LOG", help=argparse.SUPPRESS)
    return parser.parse_args()


def main() -> int:
    args = arguments()
    if args.child:
        serve(LAYERS, args.child)
        return 0
    until = time.monotonic() + 60 * args.minutes
    order = Order(args.seed, args.size, args.first, args.folder, until, args.shrink)
    at_hand = threading.local()

    def run(name: str) -> Figures:
        if not hasattr(at_hand, "workers"):
            at_hand.workers = Workers(args.folder)
            every.append(at_hand.workers)
        inputs = getattr(LAYERS[name].n, args.size) if args.inputs is None else args.inputs
        figures = run_layer(LAYERS[name], inputs, order, at_hand.workers)
        print(text(figures, args.folder), flush=True)
        return figures

    every: list[Workers] = []
    with ThreadPoolExecutor(args.processes) as pool:
        found = list(pool.map(run, args.layers))
    for workers in every:
        workers.stop()
    if args.table:
        args.table.write_text(markdown(found), encoding="utf-8")
    return int(any(figures.faults for figures in found))


if __name__ == "__main__":
    sys.exit(main())
