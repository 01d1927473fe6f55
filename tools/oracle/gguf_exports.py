#!/usr/bin/env python3
"""Checks that llama.cpp runs what `axle export --format gguf` writes, and computes what transformers does.

  python -m pip install gguf llama-cpp-python safetensors    # into a Python outside of the repository
  python tools/oracle/gguf_exports.py AXLE [NAME...]

AXLE is the program. The models are those of testdata/reference/hugging_face that have a form as GGUF. Their logits are in
numbers.safetensors; those of llama.cpp may differ by LIMITS of the largest one, by the dtype of the file. With the folder of
`./dev foreign` in AXLE_FOREIGN_DATA, SmolLM2 is exported, too: its matrices must have the type that was asked for, and logits of
a prompt may differ by REAL_LIMITS of the largest one from those of the file in F32, of which 64 greedy tokens must be those that
Axle generates. Prints a line for each model and dtype, and exits with 1 if one differs.
"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile

import numpy as np
from gguf import GGUFReader
from gguf_models import MODELS, REFERENCE
from llama_cpp_run import Model
from safetensors.numpy import load_file

# A model of 16 dims has rows of fewer numbers than a block of Q8_0.
LIMITS = {"f32": 1e-4, "f16": 2e-2, "bf16": 2e-1}
REAL_LIMITS = {"f32": 0.0, "f16": 1e-2, "bf16": 5e-2, "q8_0": 5e-2}
GELU_LIMIT = 5e-3  # a usual build of llama.cpp takes GELU from a table in f16
# llama.cpp computes other positions: it sees beyond windows, and its context chooses the divisors of LongRoPE.
OTHERWISE = ("mistral", "phi3_longrope")
PROMPT, NUM_TOKENS = "The river flows through the old city and", 64


def export(axle, model, dtype, out):
    subprocess.run([axle, "export", model, "--format", "gguf", "--dtype", dtype, "--out", out], check=True, capture_output=True)


def difference(file, numbers):
    worst, model = 0.0, Model(file, 32)
    for ids, expected in zip(numbers["ids"], numbers["logits"]):
        model.forget()
        worst = max(worst, np.abs(model.logits([int(i) for i in ids]) - expected).max() / np.abs(expected).max())
    return worst


def greedy(file):
    model = Model(file, 256)
    ids = model.tokens(PROMPT, True)
    out, logits = [], model.logits(ids)
    for i in range(NUM_TOKENS):
        out.append(int(logits[-1].argmax()))
        logits = model.logits(out[-1:], len(ids) + i)
    return out


def logits_of_prompt(file):
    model = Model(file, 256)
    return model.logits(model.tokens(PROMPT, True))


def check_real_model(axle, source, folder):
    """Whether llama.cpp continues the prompt with the tokens of Axle, by the dtype of the file."""
    command = [axle, "generate", "--from", source, "--prompt", PROMPT, "--max-tokens", str(NUM_TOKENS), "--json"]
    own = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)["tokens"]
    is_good, plain = True, None
    for dtype, limit in REAL_LIMITS.items():
        file = pathlib.Path(folder) / f"smollm2_{dtype}.gguf"
        export(axle, source, dtype, file)
        types = {tensor.tensor_type.name for tensor in GGUFReader(file).tensors if len(tensor.shape) > 1}
        logits, text = logits_of_prompt(file), greedy(file)
        plain = logits if plain is None else plain
        apart = np.abs(logits - plain).max() / np.abs(plain).max()
        common = next((i for i, pair in enumerate(zip(own, text)) if pair[0] != pair[1]), len(own))
        file.unlink()
        is_good &= types == {dtype.upper()} and apart <= limit and (dtype != "f32" or common == NUM_TOKENS)
        print(f"SmolLM2 {dtype}: matrices are {', '.join(types)}, logits {apart:.1e} from F32's, "
              f"{common} of {NUM_TOKENS} greedy tokens are Axle's", flush=True)  # fmt: skip
    return is_good


def main(axle, *names):
    is_good = True
    with tempfile.TemporaryDirectory() as folder:
        for name in names or [name for name in MODELS if name not in OTHERWISE]:
            numbers = load_file(REFERENCE / "hugging_face" / name / "numbers.safetensors")
            for dtype, limit in LIMITS.items():
                file = pathlib.Path(folder) / f"{name}_{dtype}.gguf"
                export(axle, REFERENCE / "hugging_face" / name, dtype, file)
                apart = difference(file, numbers)
                if name.startswith("g"):  # Gemma and GPT-2
                    limit = max(limit, GELU_LIMIT)
                is_good &= apart <= limit
                print(f"{name:20} {dtype:5} {apart:.1e}{'' if apart <= limit else ' DIFFERS'}", flush=True)
        if foreign := os.environ.get("AXLE_FOREIGN_DATA"):
            is_good &= check_real_model(axle, pathlib.Path(foreign) / "gguf/smollm2-135m-instruct-q4_1.gguf", folder)
    return 0 if is_good else 1


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
