#!/usr/bin/env python3
"""Makes testdata/reference/peft: random adapters of the tiny models of testdata/reference/hugging_face, and what peft computes.

  python -m pip install torch transformers peft    # into a Python outside of the repository
  python tools/oracle/peft_adapters.py

A folder for each case: the files that save_pretrained writes, whose base is a path from the folder, and numbers.safetensors
with `ids` i32[2, 12] and `logits` of each position.
"""

import json
import pathlib
import shutil
import zlib

import peft
import torch
import transformers
from safetensors.torch import load_file, save_file

REFERENCE = pathlib.Path(__file__).resolve().parents[2] / "testdata" / "reference"
CASES = {
    "llama": ("llama", {"r": 3, "lora_alpha": 5, "target_modules": ["q_proj", "v_proj", "o_proj", "down_proj"]}),
    "llama_patterns": ("llama", {
        "r": 4, "lora_alpha": 6, "use_rslora": True, "target_modules": r".*\.(self_attn\.k_proj|mlp\.(gate|up)_proj)",
        "rank_pattern": {"k_proj": 2}, "alpha_pattern": {"mlp.gate_proj": 3}}),
    "gemma3": ("gemma3", {"r": 2, "lora_alpha": 2, "target_modules": "all-linear"}),
    "phi3": ("phi3", {"r": 2, "lora_alpha": 4, "target_modules": ["qkv_proj", "gate_up_proj", "o_proj"]}),
    "gpt2": ("gpt2", {"r": 2, "lora_alpha": 4, "target_modules": ["c_attn", "c_fc"], "fan_in_fan_out": True}),
    # Modules that are kept whole; "norm" names all norms. A head that is tied is trained with its table, apart from it, or not.
    "llama_saved": ("llama", {"r": 2, "target_modules": ["q_proj"], "modules_to_save": ["lm_head", "embed_tokens", "norm"]}),
    "llama_tied_saved": ("llama_tied", {"r": 2, "target_modules": ["q_proj"], "modules_to_save": ["embed_tokens"]}),
    "llama_tied_apart": ("llama_tied", {"r": 2, "target_modules": ["q_proj"], "modules_to_save": ["embed_tokens", "lm_head"]}),
    "llama_tied_head": ("llama_tied", {"r": 2, "target_modules": ["q_proj"], "modules_to_save": ["lm_head"]}),
    "llama_tied_again": ("llama_tied", {
        "r": 2, "target_modules": ["q_proj"], "modules_to_save": ["embed_tokens"], "ensure_weight_tying": True}),
    "gpt2_saved": ("gpt2", {
        "r": 2, "target_modules": ["c_fc"], "fan_in_fan_out": True, "modules_to_save": ["wte", "ln_f", "c_proj"]}),
}  # fmt: skip


def make(name):
    base, fields = CASES[name]
    torch.manual_seed(zlib.crc32(name.encode()))
    model = transformers.AutoModelForCausalLM.from_pretrained(
        REFERENCE / "hugging_face" / base, dtype=torch.float32, attn_implementation="eager")
    model = peft.get_peft_model(model, peft.LoraConfig(task_type="CAUSAL_LM", **fields)).eval()
    with torch.no_grad():
        for path, parameter in model.named_parameters():
            if "lora_" in path:
                parameter.copy_(torch.randn_like(parameter) * 0.3)
            elif "modules_to_save" in path:
                parameter.add_(torch.randn_like(parameter) * 0.3)
        ids = load_file(REFERENCE / "hugging_face" / base / "numbers.safetensors")["ids"]
        logits = model(ids.long(), use_cache=False).logits
    folder = REFERENCE / "peft" / name
    shutil.rmtree(folder, ignore_errors=True)
    model.save_pretrained(folder)
    (folder / "README.md").unlink(missing_ok=True)
    config = json.loads((folder / "adapter_config.json").read_text())
    config["base_model_name_or_path"] = f"../../hugging_face/{base}"
    for field in ("target_modules", "modules_to_save"):
        if isinstance(config[field], list):
            config[field].sort()  # a set, whose order differs between calls
    (folder / "adapter_config.json").write_text(json.dumps(config, indent=2) + "\n")
    save_file({"ids": ids, "logits": logits.contiguous()}, folder / "numbers.safetensors")
    for file in folder.iterdir():
        file.chmod(0o644)
    print(name, len(load_file(folder / "adapter_model.safetensors")), "tensors")


if __name__ == "__main__":
    for case in CASES:
        make(case)
