#!/usr/bin/env python3
"""Compares `axle eval --task` with lm-evaluation-harness and transformers on the same model, which Axle exports.

  HF_HUB_OFFLINE=1 python tools/oracle/lm_eval_exported.py PROGRAM MODEL TASK.yaml...

PROGRAM is the built program; MODEL what `axle export` takes: a run, an import, a GGUF file, a folder of Hugging Face, with
weights in f32. Log-likelihoods may differ by 1e-3, below -100 by 1e-5 of them; choices and answers must be equal. The tasks of
testdata/reference/lm_eval/tasks will do, from that folder. Needs lm-eval, torch and transformers outside of the repository.
"""

import json
import pathlib
import subprocess
import sys
import tempfile

from lm_eval_numbers import HFLM, TaskManager, lm_eval, sample_of

LIMIT, TOLERANCE, RELATIVE = 24, 1e-3, 1e-5


def own_samples(program, model, task, folder):
    out = pathlib.Path(folder, "samples.jsonl")
    subprocess.run([program, "eval", "--from", model, "--task", task, "--samples", out, "--limit", str(LIMIT)],
                   check=True, stdout=subprocess.DEVNULL)  # fmt: skip
    return [json.loads(line) for line in out.read_text(encoding="utf-8").splitlines()]


def likelihoods(sample):
    if "requests" in sample:
        return [request["log_likelihood"] for request in sample["requests"]]
    return [sample["log_likelihood"]] if "log_likelihood" in sample else []


def compared(own, theirs):
    """The largest difference of log-likelihoods, the largest in parts of TOLERANCE, and how many choices or answers differ."""
    apart, worst, others = 0.0, 0.0, 0
    for a, b in zip(own, theirs, strict=True):
        pairs = list(zip(likelihoods(a), likelihoods(b), strict=True))
        apart = max([apart, *(abs(x - y) for x, y in pairs)])
        worst = max([worst, *(abs(x - y) / max(TOLERANCE, RELATIVE * abs(y)) for x, y in pairs)])
        if pairs and "requests" in b:
            best = [max(range(len(pairs)), key=lambda i, side=side: pairs[i][side]) for side in (0, 1)]
            others += best[0] != best[1]
        else:
            others += a.get("answer") != b.get("answer")
    return apart, worst, others


def main():
    program, model, *tasks = sys.argv[1:]
    faults = 0
    with tempfile.TemporaryDirectory() as folder:
        exported = pathlib.Path(folder, "exported")
        subprocess.run([program, "export", model, "--format", "hf", "--dtype", "f32", "--out", exported], check=True)
        reference = HFLM(pretrained=str(exported), dtype="float32", device="cpu", batch_size=4)
        for task in map(pathlib.Path, tasks):
            result = lm_eval.simple_evaluate(
                model=reference, tasks=[task.stem], log_samples=True, limit=LIMIT,
                task_manager=TaskManager(include_path=str(task.parent), include_defaults=False))  # fmt: skip
            theirs = sorted(result["samples"][task.stem], key=lambda one: one["doc_id"])
            own = own_samples(program, model, str(task), folder)
            apart, worst, others = compared(own, [sample_of(one) for one in theirs])
            faults += worst > 1 or others > 0
            print(f"{task.stem}: {len(own)} documents, log-likelihoods {apart:.1e} apart ({worst:.0%} of the limit), "
                  f"{others} other choices or answers")  # fmt: skip
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
