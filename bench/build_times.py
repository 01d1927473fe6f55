#!/usr/bin/env python3
"""What a build costs, in a clone of this checkout's last commit: from nothing, of all tests after that, again from the
compiler cache, and after an edit of one layer; by folder of src/; and how large the library is.

  bench/build_times.py [--jobs 2] [--program]      --program: without the tests

Seconds of wall time are those of this machine now: run it where nothing else runs. Seconds of processor time are summed
over all compilations. The cache of the machine is used by none of these builds: the clones share one of their own, which
begins empty. The second clone lies in another folder, so that a path in what is hashed would show as misses.
"""

import argparse
import collections
import os
import pathlib
import re
import resource
import shutil
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
PROGRAM = ["axle", "axle_program"]


def compile_measured(command):
    """Runs a compilation and appends its object and its processor time to the file $AXLE_COMPILE_LOG."""
    code = subprocess.run(command, check=False).returncode
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    output = command[command.index("-o") + 1] if "-o" in command else command[-1]
    with open(os.environ["AXLE_COMPILE_LOG"], "a", encoding="utf-8") as log:
        log.write(f"{used.ru_utime + used.ru_stime:.2f} {output}\n")
    return code


def run(command, folder, environment):
    """Seconds that it takes."""
    begin = time.monotonic()
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"build_times.py: {' '.join(command)}: exit code {done.returncode}: {done.stdout[-800:]}{done.stderr[-800:]}")
    return time.monotonic() - begin


class Clone:
    """A clone, built step by step."""

    def __init__(self, folder, cache, jobs):
        self.folder, self.jobs, self.log = folder / "axle", jobs, folder / "compilations"
        self.environment = {**os.environ, "CCACHE_DIR": str(cache), "CCACHE_PREFIX": str(pathlib.Path(__file__).resolve()),
                            "AXLE_COMPILE_LOG": str(self.log)}
        self.log.parent.mkdir(parents=True)
        subprocess.run(["git", "clone", "--quiet", str(ROOT), str(self.folder)], check=True)
        self.log.touch()

    def build(self, targets, *arguments):
        """(wall seconds, compilations: [(processor seconds, object)]) of building these targets; none: all."""
        self.log.write_text("", encoding="utf-8")
        seconds = run(["cmake", "--preset", "release", *arguments], self.folder, self.environment) if arguments else 0
        chosen = ["--target", *targets] if targets else []
        seconds += run(["cmake", "--build", "build/release", "--parallel", str(self.jobs), *chosen], self.folder, self.environment)
        rows = [line.split(" ", 1) for line in self.log.read_text(encoding="utf-8").splitlines()]
        return seconds, [(float(used), name) for used, name in rows]


def processor_seconds(compilations):
    return sum(used for used, _ in compilations)


def room_of(name):
    """The folder of src/ that an object belongs to."""
    target = re.search(r"CMakeFiles/(\w+)\.dir/", name)
    return re.sub(r"^axle_|_(\w+_)?test$", "", target.group(1)) if target else name


def by_room(compilations):
    rooms = collections.Counter()
    for used, name in compilations:
        rooms[room_of(name)] += used
    return ", ".join(f"{room} {used:.0f}" for room, used in rooms.most_common())


def row(what, seconds, compilations):
    print(f"| {what} ({len(compilations)} compilations) | {seconds:.0f} s | {processor_seconds(compilations):.0f} s |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--program", action="store_true", help="build no tests")
    args = parser.parse_args()
    print("| | wall time | processor time of compilations |\n|---|---:|---:|")
    with tempfile.TemporaryDirectory() as scratch:
        scratch = pathlib.Path(scratch)
        first = Clone(scratch / "first", scratch / "cache", args.jobs)
        seconds, release = first.build(PROGRAM, "-DAXLE_TESTS=OFF")
        row(f"the program, from nothing, {args.jobs} jobs", seconds, release)
        tests = []
        if not args.program:
            seconds, tests = first.build([], "-DAXLE_TESTS=ON")
            row("all tests, after that", seconds, tests)
        seconds, rows = Clone(scratch / "second", scratch / "cache", args.jobs).build(PROGRAM, "-DAXLE_TESTS=OFF")
        row("the program in a second clone, from the compiler cache", seconds, rows)
        with (first.folder / "src/layers/attention/attention.cpp").open("a") as source:
            source.write("namespace axle {\n[[maybe_unused]] static const int kTouched = 1;\n}\n")
        seconds, rows = first.build(PROGRAM if args.program else [*PROGRAM, "layers_test"])
        row("one layer file (`attention.cpp`) changed, to the program and its test", seconds, rows)
        library = next((first.folder / "build/release").glob("libaxle.so.*.*.*"))
        stripped = scratch / "libaxle.so"
        shutil.copy(library, stripped)
        subprocess.run(["strip", str(stripped)], check=True)
        print(f"\n`libaxle.so`, stripped: {stripped.stat().st_size / 1e6:.1f} MB")
        print(f"Processor seconds by folder, program: {by_room(release)}")
        if tests:
            print(f"Processor seconds by folder, tests: {by_room(tests)}")
        header = [used for used, name in release if "axle_pch_hot.dir/cmake_pch" in name]
        if header:
            print(f"The first precompiled header is one of {processor_seconds(release) / header[0]:.0f} parts (parts_of_build in ./dev)")


if __name__ == "__main__":
    if "AXLE_COMPILE_LOG" in os.environ:  # as the prefix of a compiler, which ccache calls
        sys.exit(compile_measured(sys.argv[1:]))
    main()
