#!/usr/bin/env python3
"""Compares every public tensor function of Axle with the JAX that is installed: results, gradients and vmap.

  ./dev bench peers jax
  .axle/peers/jax/bin/python tools/oracle/compare_live.py --axle build/release/axle
  .axle/peers/jax/bin/python tools/oracle/compare_live.py --axle build/release/axle --backend interpreter roll sort
  .axle/peers/jax/bin/python tools/oracle/compare_live.py --axle build/release/axle --special maximum sort

Inputs are drawn here. JAX computes each call, its vjp at drawn cotangents, and the same under vmap over a batch of two;
`axle eval-op --compare` computes them again. Collectives run in a shard_map over eight devices that JAX makes of the host.
One line for each function says how far they are apart. Exit code 1 if a function differs. functions.py says what each
function is in JAX, or why it has no line. With --special, floats are NaN, infinities, zeros of both signs and extremes among small
numbers; then a difference is something to judge, since JAX itself gives what falls out of its formulas.
"""

import argparse
import json
import pathlib
import subprocess
import sys
import tempfile

import jax
import jax.numpy as jnp
import numpy as np
from calls import arguments_of
from functions import CALLS
from tensor_file import save

jax.config.update("jax_num_cpu_devices", 8)  # for the collectives
jax.config.update("jax_enable_x64", True)
jax.config.update("jax_default_matmul_precision", "highest")
jax.config.update("jax_threefry_partitionable", True)


def is_differentiable(x):
    return np.issubdtype(x.dtype, np.inexact) or x.dtype.name == "bfloat16"


def drawn(rng, like):
    """Random numbers of the type of an array."""
    x = rng.standard_normal(like.shape)
    if np.issubdtype(like.dtype, np.complexfloating):
        x = x + 1j * rng.standard_normal(like.shape)
    return x.astype(like.dtype)


# Functions that one process of axle computes: a run that is stopped has shown the groups before.
GROUP = 20

SPECIAL = [1, np.nan, -0.0, np.inf, -1, 0.5, 0.0, -np.inf, 2.5, 3e38, -3e38, 1.2e-38, -2.0]


def special(x, first):
    """The array with special numbers in place of its floats."""
    if not is_differentiable(x) or np.issubdtype(x.dtype, np.complexfloating):
        return x
    at = first + np.arange(x.size) * 3
    with np.errstate(over="ignore"):
        return np.asarray(SPECIAL)[at % len(SPECIAL)].reshape(x.shape).astype(x.dtype)


class Batch:
    """Cases with their inputs and what JAX computes of them."""

    def __init__(self):
        self.cases, self.inputs, self.results = [], {}, {}

    def add(self, name, function, call, seed, mapped, is_special):
        """Adds one call."""
        rng = np.random.default_rng(len(self.cases))
        arrays = arguments_of(call, seed)
        if is_special:
            arrays = [[special(x, 5 * i + 2 * seed) for x in operand] for i, operand in enumerate(arrays)]
        flat = [x for operand in arrays for x in operand]
        sizes = [len(operand) for operand in arrays]
        if mapped:
            others = [x for operand in arguments_of(call, seed + 100) for x in operand]
            if is_special:
                others = [special(x, 7 * i + 1) for i, x in enumerate(others)]
            flat = [np.stack(pair) for pair in zip(flat, others)]

        def of_flat(*xs):
            xs, operands = [jnp.asarray(x) for x in xs], []
            for size, spec in zip(sizes, call.operands):
                part, xs = xs[:size], xs[size:]
                operands.append(part if spec.is_list else part[0])
            return tuple(jax.tree.leaves((call.devices.mapped(call.jax) if call.devices else call.jax)(*operands)))

        fn = jax.vmap(of_flat) if mapped else of_flat
        outputs = [np.asarray(y) for y in fn(*flat)]
        case = {"name": name} | (call.steps or {"function": function, "attributes": call.attributes})
        places = iter(range(len(flat)))
        case["inputs"] = {
            spec.name: [f"in{next(places)}" for _ in operand] if spec.is_list else f"in{next(places)}"
            for spec, operand in zip(call.operands, arrays)
        }
        if call.devices:
            case["shard_map"] = call.devices.case()
        if call.tolerance:
            case["tolerance"] = call.tolerance
        if mapped:
            case["vmap"] = {"out_axes": [0] * len(outputs)} if flat else {}
        floats = [i for i, x in enumerate(flat) if is_differentiable(x)]
        if call.vjp and floats and any(is_differentiable(y) for y in outputs):
            case["vjp"] = True
            cotangents = [drawn(rng, y) if is_differentiable(y) else None for y in outputs]

            def of_floats(*xs):
                ys = fn(*(xs[floats.index(i)] if i in floats else x for i, x in enumerate(flat)))
                return tuple(y for y, ct in zip(ys, cotangents) if ct is not None)

            _, pullback = jax.vjp(of_floats, *(flat[i] for i in floats))
            gradients = pullback(tuple(ct for ct in cotangents if ct is not None))
            self.results |= {f"{name}/grad{i}": np.asarray(g) for i, g in zip(floats, gradients)}
            self.inputs |= {f"{name}/ct{i}": ct for i, ct in enumerate(cotangents) if ct is not None}
        self.inputs |= {f"{name}/in{i}": np.asarray(x) for i, x in enumerate(flat)}
        self.results |= {f"{name}/out{i}": y for i, y in enumerate(outputs)}
        self.cases.append(case)

    def compare(self, axle, backend):
        """The report of eval-op, and its messages."""
        with tempfile.TemporaryDirectory() as folder:
            folder = pathlib.Path(folder)
            save(folder / "in.safetensors", self.inputs)
            save(folder / "out.safetensors", self.results)
            # JSON is YAML. Case i is in line i + 2.
            lines = ",\n".join(json.dumps(case) for case in self.cases)
            (folder / "cases.yaml").write_text('{"cases": [\n' + lines + "\n]}", encoding="utf-8")
            command = [axle, "eval-op", folder / "cases.yaml", "--inputs", folder / "in.safetensors", "--json",
                       "--compare", folder / "out.safetensors", "--backend", backend]  # fmt: skip
            done = subprocess.run(command, capture_output=True, text=True, check=False)
        if not done.stdout:
            sys.exit(done.stderr)
        return json.loads(done.stdout)


def compared(functions, args):
    """The number of calls of the functions, the largest difference of each, and what is wrong with each that differs."""
    batch, wrong = Batch(), {}
    for function in functions:
        for i, call in enumerate(CALLS[function]):
            for mapped in (False, True) if call.vmap else (False,):
                name = f"{function}/{i}{'/vmap' if mapped else ''}"
                try:
                    with jax.enable_x64(call.x64):
                        batch.add(name, function, call, i, mapped, args.special)
                except Exception as error:  # a mistake of the line in functions.py, or JAX cannot do it
                    wrong.setdefault(function, []).append(f"{name}: JAX: {str(error).splitlines()[0]}")
    if not batch.cases:
        return 0, {}, wrong
    report = batch.compare(args.axle, args.backend)
    largest = {}
    for tensor in report["tensors"]:
        function = tensor["name"].split("/")[0]
        largest[function] = max(largest.get(function, 0), tensor["max_rel"] or 0)
        if tensor["verdict"] != "ok":
            wrong.setdefault(function, []).append(f"{tensor['name']}: {tensor['verdict']}: {tensor['worst'] or tensor['got']}")
    for failure in report["failures"]:
        line = int(failure.split("cases.yaml:")[1].split(":")[0])
        name = batch.cases[line - 2]["name"]
        wrong.setdefault(name.split("/")[0], []).append(failure.split(": ", 1)[1])
    return len(batch.cases), largest, wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--axle", default="axle", help="the program")
    parser.add_argument("--backend", default="cpu")
    parser.add_argument("--special", action="store_true", help="special numbers in place of drawn floats")
    parser.add_argument("functions", nargs="*", help="names of functions (default: all)")
    args = parser.parse_args()
    unknown = set(args.functions) - set(CALLS)
    if unknown:
        sys.exit(f"no line in functions.py: {', '.join(sorted(unknown))}")
    names = args.functions or sorted(CALLS)
    num_calls, differing = 0, []
    for group in (names[i : i + GROUP] for i in range(0, len(names), GROUP)):
        of_group, largest, wrong = compared(group, args)
        num_calls += of_group
        differing += [name for name in group if name in wrong]
        for name in group:
            print(f"{name}: " + ("DIFFERS" if name in wrong else f"ok, within {largest.get(name, 0):.1e}"))
            for line in wrong.get(name, []):
                print(f"    {line}")
        sys.stdout.flush()
    print(f"jax {jax.__version__}: {num_calls} calls of {len(names)} functions, {len(differing)} functions differ")
    if differing:
        print("differ: " + " ".join(differing))
    return 1 if differing else 0


if __name__ == "__main__":
    sys.exit(main())
