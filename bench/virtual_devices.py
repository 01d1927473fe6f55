#!/usr/bin/env python3
"""What dividing a step over eight virtual devices of the same cores costs: the median step of each mesh over that of one
device with the same global batch, in alternating rounds.

  bench/virtual_devices.py [--axle build/release/axle] [--rounds 3] [--steps 40]
"""

import argparse
import json
import pathlib
import statistics
import subprocess
import sys
import tempfile

MESHES = ("data=8", "fsdp=8", "data=2,seq=4", "fsdp=2,seq=2,model=2", "data=2,model=4")
WARM_UP = 5  # steps that do not count


def step_ms(axle, mesh, steps, folder):
    """The median time of a step in ms."""
    command = [axle, "train", "quickstart", "--data", "synthetic", "--steps", str(steps), "--dir", str(folder)]
    command += ["--devices", "8", "--mesh", mesh] if mesh else ["--devices", "1", "--mesh", "data=1"]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"virtual_devices.py: {' '.join(command)}: exit code {done.returncode}: {done.stderr.strip()}")
    records = [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]
    training = [record for record in records if "split" not in record][WARM_UP:]
    tokens = {record["num_targets"] for record in training if "num_targets" in record}
    if len(tokens) != 1:
        sys.exit(f"virtual_devices.py: {folder}: expected steps of one number of tokens, got {sorted(tokens)}")
    return 1e3 * tokens.pop() / statistics.median(record["tokens_per_sec"] for record in training)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--axle", default="build/release/axle")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--steps", type=int, default=40)
    args = parser.parse_args()
    times = {mesh: [] for mesh in ("", *MESHES)}
    with tempfile.TemporaryDirectory() as scratch:
        for i in range(args.rounds):
            for mesh, found in times.items():
                found.append(step_ms(args.axle, mesh, args.steps, pathlib.Path(scratch) / f"{i}-{mesh or 'one'}"))
    one = statistics.median(times[""])
    print("| mesh | ms per step, median (min..max) | over one device |")
    print("|---|---|---|")
    for mesh, found in times.items():
        middle = statistics.median(found)
        print(f"| {mesh or 'one device'} | {middle:.0f} ({min(found):.0f}..{max(found):.0f}) | {middle / one:.2f} |")


if __name__ == "__main__":
    main()
