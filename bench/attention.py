#!/usr/bin/env python3
"""Forward and backward of softmax attention: Axle as it decides, Axle at once, and JAX, in alternating runs.

  ./dev bench peers jax && bench/attention.py --tokens 512 --tokens 2048 --pairs 3

Every round runs each side once, in turn. All have the same data; their losses must agree. Times are medians; memory is
that of the program's temporaries. A ratio is Axle's median over the other's: below 1, Axle is faster. On a GPU:

  bench/attention.py --flags "--backend cuda --bf16 --head-dim 128 --heads 16 --kv-heads 16" \\
      --jax-flags "--bf16 --head-dim 128 --heads 16 --kv-heads 16" --tokens 8192
"""

import argparse
import math
import pathlib
import statistics
import sys

from against_jax import ROOT, run


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--axle", default=str(ROOT / "build/release/bench/attention_bench"))
    parser.add_argument("--python", default=str(ROOT / ".axle/peers/jax/bin/python"), help="a Python that has JAX")
    parser.add_argument("--tokens", action="append", type=int, required=True, help="length of a row")
    parser.add_argument("--pairs", type=int, default=3, help="rounds")
    parser.add_argument("--steps", type=int, default=3)
    parser.add_argument("--flags", default="", help="more flags of attention_bench")
    parser.add_argument("--jax-flags", default="", help="more flags of attention_jax.py")
    parser.add_argument("--jax-form", action="append", choices=["plain", "scan", "visible", "dot_product_attention"],
                        help="default: plain and scan")  # fmt: skip
    parser.add_argument("--blocks-only", action="store_true",
                        help="leave out the forms that keep all scores: 16,384 tokens of 8 heads need 8 GiB for each")  # fmt: skip
    args = parser.parse_args()
    if not pathlib.Path(args.python).exists():
        sys.exit(f"attention.py: expected a Python with JAX, got {args.python}; `./dev bench peers jax` sets it up")
    forms = args.jax_form or (["scan"] if args.blocks_only else ["plain", "scan"])
    peer = [args.python, str(ROOT / "bench/peers/attention_jax.py")]
    own_forms = {"Axle": []} if args.blocks_only else {"Axle": [], "Axle at once": ["--plain"]}
    names = [*own_forms, *(f"JAX {form}" for form in forms)]
    print("| tokens | " + " | ".join(f"{name}, ms / MiB" for name in names) + " | ratios |")
    print("|---" * (len(names) + 2) + "|")
    for tokens in args.tokens:
        common = ["--tokens", str(tokens), "--steps", str(args.steps)]
        ours = [args.axle, *common, *args.flags.split()]
        sides = [*([*ours, *form] for form in own_forms.values()), *([*peer, form, *common, *args.jax_flags.split()] for form in forms)]
        rounds = [[run(side) for side in sides] for _ in range(args.pairs)]
        losses = [r["loss"] for r in rounds[0]]
        if not all(math.isclose(loss, losses[0], rel_tol=1e-3) for loss in losses):
            sys.exit(f"attention.py: {tokens} tokens: expected equal losses, got {losses}")
        medians = [statistics.median(r[i]["step_ms"] for r in rounds) for i in range(len(sides))]
        cells = [f"{ms:.1f} / {rounds[0][i]['temporary_mib']:.0f}" for i, ms in enumerate(medians)]
        ratios = ", ".join(f"{medians[0] / ms:.2f}" for ms in medians[1:])
        print(f"| {tokens} | " + " | ".join(cells) + f" | **{ratios}** |", flush=True)


if __name__ == "__main__":
    main()
