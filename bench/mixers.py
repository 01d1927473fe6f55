#!/usr/bin/env python3
"""Forward and backward of every mixer beside the same layer in JAX, in alternating runs on one machine.

Every round runs Axle and JAX once, in turn. A ratio is Axle's median over JAX's: below 1, Axle is faster. Both sides
have the same parameters and data; their losses must agree.

  ./dev bench peers jax && bench/mixers.py --pairs 7 --steps 10
"""

import argparse
import math
import pathlib
import statistics
import subprocess
import sys
import tempfile

from against_jax import ROOT, interval, run

MIXERS = [
    "attention",
    "grouped_rope_attention",
    "sliding_window",
    "sigmoid_attention",
    "latent_attention",
    "linear_attention",
    "rattention",
    "mamba1",
    "mamba2",
    "recurrent",
    "feed_forward",
    "moe_sorted",
    "moe_capacity",
]


def compare(args, mixer, folder):
    shapes = folder / f"{mixer}.json"
    shapes.write_text(subprocess.run([args.axle, mixer, "--shapes"], check=True, capture_output=True, text=True).stdout)
    steps = ["--steps", str(args.steps)]
    jax = [args.python, str(ROOT / "bench/peers/mixers_jax.py"), mixer, "--shapes", str(shapes), *steps]
    ours, theirs = [], []
    for _ in range(args.pairs):
        ours.append(run([args.axle, mixer, *steps]))
        theirs.append(run(jax))
        ours_loss, their_loss = ours[-1]["loss"], theirs[-1]["loss"]
        print(f"{mixer}: {ours[-1]['step_ms']:.1f} and {theirs[-1]['step_ms']:.1f} ms", file=sys.stderr, flush=True)
        if not math.isclose(ours_loss, their_loss, rel_tol=1e-4):
            sys.exit(f"mixers.py: {mixer}: expected the same loss, got {ours_loss} and {their_loss}")
    columns = [[r["step_ms"] for r in side] for side in (ours, theirs)]
    texts = [f"{statistics.median(t):.1f} ({min(t):.1f}..{max(t):.1f})" for t in columns]
    ratio = statistics.median(columns[0]) / statistics.median(columns[1])
    low, high = interval(*columns)
    print(f"| {mixer} | {texts[0]} | {texts[1]} | **{ratio:.3f}** ({low:.3f}..{high:.3f}) |", flush=True)
    return ratio


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--axle", default=str(ROOT / "build/release/bench/mixers_bench"))
    parser.add_argument("--python", default=str(ROOT / ".axle/peers/jax/bin/python"), help="a Python that has JAX")
    parser.add_argument("--mixer", action="append", choices=MIXERS, help="default: all")
    parser.add_argument("--pairs", type=int, default=7, help="rounds")
    parser.add_argument("--steps", type=int, default=10)
    args = parser.parse_args()
    if not pathlib.Path(args.python).exists():
        sys.exit(f"mixers.py: expected a Python with JAX, got {args.python}; `./dev bench peers jax` sets it up")
    print("| mixer | Axle, ms (min..max) | JAX, ms (min..max) | **Axle / JAX** (95 %) |\n|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        ratios = [compare(args, mixer, pathlib.Path(folder)) for mixer in args.mixer or MIXERS]
    print(f"\ngeometric mean of the ratios **{math.exp(statistics.fmean(map(math.log, ratios))):.3f}**")


if __name__ == "__main__":
    main()
