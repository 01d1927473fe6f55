#!/usr/bin/env python3
"""How long `axle train` takes before its first call of the compiler, the whole path of the real program: loading,
config, input, evaluations, plugin, tracing, folder. Initial values are drawn and the peak is measured beside or behind
the compiler.

  bench/start_to_compile.py [--axle build/release/axle] [--runs 9] [RECIPE...]

For each recipe, on synthetic data and on 4 MB of text (words of a seeded generator), with the evaluations of the recipe:
the median and the range of so many starts, and the same of the whole run of one step, its evaluation and its checkpoint,
where the compiler's results are already in the cache.
"""

import argparse
import pathlib
import random
import re
import statistics
import subprocess
import sys
import tempfile
import time

BEGUN = re.compile(r"started ([0-9.]+) s after the program")


TEXT_BYTES = 4_000_000


def write_text(path):
    """Lines of words of a seeded generator."""
    generator = random.Random(0)
    words = ["".join(generator.choices("abcdefghijklmnopqrstuvwxyz", k=generator.randint(2, 9))) for _ in range(2000)]
    with path.open("w") as out:
        while out.tell() < TEXT_BYTES:
            out.write(" ".join(generator.choices(words, k=60)) + "\n")


def start(axle, recipe, data, cache, folder):
    """Seconds from the start of the process to the compiler's begin, and to the process's end."""
    command = [axle, "train", recipe, "--data", data, "--steps", "1", "--dir", str(folder), "--compile-cache", cache]
    begin = time.monotonic()
    done = subprocess.run(command, capture_output=True, text=True)
    end = time.monotonic() - begin
    found = BEGUN.search(done.stdout)
    if done.returncode != 0 or not found:
        sys.exit(f"start_to_compile.py: {' '.join(command)}: exit code {done.returncode}: {done.stderr.strip()}")
    return float(found.group(1)), end


def line(what, seconds):
    middle = statistics.median(seconds) * 1e3
    return f"{what}: {middle:.0f} ms ({min(seconds) * 1e3:.0f}..{max(seconds) * 1e3:.0f})"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--axle", default="build/release/axle")
    parser.add_argument("--runs", type=int, default=9)
    parser.add_argument("recipes", nargs="*", default=["quickstart"], metavar="RECIPE")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        scratch = pathlib.Path(scratch)
        write_text(scratch / "text.txt")
        for recipe in arguments.recipes:
            for kind, data in (("synthetic", "synthetic"), ("text", str(scratch / "text.txt"))):
                begun, whole = [], []
                for i in range(arguments.runs + 1):
                    folder = scratch / f"{recipe}-{kind}-{i}"
                    seconds, end = start(arguments.axle, recipe, data, str(scratch / "cache"), folder)
                    if i > 0:  # the first one compiles
                        begun.append(seconds)
                        whole.append(end)
                print(line(f"{recipe}, {kind}: process start to compile call", begun))
                print(line(f"{recipe}, {kind}: one step, evaluation and checkpoint, programs from the cache", whole))


if __name__ == "__main__":
    main()
