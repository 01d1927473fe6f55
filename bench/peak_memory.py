#!/usr/bin/env python3
"""The memory of Axle's compiled train step beside that of JAX's: a Llama of 12 layers (110 M parameters) in a loop, each
computed again in the backward pass. Both programs are compiled by the same CPU plugin with the same options.

  ./dev bench peers jax && bench/peak_memory.py --axle build/release/axle --rows 2 --rows 4 --rows 8

"needed" is what the program allocates: arguments, results that no argument is donated to, temporaries. Ratios below 1:
Axle needs less.
"""

import argparse
import json
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent


def run(command):
    done = subprocess.run([str(part) for part in command], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if done.returncode != 0:
        sys.exit(f"{command}: exit code {done.returncode}\n{done.stderr[-2000:]}")
    return done.stdout


def axle(args, rows, dtype):
    command = [args.axle, "compile", "--config", ROOT / "bench" / "peak_memory.yaml", "--on", "cpu:1", "--json",
               "--set", f"input.batch_size={rows}"]  # fmt: skip
    if dtype == "f32":
        command += ["--set", "compute_dtype=none"]
    memory = json.loads(run(command))["memory"]
    return {"temporaries": memory["temporary_bytes"], "needed": memory["total_bytes"] - memory["code_bytes"],
            "peak": memory["peak_bytes"]}  # fmt: skip


def jax(args, rows, dtype, folder):
    text = pathlib.Path(folder) / "step.mlir"
    script = ROOT / "bench" / "peers" / "peak_jax.py"
    run([args.jax, script, "m", "--rows", rows, "--text", text] + (["--bf16"] if dtype == "bf16" else []))
    tool = pathlib.Path(args.axle).parent / "bench" / "compile_text"
    report = json.loads(run([tool, "cpu:1", text, ""]).splitlines()[-1])
    return {"temporaries": report["temporary_bytes"], "needed": report["needed_bytes"], "peak": report["peak_bytes"]}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--axle", default=str(ROOT / "build/release/axle"), help="the program axle")
    parser.add_argument("--jax", default=str(ROOT / ".axle/peers/jax/bin/python"), help="Python with JAX")
    parser.add_argument("--rows", action="append", type=int, required=True, help="sequences of a batch")
    parser.add_argument("--dtype", action="append", choices=["f32", "bf16"], help="default: both")
    args = parser.parse_args()
    print("| rows of 512 tokens | figure | Axle | JAX | ratio |\n|---|---|---|---|---|")
    for dtype in args.dtype or ["f32", "bf16"]:
        for rows in args.rows:
            with tempfile.TemporaryDirectory() as folder:
                ours, theirs = axle(args, rows, dtype), jax(args, rows, dtype, folder)
            for name in ours:
                mib = [f"{of[name] / 2**20:.1f} MiB" for of in (ours, theirs)]
                ratio = f"**{ours[name] / theirs[name]:.3f}**" if theirs[name] else "not reported"
                print(f"| {rows}, {dtype} | {name} | {mib[0]} | {mib[1]} | {ratio} |", flush=True)


if __name__ == "__main__":
    main()
