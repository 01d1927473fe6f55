#!/usr/bin/env python3
"""What options of the CPU's compiler and of the allocator do to a train step: the median step with each over that without
any, in alternating rounds.

  bench/options_tried.py [--bench build/release/bench/train_step_bench] [--size s] [--rounds 5] [--steps 8]
"""

import argparse
import json
import os
import statistics
import subprocess
import sys

OPTIONS = (
    "xla_cpu_enable_fast_min_max=true",
    "xla_cpu_prefer_vector_width=512",
    "xla_cpu_use_xnnpack=true",
    "xla_cpu_use_new_xtile_lowering=true",
    "xla_cpu_opt_preset=CPU_OPT_PRESET_FAST_RUNTIME",
    "xla_cpu_enable_concurrency_optimized_scheduler=true",
    "xla_cpu_enable_platform_dependent_math=true",
    "xla_cpu_use_onednn=true",
)
HUGE_PAGES = "GLIBC_TUNABLES=glibc.malloc.hugetlb=1"


def step_ms(command, option):
    """The median step in ms; None if the option is refused."""
    environment = dict(os.environ)
    if option == HUGE_PAGES:
        name, value = option.split("=", 1)
        environment[name] = value
    elif option:
        name, value = option.split("=", 1)
        command = [*command, "--set", f'compiler_options={{{name}: "{value}"}}']
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    if done.returncode != 0:
        print(f"{option}: {done.stderr.strip().splitlines()[-1]}", file=sys.stderr)
        return None
    return json.loads(done.stdout.splitlines()[-1])["step_ms"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bench", default="build/release/bench/train_step_bench")
    parser.add_argument("--size", default="s")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--steps", type=int, default=8)
    args = parser.parse_args()
    print("| option | " + " | ".join(("f32", "bf16")) + " |\n|---|---|---|")
    rows = {option: [] for option in (*OPTIONS, HUGE_PAGES)}
    for dtype in ([], ["--bf16"]):
        command = [args.bench, args.size, "--steps", str(args.steps), *dtype]
        times = {option: [] for option in ("", *rows)}
        for _ in range(args.rounds):
            for option, found in times.items():
                found.append(step_ms(command, option))
        plain = statistics.median(times[""])
        for option, cells in rows.items():
            found = times[option]
            cells.append("refused" if None in found else f"{statistics.median(found) / plain:.2f} "
                         f"({min(found) / plain:.2f}..{max(found) / plain:.2f})")  # fmt: skip
        spread = times[""]
        print(f"{args.size} {' '.join(dtype) or 'f32'}: without any {plain:.0f} ms "
              f"({min(spread):.0f}..{max(spread):.0f})", file=sys.stderr)  # fmt: skip
    for option, cells in rows.items():
        print(f"| `{option}` | " + " | ".join(cells) + " |")


if __name__ == "__main__":
    main()
