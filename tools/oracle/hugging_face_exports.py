#!/usr/bin/env python3
"""Checks that transformers loads what `axle export` writes, and computes what Axle does.

  python -m pip install torch transformers pyyaml    # into a Python outside of the repository
  python tools/oracle/hugging_face_exports.py AXLE [NAME...]

AXLE is the program. The models are those of testdata/reference/hugging_face, read in place and imported, whose logits are
in their numbers.safetensors, and small runs of Axle's own recipes, whose logits `axle eval-layer` computes. Each exported
folder must load without a warning and without a missing, unexpected or misshapen tensor; logits may differ by 1e-4. A
tokenizer that was exported must give back the text of its ids.
"""

import json
import logging
import pathlib
import subprocess
import sys
import tempfile
import warnings

import torch
import transformers
import yaml
from safetensors.torch import load_file, save_file

REFERENCE = pathlib.Path(__file__).resolve().parents[2] / "testdata" / "reference" / "hugging_face"
TEXT = "The quick brown fox jumps over the lazy dog. Caf\u00e9, na\u00efve, \u65e5\u672c\u8a9e, \U0001f600!\n" * 400
SMALL = ["--set", "input.seq_len=32", "--set", "input.batch_size=2"]
RUNS = {
    "quickstart": SMALL,
    "gemma3-test": SMALL,
    "qwen3-test": SMALL,
    "mixtral-test": SMALL,
    "gpt2-124M": SMALL + ["--set", "input.tokenizer=ByteTokenizer", "--set", "model.decoder.vocab_size=257"] + [
        part for field in ("model_dim=32", "layers.num_layers=2", "layers.layer.attention.body.num_heads=4")
        for part in ("--set", "model.decoder." + field)],
}


class Warnings(logging.Handler):
    def __init__(self):
        super().__init__(logging.WARNING)
        self.texts = []

    def emit(self, record):
        self.texts.append(record.getMessage())


def run(*command):
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))}: exit code {done.returncode}\n{done.stderr}")
    return done.stdout


def logits_of_run(axle, folder):
    """The ids of a batch, and the logits that Axle computes for them."""
    config = yaml.safe_load((folder / "config.yaml").read_text())
    case = {"class": "Decoder", "config": {k: v for k, v in config["model"]["decoder"].items() if k != "class"}}
    (folder / "case.yaml").write_text(yaml.safe_dump(case).replace("null", "none"))
    run(axle, "checkpoint", "export", folder, folder / "all.safetensors")
    prefix = "decoder/"
    params = {"params/" + name[len(prefix):]: value
              for name, value in load_file(folder / "all.safetensors").items() if name.startswith(prefix)}
    ids = torch.randint(0, 256, (2, 24), generator=torch.Generator().manual_seed(1), dtype=torch.int32)
    save_file({**params, "in/ids": ids}, folder / "in.safetensors")
    run(axle, "eval-layer", folder / "case.yaml", "--params", folder / "in.safetensors", "--inputs",
        folder / "in.safetensors", "--output", folder / "out.safetensors")
    return ids, load_file(folder / "out.safetensors")["out"]


def check(name, folder, ids, logits):
    caught = Warnings()
    logger = transformers.utils.logging.get_logger("transformers")
    logger.addHandler(caught)
    with warnings.catch_warnings(record=True) as python_warnings:
        warnings.simplefilter("always")
        model, info = transformers.AutoModelForCausalLM.from_pretrained(
            folder, dtype=torch.float32, attn_implementation="eager", output_loading_info=True)
        model.eval()
        with torch.no_grad():
            own = model(ids.long(), use_cache=False).logits
        tokens = ""
        if (folder / "tokenizer.json").exists() or (folder / "tokenizer.model").exists():
            tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
            line = TEXT[:70]
            back = tokenizer.decode(tokenizer(line, add_special_tokens=False)["input_ids"])
            assert back == line, (name, back)
            tokens = ", tokenizer loads"
    logger.removeHandler(caught)
    texts = caught.texts + [str(w.message) for w in python_warnings if "transformers" in str(w.filename)]
    assert not texts, (name, texts)
    wrong = {key: value for key, value in info.items() if value}
    assert not wrong, (name, wrong)
    worst = float((own - logits).abs().max())
    assert worst <= 1e-4 * max(1.0, float(logits.abs().max())), (name, worst)
    kind = json.loads((folder / "config.json").read_text())["model_type"]
    print(f"{name}: {kind}, no warning, all tensors, logits differ by at most {worst:.1e}{tokens}")


def main():
    axle, wanted = pathlib.Path(sys.argv[1]).resolve(), sys.argv[2:]
    with tempfile.TemporaryDirectory() as folder:
        work = pathlib.Path(folder)
        (work / "text.txt").write_text(TEXT)
        for original in sorted(REFERENCE.iterdir()):
            if wanted and original.name not in wanted:
                continue
            numbers = load_file(original / "numbers.safetensors")
            out = work / (original.name + "-out")
            run(axle, "export", original, "--format", "hf", "--out", out)
            check(original.name, out, numbers["ids"], numbers["logits"])
        for name, flags in RUNS.items():
            if wanted and name not in wanted:
                continue
            here = work / name
            run(axle, "train", name, *flags, "--data", work / "text.txt", "--steps", 3, "--dir", here)
            out = work / (name + "-out")
            run(axle, "export", here, "--format", "hf", "--out", out, "--shard-size", 0.0001)
            check(name, out, *logits_of_run(axle, here))


if __name__ == "__main__":
    main()
