#!/usr/bin/env python3
"""Checks that transformers loads what `axle export` writes, and computes what Axle does.

  python -m pip install torch transformers peft pyyaml    # into a Python outside of the repository
  python tools/oracle/hugging_face_exports.py AXLE [NAME...]

AXLE is the program. The models are those of testdata/reference/hugging_face, read in place and imported, whose logits are
in their numbers.safetensors, and small runs of Axle's own recipes, whose logits `axle eval-layer` computes. Each exported
folder must load without a warning and without a missing, unexpected or misshapen tensor; logits may differ by 1e-4. A
tokenizer that was exported must give back the text of its ids. Adapters that `--lora` trains on the models of testdata must
load with peft, and give the logits of the merged model, also with norms and embeddings trained beside them. With
AXLE_FOREIGN_DATA (./dev foreign) real models are exported, too: their tokens must be those of llama.cpp.
"""

import contextlib
import json
import logging
import os
import pathlib
import subprocess
import sys
import tempfile
import warnings

import peft
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
    "mamba2-test": SMALL,
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


@contextlib.contextmanager
def no_warning(name):
    """Fails if transformers warns."""
    caught = Warnings()
    logger = transformers.utils.logging.get_logger("transformers")
    logger.addHandler(caught)
    with warnings.catch_warnings(record=True) as python_warnings:
        warnings.simplefilter("always")
        yield
    logger.removeHandler(caught)
    caught.texts = [text for text in caught.texts if "falling back to its reference PyTorch" not in text]  # of the machine
    texts = caught.texts + [str(w.message) for w in python_warnings if "transformers" in str(w.filename)]
    assert not texts, (name, texts)


def loaded(name, folder):
    """The model of a folder, whose tensors are all there, and no others."""
    model, info = transformers.AutoModelForCausalLM.from_pretrained(
        folder, dtype=torch.float32, attn_implementation="eager", output_loading_info=True)
    wrong = {key: value for key, value in info.items() if value}
    assert not wrong, (name, wrong)
    return model.eval()


def check(name, folder, ids, logits):
    with no_warning(name):
        model = loaded(name, folder)
        with torch.no_grad():
            own = model(ids.long(), use_cache=False).logits
        tokens = ""
        if (folder / "tokenizer.json").exists() or (folder / "tokenizer.model").exists():
            tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
            line = TEXT[:70]
            back = tokenizer.decode(tokenizer(line, add_special_tokens=False)["input_ids"])
            assert back == line, (name, back)
            tokens = ", tokenizer loads"
    worst = float((own - logits).abs().max())
    assert worst <= 1e-4 * max(1.0, float(logits.abs().max())), (name, worst)
    kind = json.loads((folder / "config.json").read_text())["model_type"]
    print(f"{name}: {kind}, no warning, all tensors, logits differ by at most {worst:.1e}{tokens}")


def check_adapters(axle, name, original, work, lora):
    config = json.loads((original / "config.json").read_text())
    family, seq_len = config["model_type"], min(16, config.get("max_position_embeddings", 16))
    run(axle, "train", "--init-from", original, "--data", "synthetic", "--steps", 4, "--lora", lora, "--dir",
        work / (name + "-lora"), "--set", f"input.seq_len={seq_len}", "--set", "learner.optimizer.learning_rate.peak=0.1")
    run(axle, "export", work / (name + "-lora"), "--format", "peft", "--family", family, "--out", work / (name + "-peft"))
    run(axle, "export", work / (name + "-lora"), "--out", work / (name + "-merged"))
    ids = load_file(original / "numbers.safetensors")["ids"].long()

    def load(folder):
        return transformers.AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32, attn_implementation="eager").eval()

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        adapted = peft.PeftModel.from_pretrained(load(original), work / (name + "-peft")).eval()
    # peft itself asks transformers by an old name.
    texts = [str(w.message) for w in caught if "peft" in str(w.filename) and "is_gradient_checkpointing" not in str(w.message)]
    assert not texts, (name, texts)
    with torch.no_grad():
        base, own = load(original)(ids, use_cache=False).logits, adapted(ids, use_cache=False).logits
        merged = load(work / (name + "-merged"))(ids, use_cache=False).logits
    worst, change = float((own - merged).abs().max()), float((own - base).abs().max())
    assert worst <= 1e-4 * max(1.0, float(merged.abs().max())) and change > 1e-2, (name, worst, change)
    print(f"{name}: peft loads the adapters, logits differ from the merged ones by at most {worst:.1e} (from the base: {change:.1e})")


REAL = {"smollm2": "smollm2-135m-instruct-q4_1.gguf", "gemma3-270m": "gemma-3-270m-q4_k_m.gguf"}


def check_real(axle, work, name):
    """A real model from a GGUF file: the ids and the greedy tokens of llama.cpp (tools/oracle/gguf_greedy.py)."""
    file = pathlib.Path(os.environ["AXLE_FOREIGN_DATA"]) / "gguf" / REAL[name]
    out = work / (name + "-out")
    run(axle, "export", file, "--out", out)
    with no_warning(name):
        model, tokenizer = loaded(name, out), transformers.AutoTokenizer.from_pretrained(out)
    rows = json.loads((REFERENCE.parent / "gguf" / "greedy.json").read_text())[file.name]
    for row in rows[:6]:
        ids = tokenizer(row["text"])["input_ids"]
        assert ids == row["ids"], (row["text"], ids)
        text = model.generate(torch.tensor([ids]), max_new_tokens=32, do_sample=False, eos_token_id=None)[0]
        assert text[len(ids):].tolist() == row["greedy"][:32], row["text"]
    if name == "smollm2":
        check_turn(tokenizer)
    print(f"{name}: no warning, all tensors, ids of prompts and 32 greedy tokens of 6 prompts are llama.cpp's")


def check_turn(tokenizer):
    turn = tokenizer.apply_chat_template([{"role": "user", "content": "Hi"}], tokenize=False, add_generation_prompt=True)
    assert turn.endswith("<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n"), turn


def main():
    axle, wanted = pathlib.Path(sys.argv[1]).resolve(), sys.argv[2:]
    with tempfile.TemporaryDirectory() as folder:
        work = pathlib.Path(folder)
        (work / "text.txt").write_text(TEXT)
        (work / "beside").mkdir()
        for original in sorted(REFERENCE.iterdir()):
            if wanted and original.name not in wanted:
                continue
            numbers = load_file(original / "numbers.safetensors")
            imported = work / (original.name + "-imported")
            run(axle, "import", original, "--out", imported)
            for source, what in ((original, "read in place"), (imported, "imported")):
                out = work / f"{original.name}-{what.split()[0]}-out"
                run(axle, "export", source, "--format", "hf", "--out", out)
                check(f"{original.name}, {what}", out, numbers["ids"], numbers["logits"])
            # peft knows no adapters of experts, and none of all of Mamba's projections
            if not any(part in original.name for part in ("moe", "mixtral", "deepseek", "mamba")):
                check_adapters(axle, original.name, original, work, "rank=3,alpha=5")
                check_adapters(axle, original.name, original, work / "beside",
                               "rank=3,at=**.attention.**,also_train=[**.scale,**.emb.weight]")
        for name, flags in RUNS.items():
            if wanted and name not in wanted:
                continue
            here = work / name
            run(axle, "train", name, *flags, "--data", work / "text.txt", "--steps", 3, "--dir", here)
            out = work / (name + "-out")
            run(axle, "export", here, "--format", "hf", "--out", out, "--shard-size", 0.0001)
            check(name, out, *logits_of_run(axle, here))
        for name in REAL:
            if "AXLE_FOREIGN_DATA" in os.environ and (not wanted or name in wanted):
                check_real(axle, work, name)


if __name__ == "__main__":
    main()
