#!/usr/bin/env python3
"""Makes testdata/reference/gguf/greedy.json: what llama.cpp continues 20 prompts with, in f32, on fetched models.

  python -m pip install llama-cpp-python gguf    # into a Python outside of the repository; see llama_cpp_run.py
  python tools/oracle/gguf_greedy.py FOREIGN     # the folder of `./dev foreign`

For each file and prompt: `ids`, the tokens of the prompt with what the file puts around a text; `greedy`, the 64 most
likely tokens that follow, whether one of them ends the text or not; `closest`, how near the two best logits of a step
came to each other. Steps nearer than 1e-3 are `ties`: other sums of the same numbers may decide them the other way.
"""

import json
import pathlib
import sys
import tempfile

import numpy as np
from llama_cpp_run import Model, as_f32

OUT = pathlib.Path(__file__).resolve().parents[2] / "testdata" / "reference" / "gguf" / "greedy.json"
FILES = ["gguf/smollm2-135m-instruct-q4_1.gguf", "gguf/gemma-3-270m-q4_k_m.gguf"]
NUM_TOKENS = 64
TIE = 1e-3
PROMPTS = [
    "Once upon a time",
    "The capital of France is",
    "def fibonacci(n):\n",
    "Water boils at 100 degrees because",
    "Dear Sir or Madam,\n\n",
    "1, 2, 3, 4, 5,",
    "Question: What is the largest planet?\nAnswer:",
    "#include <stdio.h>\n\nint main(void) {\n",
    "Die Hauptstadt von Deutschland ist",
    "\u65e5\u672c\u306e\u9996\u90fd\u306f",
    "Roses are red,",
    "In 1969, Neil Armstrong",
    "SELECT name FROM users WHERE",
    "The three laws of thermodynamics are",
    "To bake bread, you need",
    "{\"name\": \"Ada\", \"age\":",
    "She opened the door and",
    "Photosynthesis is the process by which",
    "2 + 2 = 4\n3 + 3 = 6\n4 + 4 =",
    "The quick brown fox jumps over the lazy dog. The quick brown fox",
]


def greedy(model):
    rows = [{"text": text, "ids": model.tokens(text, special=True), "greedy": []} for text in PROMPTS]
    gaps = [[] for _ in rows]
    last = [model.logits(row["ids"], text=i)[-1] for i, row in enumerate(rows)]
    for step in range(NUM_TOKENS):
        for row, gap, logits in zip(rows, gaps, last):
            second, best = np.argpartition(logits, -2)[-2:]
            gap.append(float(logits[best] - logits[second]))
            row["greedy"].append(int(best))
        if step < NUM_TOKENS - 1:
            last = model.logits_of_tokens(
                [(row["greedy"][-1], len(row["ids"]) + step, i) for i, row in enumerate(rows)])
    for row, gap in zip(rows, gaps):
        row["closest"] = round(min(gap), 5)
        if ties := [i for i, value in enumerate(gap) if value < TIE]:
            row["ties"] = ties
    return rows


def main(foreign):
    out = {}
    for name in FILES:
        with tempfile.TemporaryDirectory() as folder:
            whole = pathlib.Path(folder) / "f32.gguf"
            as_f32(pathlib.Path(foreign) / name, whole)
            out[pathlib.Path(name).name] = greedy(Model(whole, 128, len(PROMPTS)))
    lines = json.dumps(out, ensure_ascii=True, indent=0).replace("\n", " ").replace("{ \"text\"", "\n{\"text\"")
    OUT.write_text(lines + "\n")


if __name__ == "__main__":
    main(sys.argv[1])
