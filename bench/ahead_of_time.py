#!/usr/bin/env python3
"""Axle's ahead-of-time compile of a 7B training step beside JAX's, in alternating runs: ratios of medians.

TPU: JAX compiles its own step for the same topology with the same plugin (a command that prints what
aot_jax.py prints). GPU: JAX's StableHLO text of the same step is compiled by Axle's runtime.

  ./dev bench peers jax jax_tpu
  P=bench/peers/aot_jax.py
  bench/ahead_of_time.py --target tpu:v5p:4x8x8 --jax ".axle/peers/jax_tpu/bin/python $P v5p:4x8x8 b7 --remat"
  .axle/peers/jax/bin/python $P 128 b7 --remat --text step.mlir
  bench/ahead_of_time.py --target gpu:h100:16x8 --jax-text step.mlir --mesh fsdp=128
"""

import argparse
import json
import os
import pathlib
import re
import resource
import shlex
import statistics
import subprocess
import sys

HERE = pathlib.Path(__file__).parent


def run(command):
    """Output, errors and the peak memory of a command, in GB."""
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    out, err = process.communicate()
    if process.returncode not in (0, 6):
        sys.exit(f"{shlex.join(command)}: exit code {process.returncode}\n{err[-2000:]}")
    return out, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1e6


def compile_command(args):
    command = [args.axle, "compile", "--config", str(HERE / "llama_peer.yaml"), "--on", args.target, "--json"]
    if args.blocks:
        blocks = f"{{from: 1, queries: {args.blocks}, keys: {args.blocks}}}"
        command += ["--set", f"model.decoder.layers.layer.attention.body.core.blocks={blocks}"]
    return command


def axle(args):
    out, _ = run(compile_command(args))
    report = json.loads(out)
    return {
        "lower s": report["lower_seconds"],
        "compile s": report["compile_seconds"],
        "temporaries GB": report["memory"]["temporary_bytes"] / 1e9,
        "flops T": report["compiler_cost"].get("flops", 0) / 1e12,
        "collectives GB": sum(row["bytes"] for row in report["collectives"]) / 1e9,
    }


def jax(args):
    if args.jax_text:
        tool = pathlib.Path(args.axle).parent / "bench" / "compile_text"
        report = json.loads(run([str(tool), args.target, args.jax_text, args.mesh])[0])
        return {
            "compile s": report["compile_seconds"],
            "temporaries GB": report["temporary_bytes"] / 1e9,
            "flops T": report["compiler_cost"].get("flops", 0) / 1e12,
            "collectives GB": report["collective_bytes"] / 1e9,
        }
    out, _ = run(shlex.split(args.jax))
    trace, lower = re.search(r"trace ([\d.]+) lower ([\d.]+)", out).groups()
    return {
        "lower s": float(trace) + float(lower),
        "compile s": float(re.search(r"compile ([\d.]+)", out)[1]),
        "temporaries GB": int(re.search(r"[^_]temp_size_in_bytes=(\d+)", out)[1]) / 1e9,
        "flops T": float(re.search(r"'flops': ([\d.e+]+)", out)[1]) / 1e12,
        "host GB": float(re.search(r"rss GB ([\d.]+)", out)[1]),
    }


def host_memory(command):
    """Peak memory of a command of its own, in GB."""
    pid = os.fork()
    if pid == 0:
        sys.stdout.write(f"{run(command)[1]:.2f}\n")
        sys.stdout.flush()
        os._exit(0)
    os.waitpid(pid, 0)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--axle", default="build/release/axle", help="the program axle")
    parser.add_argument("--target", required=True)
    parser.add_argument("--jax", help="command of the JAX peer")
    parser.add_argument("--jax-text", help="JAX's StableHLO text of the step")
    parser.add_argument("--mesh", default="", help="of that text")
    parser.add_argument("--blocks", type=int, help="attention by blocks of so many queries and keys, as the peer's --blocks")
    parser.add_argument("--pairs", type=int, default=3)
    args = parser.parse_args()
    rounds = {"axle": [], "jax": []}
    for _ in range(args.pairs):
        rounds["axle"].append(axle(args))
        rounds["jax"].append(jax(args))
        print(rounds["axle"][-1], rounds["jax"][-1], file=sys.stderr, flush=True)
    print(f"\n### {args.target}, {args.pairs} rounds\n\n| | Axle | JAX | ratio |\n|---|---|---|---|")
    for name in rounds["axle"][0]:
        ours = statistics.median(r[name] for r in rounds["axle"])
        if name not in rounds["jax"][0]:
            print(f"| {name} | {ours:.3f} | | |")
            continue
        theirs = statistics.median(r[name] for r in rounds["jax"])
        ratio = f"**{ours / theirs:.3f}**" if theirs else ""
        print(f"| {name} | {ours:.3f} | {theirs:.3f} | {ratio} |")
    if "host GB" in rounds["jax"][0]:
        print(f"\nhost memory of JAX: {rounds['jax'][0]['host GB']:.2f} GB; of axle, GB: ", end="", flush=True)
        host_memory(compile_command(args))


if __name__ == "__main__":
    main()
