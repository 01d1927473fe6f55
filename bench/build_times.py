#!/usr/bin/env python3
"""What a build costs, in clones of this checkout's last commit: from nothing, again from the compiler cache, and after a
touch of one layer; and how large the library is.

  bench/build_times.py [--jobs 2] [--preset release]

The cache of the machine is used by none of these builds: the clones share one of their own, which begins empty. The clone
lies in another folder each time, so that a path in what is hashed would show as misses.
"""

import argparse
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent


def run(command, folder, environment):
    """Seconds that it takes."""
    begin = time.monotonic()
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"build_times.py: {' '.join(command)}: exit code {done.returncode}: {done.stdout[-800:]}{done.stderr[-800:]}")
    return time.monotonic() - begin


def build(folder, preset, jobs, environment):
    configured = run(["cmake", "--preset", preset], folder, environment)
    return configured + run(["cmake", "--build", f"build/{preset}", "--parallel", str(jobs)], folder, environment)


def misses(environment):
    shown = subprocess.run(["ccache", "--print-stats"], env=environment, capture_output=True, text=True, check=True).stdout
    return int(re.search(r"^cache_miss\t(\d+)$", shown, re.MULTILINE).group(1))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--preset", default="release")
    args = parser.parse_args()
    print("| | measured |")
    print("|---|---|")
    with tempfile.TemporaryDirectory() as scratch:
        scratch = pathlib.Path(scratch)
        environment = {**os.environ, "CCACHE_DIR": str(scratch / "cache")}
        before = 0
        for what in ("first", "second"):
            clone = scratch / what / "axle"
            subprocess.run(["git", "clone", "--quiet", str(ROOT), str(clone)], check=True)
            # The header list that the plugin tests need is fetched once.
            fetched = ROOT / ".axle"
            if fetched.exists():
                shutil.copytree(fetched, clone / ".axle", ignore=shutil.ignore_patterns("peers"))
            seconds = build(clone, args.preset, args.jobs, environment)
            missed = misses(environment) - before
            before += missed
            print(f"| {what} clone, {args.preset}, {args.jobs} jobs ({missed} files compiled) | {seconds:.0f} s |", flush=True)
        with (clone / "src/layers/attention/attention.cpp").open("a") as source:
            source.write("namespace axle {\n[[maybe_unused]] static const int kTouched = 1;\n}\n")
        seconds = run(["cmake", "--build", f"build/{args.preset}", "--parallel", str(args.jobs), "--target", "axle"],
                      clone, environment)
        print(f"| one layer file (`attention.cpp`) changed, to the program | {seconds:.0f} s |")
        library = next((clone / "build" / args.preset).glob("libaxle.so.*.*.*"))
        stripped = scratch / "libaxle.so"
        subprocess.run(["strip", "-o", str(stripped), str(library)], check=True)
        print(f"| `libaxle.so`, stripped | {stripped.stat().st_size / 1e6:.1f} MB |")


if __name__ == "__main__":
    main()
