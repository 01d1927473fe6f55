#!/usr/bin/env python3
"""Steps and compile times of five small models beside JAX's, in alternating runs on one machine.

Every round runs Axle and JAX once, in turn. A ratio is Axle's median over that of the faster form of JAX (for the
transformer and the LSTM there are two: layers or steps of time one by one, or a scan): below 1, Axle is faster. Both
sides have the same weights and data; their first losses must agree.

  ./dev bench peers jax && bench/core_models.py --pairs 7 --steps 10

With --same-compiler, JAX's StableHLO program also runs through Axle's plugin: where its ratio is that of Axle's own
program, the difference is between two builds of the compiler.
"""

import argparse
import math
import pathlib
import statistics
import sys
import tempfile

from against_jax import ROOT, interval, run

MODELS = {
    "mlp": ["mlp"],
    "transformer": ["transformer_unrolled", "transformer_scan"],
    "conv": ["conv"],
    "lstm": ["lstm_unrolled", "lstm_scan"],
    "moe": ["moe"],
}


def check_losses(results):
    losses = {name: result["first_loss"] for name, result in results.items()}
    low, high = min(losses.values()), max(losses.values())
    if high - low > 1e-4 * abs(high):
        sys.exit(f"core_models.py: expected the same first loss of all programs, got {losses}")


def compare(args, model, folder):
    steps = ["--steps", str(args.steps)]
    commands = {}
    for form in MODELS[model]:
        dump = ["--dump", str(folder / f"{form}.mlir")]
        commands[f"jax {form}"] = [args.python, str(ROOT / "bench/peers/core_models_jax.py"), form, *steps, *dump]
        commands[f"axle {form}"] = [args.axle, form, *steps]
        if args.same_compiler:
            commands[f"text {form}"] = [args.axle, form, *steps, "--text", dump[1]]
    runs = {name: [] for name in commands}
    for _ in range(args.pairs):
        for name, command in commands.items():
            runs[name].append(run(command))
            print(f"{name}: {runs[name][-1]['step_ms']:.1f} ms", file=sys.stderr, flush=True)
        check_losses({name: of_name[-1] for name, of_name in runs.items()})

    print(f"\n### {model}, {args.pairs} rounds of {args.steps} steps\n")
    print("| | step ms, median (min..max) | compile s | trace s | last loss |\n|---|---|---|---|---|")
    median = {}
    for name, of_name in runs.items():
        times = [r["step_ms"] for r in of_name]
        median[name] = {key: statistics.median(r[key] for r in of_name) for key in ("step_ms", "compile_s", "trace_s")}
        print(
            f"| {name} | {median[name]['step_ms']:.1f} ({min(times):.1f}..{max(times):.1f}) "
            f"| {median[name]['compile_s']:.2f} | {median[name]['trace_s']:.2f} | {of_name[-1]['loss']:.5f} |"
        )

    def fastest(kind):
        return min((n for n in median if n.startswith(kind)), key=lambda n: median[n]["step_ms"])

    theirs = fastest("jax")
    ratios = {}
    for kind in ["axle"] + (["text"] if args.same_compiler else []):
        ours = fastest(kind)
        ratios[kind] = median[ours]["step_ms"] / median[theirs]["step_ms"]
        compile_ratio = median[ours]["compile_s"] / median[theirs]["compile_s"]
        low, high = interval([r["step_ms"] for r in runs[ours]], [r["step_ms"] for r in runs[theirs]])
        print(
            f"\n{model}: {ours} / {theirs} = **{ratios[kind]:.3f}** of the step (95 %: {low:.3f}..{high:.3f}), "
            f"{compile_ratio:.3f} of compiling",
            flush=True,
        )
    return ratios


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--axle", default=str(ROOT / "build/release/bench/core_models_bench"))
    parser.add_argument("--python", default=str(ROOT / ".axle/peers/jax/bin/python"), help="a Python that has JAX")
    parser.add_argument("--model", action="append", choices=MODELS, help="default: all")
    parser.add_argument("--pairs", type=int, default=7, help="rounds")
    parser.add_argument("--steps", type=int, default=10)
    parser.add_argument("--same-compiler", action="store_true", help="also run JAX's program through Axle's plugin")
    args = parser.parse_args()
    if not pathlib.Path(args.python).exists():
        sys.exit(f"core_models.py: expected a Python with JAX, got {args.python}; `./dev bench peers jax` sets it up")
    with tempfile.TemporaryDirectory() as folder:
        ratios = [compare(args, model, pathlib.Path(folder)) for model in args.model or MODELS]
    for kind in ratios[0]:
        values = [r[kind] for r in ratios]
        mean = math.exp(statistics.fmean(map(math.log, values)))
        print(f"\n{kind}: geometric mean of the step ratios **{mean:.3f}**, largest {max(values):.3f}")


if __name__ == "__main__":
    main()
