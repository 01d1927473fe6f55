#!/usr/bin/env python3
"""What fits where: compiles recipes ahead of time, one configuration a row, and prints a table.

  bench/fits.py --axle build/release/axle rules     every published recipe by every mesh rule, at its published batch
  bench/fits.py --axle build/release/axle sizes     the published machines, smaller ones, and what remat is worth
  bench/fits.py --axle build/release/axle long      8B with rows of 128k tokens
  bench/fits.py --axle build/release/axle times     compile time against devices and layers
"""

import argparse
import json
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).parent
GIB = 2**30
RECIPES = ("fuji-1B-v3", "fuji-7B-v1", "fuji-7B-v2", "fuji-70B-v2")
# One machine for each rule; the published ones where a rule has one. A recipe may have rules of its own.
RULES = ("tpu-v5litepod-256", "tpu-v6e-256", "tpu-v6e-128", "tpu-v5p-16", "gpu-H100-4", "neuron-trn2.48xlarge-1024",
         "cpu:2")
OWN_RULES = {"fuji-1B-v3": ("tpu-v5p-8",), "fuji-70B-v2": ("tpu-v5p-512", "gpu-H100-256")}
PUBLISHED = {"fuji-70B-v2": ("tpu-v5p-1024", "gpu-H100-512")}
NO_REMAT = ("--set", "model.decoder.layers.layer.@remat=none")
OFFLOAD = ("--set", 'model.decoder.layers.layer.@remat={class: SaveNames, names: [], offload: ["*_proj", attention_output]}')


def batch(rows):
    return ("--set", f"input.batch_size={rows}")


def rules():
    for recipe in RECIPES:
        for machine in RULES + OWN_RULES.get(recipe, ()) + PUBLISHED.get(recipe, ("tpu-v5p-512", "gpu-H100-256")):
            yield recipe, machine, ()


def sizes():
    yield "fuji-7B-v2", "tpu-v5p-512", ()
    yield "fuji-7B-v2", "tpu-v5p-512", NO_REMAT
    yield "fuji-7B-v2", "gpu-H100-256", ()
    yield "fuji-7B-v2", "gpu-H100-256", NO_REMAT
    yield "fuji-7B-v2", "gpu-H100-64", batch(256)
    yield "fuji-7B-v2", "gpu-H100-8", batch(32)
    yield "fuji-7B-v2", "gpu-H100-8", (*batch(32), *OFFLOAD)
    yield "fuji-7B-v2", "gpu-H100-8", ()
    yield "fuji-70B-v2", "tpu-v5p-1024", ()
    yield "fuji-70B-v2", "gpu-H100-512", ()
    yield "fuji-70B-v2", "gpu-H200-512", ()


def long():
    """8B at 128k tokens a row, one row a device at once, on 64 devices that share the positions of rows."""
    for target in ("gpu-H100-64", "tpu-v5p-128"):
        yield "fuji-8B-v3-tiktoken", target, (
            *("--set", "input.seq_len=131072", "--set", "model.decoder.max_seq_len=131072"), *batch(64),
            *("--set", "learner.device_rows=1", "--mesh", "fsdp=8,seq=8"))


def times():
    peer = ("--config", str(HERE / "llama_peer.yaml"))
    for target in ("tpu:v5p:2x2x2", "tpu:v5p:4x8x8", "tpu:v5p:16x16x24", "gpu:h100:1x8", "gpu:h100:32x8", "gpu:h100:512x8"):
        yield "fuji-7B-v2", target, batch(max(devices(target), 8))
    for target in ("tpu:v5p:4x8x8", "gpu:h100:32x8"):
        for layers in (8, 32, 128):
            yield None, target, (*peer, "--set", f"model.decoder.layers.num_layers={layers}")


def devices(target):
    count = 1
    for size in target.split(":")[2].split("x"):
        count *= int(size)
    return count


def compile_one(axle, recipe, target, options):
    command = [axle, "compile", *([recipe] if recipe else []), "--on", target, *options, "--no-advice", "--json"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    try:
        report = json.loads(done.stdout)
    except json.JSONDecodeError:
        return {"error": done.stderr.strip().splitlines()[-1] if done.stderr.strip() else f"exit code {done.returncode}"}
    # A mesh that is refused has a report of the training state alone.
    return {**report, "error": report["refused"]} if "refused" in report else report


def gib(number):
    return "?" if number is None else f"{number / GIB:.1f} GiB"


def verdict(report):
    if "error" in report:
        return ("no: " if report.get("fits") is False else "not known: ") + report["error"]
    headroom = gib(abs(report["headroom_bytes"])) if report["headroom_bytes"] is not None else "an unknown amount"
    if report["fits"] is None:
        return "not known"
    if report["fits"]:
        return f"yes, {headroom} to spare"
    return f"no, by {headroom}" + (", as the compiler says" if report["too_large"] else "")


def needed(report):
    if "error" in report:
        return ""
    total = report["memory"]["total_bytes"] if report["memory"] else None
    if total is None and report["headroom_bytes"] is not None:
        total = report["device_memory_bytes"] - report["headroom_bytes"]
    return f"{gib(total)} / {gib(report['device_memory_bytes'])}"


def at_least(report):
    step = report.get("step")
    return f"{step['seconds']:.2f} s, {step['bound']}, {100 * step['mfu']:.0f} %" if step else ""


def sent(report):
    sums = report.get("collective_sums")
    if not sums:
        return ""
    fast = sum(kind["sent_fast_bytes"] for kind in sums.values())
    slow = sum(kind["sent_slow_bytes"] for kind in sums.values())
    return f"{gib(fast)} / {gib(slow)}"


FITS = {
    "memory per device: needed / available": needed,
    "fits": verdict,
    "step at least, bound, MFU at most": at_least,
    "sent per device, fast / slow": sent,
}
TOOK = {"compiled in": lambda report: f"{report['compile_seconds']:.1f} s" if "compile_seconds" in report else ""}


def print_table(rows, columns, axle):
    print("| " + " | ".join(["recipe", "target", "options", "mesh", *columns]) + " |")
    print("|---" * (4 + len(columns)) + "|")
    for recipe, target, options in rows:
        report = compile_one(axle, recipe, target, options)
        shown = " ".join(option.rsplit(".", 1)[-1] for option in options[1::2] if "=" in option)
        name = f"`{recipe}`" if recipe else "llama_peer.yaml"
        cells = [name, f"`{target}`", shown, report.get("mesh", ""), *(column(report) for column in columns.values())]
        print("| " + " | ".join(cells) + " |", flush=True)
        for finding in report.get("findings", []) + report.get("compiler_warnings", []):
            print(f"  {recipe} on {target}: {finding}", file=sys.stderr, flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--axle", required=True, help="the program axle")
    parser.add_argument("--only", default="", help="rows whose recipe and target hold this text")
    parser.add_argument("table", choices=("rules", "sizes", "long", "times"))
    args = parser.parse_args()
    rows, columns = {"rules": (rules(), FITS), "sizes": (sizes(), FITS), "long": (long(), FITS), "times": (times(), TOOK)}[args.table]
    print_table([row for row in rows if args.only in f"{row[0]} {row[1]}"], columns, args.axle)


if __name__ == "__main__":
    main()
