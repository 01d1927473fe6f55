#!/usr/bin/env python3
"""How long `axle train` takes before its first call of the compiler, the whole path of the real program: loading,
config, input, plugin, tracing, folder. Initial values are drawn and the peak is measured beside or behind the compiler.

  bench/start_to_compile.py [--axle build/release/axle] [--runs 9] [RECIPE...]

Prints the median and the range of so many starts for each recipe, and the same of the whole time to the end of the
first step where the compiler's result is already in the cache.
"""

import argparse
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile
import time

BEGUN = re.compile(r"begun ([0-9.]+) s after the start of the program")


def start(axle, recipe, cache, folder):
    """Seconds from the start of the process to the compiler's begin, and to the process's end."""
    command = [axle, "train", recipe, "--data", "synthetic", "--steps", "1", "--dir", str(folder), "--compile-cache", cache]
    command += ["--set", "evalers={}"]
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
    for recipe in arguments.recipes:
        with tempfile.TemporaryDirectory() as scratch:
            scratch = pathlib.Path(scratch)
            begun, whole = [], []
            for i in range(arguments.runs + 1):
                seconds, end = start(arguments.axle, recipe, str(scratch / "cache"), scratch / f"run{i}")
                if i > 0:  # the first one compiles
                    begun.append(seconds)
                    whole.append(end)
        print(line(f"{recipe}: process start to compile call", begun))
        print(line(f"{recipe}: one step, program from the cache, checkpoint saved", whole))


if __name__ == "__main__":
    main()
