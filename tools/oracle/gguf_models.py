#!/usr/bin/env python3
"""Makes testdata/reference/gguf/models: the tiny models of testdata/reference/hugging_face as GGUF files.

  python -m pip install gguf safetensors    # into a Python outside of the repository
  python tools/oracle/gguf_models.py [MODEL...]
  python tools/oracle/gguf_models.py --check    # needs llama-cpp-python, too

The package gguf names keys and tensors. What is done to the values is what llama.cpp's converter does: pairs that rotate
lie side by side in Llama, norms of Gemma hold 1 + w, matrices of GPT-2 are transposed, experts are one tensor. --check
runs the files with llama.cpp and compares its logits with those of transformers (numbers.safetensors).
"""

import json
import math
import pathlib
import sys

import gguf
import numpy as np
from safetensors.numpy import load_file

REFERENCE = pathlib.Path(__file__).resolve().parents[2] / "testdata" / "reference"
OUT = REFERENCE / "gguf" / "models"
ARCHITECTURES = {"mistral": "llama", "mixtral": "llama", "qwen3_moe": "qwen3moe", "gemma3_text": "gemma3"}
# Qwen3 with experts whose weights do not sum to 1 has no form as GGUF, and neither has Gemma with any query_pre_attn_scalar.
MODELS = ["gemma2", "gemma3_linear_rope", "gpt2", "llama", "llama3_rope", "llama_biased", "llama_linear_rope", "llama_tied", "llama_yarn",
          "mistral", "mixtral", "olmo2", "phi3", "phi3_longrope", "phi3_longrope_beyond", "qwen2", "qwen3", "qwen3_moe_normed"]


def add_keys(writer, config):
    size = lambda *names: next((config[n] for n in names if config.get(n) is not None), None)
    heads = size("num_attention_heads", "n_head")
    writer.add_context_length(size("max_position_embeddings", "n_positions"))
    writer.add_embedding_length(size("hidden_size", "n_embd"))
    writer.add_block_count(size("num_hidden_layers", "n_layer"))
    writer.add_feed_forward_length(size("intermediate_size", "n_inner") or 4 * config["n_embd"])
    writer.add_head_count(heads)
    writer.add_vocab_size(config["vocab_size"])
    if config["model_type"] == "gpt2":
        writer.add_layer_norm_eps(config["layer_norm_epsilon"])
        return
    writer.add_head_count_kv(config["num_key_value_heads"])
    writer.add_layer_norm_rms_eps(config["rms_norm_eps"])
    if config.get("head_dim"):
        writer.add_key_length(config["head_dim"])
        writer.add_value_length(config["head_dim"])
    writer.add_rope_dimension_count(config.get("head_dim") or config["hidden_size"] // heads)
    rope = config["rope_parameters"]
    if "sliding_attention" in rope:
        writer.add_rope_freq_base_swa(rope["sliding_attention"]["rope_theta"])
        rope = rope["full_attention"]
    writer.add_rope_freq_base(rope["rope_theta"])
    if rope["rope_type"] in ("linear", "yarn"):
        writer.add_rope_scaling_type(gguf.RopeScalingType(rope["rope_type"]))
        writer.add_rope_scaling_factor(rope["factor"])
    if "original_max_position_embeddings" in rope and rope["rope_type"] in ("yarn", "longrope"):
        writer.add_rope_scaling_orig_ctx_len(rope["original_max_position_embeddings"])
    if rope["rope_type"] == "longrope":
        ratio = config["max_position_embeddings"] / rope["original_max_position_embeddings"]
        writer.add_rope_scaling_attn_factors(
            math.sqrt(1 + math.log(ratio) / math.log(rope["original_max_position_embeddings"])))
    if config["model_type"] == "phi3":
        writer.add_sliding_window(config.get("sliding_window") or 0)
    if config["model_type"] in ("gemma2", "gemma3_text", "mistral"):  # llama.cpp takes no notice of Mistral's
        writer.add_sliding_window(config["sliding_window"])
    if config["model_type"] == "gemma2":
        writer.add_attn_logit_softcapping(config["attn_logit_softcapping"])
        writer.add_final_logit_softcapping(config["final_logit_softcapping"])
    if config["model_type"] == "gemma3_text":
        writer.add_sliding_window_pattern([kind == "sliding_attention" for kind in config["layer_types"]])
    if "num_experts_per_tok" in config:
        writer.add_expert_count(config["num_local_experts"])
        writer.add_expert_used_count(config["num_experts_per_tok"])
    if "moe_intermediate_size" in config:
        writer.add_expert_feed_forward_length(config["moe_intermediate_size"])


def add_rope_tensors(writer, config):
    rope = config.get("rope_parameters", {})
    if rope.get("rope_type") == "llama3":
        frequencies = 1 / rope["rope_theta"] ** (np.arange(0, config["head_dim"], 2) / config["head_dim"])
        turns = rope["original_max_position_embeddings"] * frequencies / (2 * np.pi)
        low, high = rope["low_freq_factor"], rope["high_freq_factor"]
        kept = np.clip((turns - low) / (high - low), 0, 1)
        writer.add_tensor("rope_freqs.weight", (1 / ((1 - kept) / rope["factor"] + kept)).astype(np.float32))
    if rope.get("rope_type") == "longrope":
        for which in ("long", "short"):
            writer.add_tensor(f"rope_factors_{which}.weight", np.array(rope[f"{which}_factor"], np.float32))


def neighbouring(value, head_dim):
    """Rows of the two halves of each head, in turns."""
    return value.reshape(-1, 2, head_dim // 2, *value.shape[1:]).swapaxes(1, 2).reshape(value.shape)


def with_merged_experts(tensors):
    out, experts = {}, {}
    for name, value in tensors.items():
        before, sign, after = name.partition(".experts.")
        if not sign:
            out[name] = value
            continue
        number, _, rest = after.partition(".")
        experts.setdefault(f"{before}.experts.{rest}", {})[int(number)] = value
    for name, values in experts.items():
        if "block_sparse_moe" in name:  # the name that the package knows
            name = name.removeprefix("model.").replace("block_sparse_moe", "feed_forward")
        out[name] = np.stack([values[i] for i in range(len(values))])
    return out


def make(name):
    folder = REFERENCE / "hugging_face" / name
    config = json.loads((folder / "config.json").read_text())
    kind = config["model_type"]
    arch = ARCHITECTURES.get(kind, kind)
    writer = gguf.GGUFWriter(OUT / f"{name}.gguf", arch)
    writer.add_type("model")
    add_keys(writer, config)
    writer.add_tokenizer_model("no_vocab")
    add_rope_tensors(writer, config)
    number = next(key for key, value in gguf.MODEL_ARCH_NAMES.items() if value == arch)
    layers = config.get("num_hidden_layers") or config["n_layer"]
    names = gguf.get_tensor_name_map(number, layers)
    head_dim = config.get("head_dim") or 4
    for theirs, value in with_merged_experts(load_file(folder / "model.safetensors")).items():
        if arch == "llama" and any(part in theirs for part in ("q_proj", "k_proj")):
            value = neighbouring(value, head_dim)
        if arch in ("gemma2", "gemma3") and theirs.endswith("norm.weight"):
            value = value + np.float32(1)
        if arch == "gpt2" and theirs.endswith(".weight") and any(part in theirs for part in (".c_", "c_fc")):
            value = value.T
        own = names.get_name(theirs, try_suffixes=(".weight", ".bias"))
        assert own, theirs
        writer.add_tensor(own, np.ascontiguousarray(value))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def check(name):
    from llama_cpp_run import Model  # beside this script

    numbers = load_file(REFERENCE / "hugging_face" / name / "numbers.safetensors")
    model = Model(OUT / f"{name}.gguf", 32)
    for ids, expected in zip(numbers["ids"], numbers["logits"]):
        model.forget()
        own = model.logits([int(i) for i in ids])
        print(f"{name:20} {np.abs(own - expected).max() / np.abs(expected).max():.2e}")


if __name__ == "__main__":
    OUT.mkdir(parents=True, exist_ok=True)
    arguments = sys.argv[1:]
    is_check = "--check" in arguments
    for model_name in [a for a in arguments if a != "--check"] or MODELS:
        check(model_name) if is_check else make(model_name)
