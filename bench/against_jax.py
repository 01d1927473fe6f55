#!/usr/bin/env python3
"""Axle's train step beside JAX's, in alternating runs on one machine: ratio of medians, and its interval.

Every round runs Axle and the peers once, in turn, so that what else the machine does falls on all of them
alike. A ratio is Axle's time over the peer's: below 1, Axle is faster. Its interval is the middle 95 % of the
ratios of medians of rounds drawn again (bootstrap).

  ./dev bench peers && bench/against_jax.py --size s

A peer's command (default: the scripts of bench/peers, in the environments that `./dev bench peers` makes) gets
SIZE [--scan] [--bf16] --steps N and prints a line of JSON with "step_ms" and "peer"; an empty one leaves the peer out.
"""

import argparse
import json
import pathlib
import random
import shlex
import statistics
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent


def peer(name):
    """The command of a peer that `./dev bench peers` has set up; empty if it has not."""
    python = ROOT / ".axle" / "peers" / name / "bin" / "python"
    return f"{python} {ROOT / 'bench' / 'peers' / f'llama_{name}.py'}" if python.exists() else ""


def run(command):
    """The last line of JSON that `command` prints."""
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if done.returncode != 0:
        sys.exit(f"{shlex.join(command)}: exit code {done.returncode}\n{done.stderr[-2000:]}")
    return json.loads(done.stdout.strip().splitlines()[-1])


def interval(ours, theirs, draws=4000):
    """The middle 95 % of the ratio of medians over rounds drawn with replacement."""
    rounds = range(len(ours))
    ratios = []
    generator = random.Random(0)
    for _ in range(draws):
        drawn = [generator.choice(rounds) for _ in rounds]
        ratios.append(statistics.median(ours[i] for i in drawn) / statistics.median(theirs[i] for i in drawn))
    ratios.sort()
    return ratios[int(0.025 * draws)], ratios[int(0.975 * draws)]


def compare(args, size, bf16):
    common = [size] + (["--bf16"] if bf16 else []) + ["--steps", str(args.steps)]
    axle = shlex.split(args.axle)
    commands = {"axle unrolled": axle + common, "axle scan": axle + common + ["--scan"]}
    if args.jax:
        commands["jax unrolled"] = shlex.split(args.jax) + common
        commands["jax scan"] = shlex.split(args.jax) + common + ["--scan"]
    if args.torch:
        commands["torch eager"] = shlex.split(args.torch) + common
    times = {name: [] for name in commands}
    last = {}
    for _ in range(args.pairs):
        for name, command in commands.items():
            last[name] = run(command)
            times[name].append(last[name]["step_ms"])
            print(f"{size} {name}: {times[name][-1]:.1f} ms", file=sys.stderr, flush=True)
    medians = {name: statistics.median(t) for name, t in times.items()}

    title = f"{size} {'bf16' if bf16 else 'f32'}"
    print(f"\n### {title}, {args.pairs} rounds of {args.steps} steps\n")
    print("| | step ms, median (min..max) | tokens/s | first step s | loss |\n|---|---|---|---|---|")
    for name, t in times.items():
        line = last[name]
        tokens = line["tok_s"] * line["step_ms"] / medians[name]
        print(f"| {name} | {medians[name]:.1f} ({min(t):.1f}..{max(t):.1f}) | {tokens:.0f} | {line['first_step_s']:.1f} | {line['loss']:.4f} |")
    ours = min((n for n in medians if n.startswith("axle")), key=medians.get)
    for peer in ("jax", "torch"):
        theirs = [n for n in medians if n.startswith(peer)]
        if theirs:
            fastest = min(theirs, key=medians.get)
            low, high = interval(times[ours], times[fastest])
            print(f"\n{title}: {ours} / {fastest} = **{medians[ours] / medians[fastest]:.3f}** (95 %: {low:.3f}..{high:.3f})")
    print("\nversions: " + "; ".join(sorted({f"{v['peer']} {v.get('platform_version', '')}".strip() for v in last.values()})), flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--axle", default=str(ROOT / "build/release/bench/train_step_bench"), help="train_step_bench")
    parser.add_argument("--jax", default=peer("jax"), help="command of the JAX peer")
    parser.add_argument("--torch", default=peer("torch"), help="command of the PyTorch peer")
    parser.add_argument("--size", action="append", required=True)
    parser.add_argument("--dtype", action="append", choices=["f32", "bf16"], help="default: both")
    parser.add_argument("--pairs", type=int, default=7, help="rounds")
    parser.add_argument("--steps", type=int, default=10)
    args = parser.parse_args()
    if not args.jax and not args.torch:
        sys.exit("against_jax.py: expected a peer to compare with, got none; `./dev bench peers` sets them up")
    for size in args.size:
        for dtype in args.dtype or ["f32", "bf16"]:
            compare(args, size, dtype == "bf16")


if __name__ == "__main__":
    main()
