#!/usr/bin/env python3
"""Makes testdata/reference/hugging_face: tiny random models, and what transformers computes with them.

  python -m pip install torch transformers    # into a Python outside of the repository
  python tools/oracle/hugging_face_models.py [MODEL...]

A folder for each model: config.json and model.safetensors as save_pretrained writes them; numbers.safetensors with
`ids` i32[2, 12], `logits` of each position, `loss` of each row's next tokens, `greedy` i32[2, 8], the tokens that follow;
gradients/model.safetensors with the gradient of the loss for each tensor of the model.
"""

import itertools
import json
import pathlib
import shutil
import sys
import zlib

import torch
import transformers
from safetensors.torch import load_file, save_file

FP8_BLOCK = [2, 4]
FOLDER = pathlib.Path(__file__).resolve().parents[2] / "testdata" / "reference" / "hugging_face"
SMALL = {
    "vocab_size": 40,
    "hidden_size": 16,
    "intermediate_size": 24,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "max_position_embeddings": 32,
    "initializer_range": 0.3,
}
MODELS = {
    "llama": ("llama", {"rms_norm_eps": 1e-5}),
    "llama_tied": ("llama", {"tie_word_embeddings": True, "rope_theta": 1e5, "num_key_value_heads": 4}),
    "llama_biased": ("llama", {"attention_bias": True, "mlp_bias": True, "head_dim": 6}),
    "llama3_rope": ("llama", {"rope_parameters": {
        "rope_type": "llama3", "rope_theta": 5e5, "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
        "original_max_position_embeddings": 16}}),
    "llama_linear_rope": ("llama", {"rope_parameters": {"rope_type": "linear", "rope_theta": 1e4, "factor": 2.0}}),
    "llama_yarn": ("llama", {"rope_parameters": {
        "rope_type": "yarn", "rope_theta": 1e4, "factor": 4.0, "original_max_position_embeddings": 8}}),
    "llama_dynamic_rope": ("llama", {"rope_parameters": {"rope_type": "dynamic", "rope_theta": 1e4, "factor": 4.0}}),
    "llama_dynamic_rope_beyond": ("llama", {  # the texts are longer than the model was made for
        "max_position_embeddings": 8, "head_dim": 8,
        "rope_parameters": {"rope_type": "dynamic", "rope_theta": 1e4, "factor": 4.0}}),
    "mistral": ("mistral", {"sliding_window": 4, "rope_theta": 1e6}),
    "qwen2": ("qwen2", {"rope_theta": 1e6}),
    "qwen2_window": ("qwen2", {
        "num_hidden_layers": 3, "rope_theta": 1e6, "use_sliding_window": True, "sliding_window": 4, "max_window_layers": 1}),
    "qwen3": ("qwen3", {"head_dim": 8, "rope_theta": 1e6}),
    "qwen3_moe": ("qwen3_moe", {"head_dim": 8, "num_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 12}),
    "qwen3_moe_normed": ("qwen3_moe", {
        "head_dim": 8, "num_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 12, "norm_topk_prob": True}),
    "qwen3_window": ("qwen3", {
        "num_hidden_layers": 5, "head_dim": 8, "rope_theta": 1e6, "use_sliding_window": True, "sliding_window": 4,
        "layer_types": ["sliding_attention", "full_attention"] * 2 + ["sliding_attention"]}),
    "qwen3_moe_dense": ("qwen3_moe", {
        "num_hidden_layers": 6, "head_dim": 8, "num_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 12,
        "decoder_sparse_step": 2, "mlp_only_layers": [1]}),
    "qwen3_moe_by_turns": ("qwen3_moe", {
        "num_hidden_layers": 5, "head_dim": 8, "num_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 12,
        "decoder_sparse_step": 2, "use_sliding_window": True, "sliding_window": 4}),
    "mixtral": ("mixtral", {"num_local_experts": 4}),
    "phi3": ("phi3", {"pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2}),
    "phi3_longrope": ("phi3", {
        "pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2, "max_position_embeddings": 96,
        "original_max_position_embeddings": 32, "rope_parameters": {
            "rope_type": "longrope", "rope_theta": 1e4, "short_factor": [1.0, 1.5], "long_factor": [2.0, 3.0]}}),
    "phi3_longrope_beyond": ("phi3", {  # the texts are longer than the original length
        "pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2, "max_position_embeddings": 96,
        "original_max_position_embeddings": 8, "rope_parameters": {
            "rope_type": "longrope", "rope_theta": 1e4, "short_factor": [1.0, 1.5], "long_factor": [2.0, 3.0]}}),
    "gemma2": ("gemma2", {
        "num_hidden_layers": 5, "head_dim": 6, "sliding_window": 4, "query_pre_attn_scalar": 6,
        "attn_logit_softcapping": 3.0, "final_logit_softcapping": 4.0}),
    "gemma3": ("gemma3_text", {
        "num_hidden_layers": 8, "head_dim": 6, "sliding_window": 4, "query_pre_attn_scalar": 7,
        "layer_types": (["sliding_attention"] * 2 + ["full_attention"]) * 2 + ["sliding_attention"] * 2}),
    "gemma3_linear_rope": ("gemma3_text", {
        "num_hidden_layers": 7, "head_dim": 6, "sliding_window": 4, "query_pre_attn_scalar": 6,
        "layer_types": ["sliding_attention", "sliding_attention", "full_attention"] * 2 + ["sliding_attention"],
        "rope_parameters": {
            "full_attention": {"rope_type": "linear", "rope_theta": 1e6, "factor": 8.0},
            "sliding_attention": {"rope_type": "default", "rope_theta": 2e4}}}),
    "deepseek_v3": ("deepseek_v3", {
        "num_hidden_layers": 3, "first_k_dense_replace": 1, "num_key_value_heads": 4, "moe_intermediate_size": 12,
        "n_shared_experts": 2, "n_routed_experts": 8, "num_experts_per_tok": 3, "n_group": 4, "topk_group": 2,
        "routed_scaling_factor": 1.5, "kv_lora_rank": 8, "q_lora_rank": 10, "qk_rope_head_dim": 4, "v_head_dim": 6,
        "qk_nope_head_dim": 5, "rope_parameters": {
            "rope_type": "yarn", "rope_theta": 1e4, "factor": 4.0, "original_max_position_embeddings": 8, "mscale": 0.5,
            "mscale_all_dim": 1.0}}),
    "deepseek_v3_halves": ("deepseek_v3", {
        "first_k_dense_replace": 0, "num_key_value_heads": 4, "moe_intermediate_size": 12, "n_shared_experts": 1,
        "n_routed_experts": 4, "num_experts_per_tok": 2, "n_group": 1, "topk_group": 1, "kv_lora_rank": 8, "q_lora_rank": None,
        "qk_rope_head_dim": 4, "v_head_dim": 6, "qk_nope_head_dim": 5, "rope_interleave": False, "attention_bias": True,
        "rope_parameters": {"rope_type": "default", "rope_theta": 1e4}}),
    "deepseek_v3_fp8": ("deepseek_v3", {
        "num_hidden_layers": 3, "first_k_dense_replace": 1, "num_key_value_heads": 4, "moe_intermediate_size": 12,
        "n_shared_experts": 1, "n_routed_experts": 4, "num_experts_per_tok": 2, "n_group": 2, "topk_group": 1,
        "kv_lora_rank": 8, "q_lora_rank": 12, "qk_rope_head_dim": 4, "v_head_dim": 6, "qk_nope_head_dim": 5}),
    "olmo2": ("olmo2", {"rope_theta": 5e5}),
    "mamba2": ("mamba2", {
        "vocab_size": 40, "hidden_size": 16, "num_hidden_layers": 2, "head_dim": 8, "num_heads": 4, "state_size": 6, "n_groups": 2,
        "conv_kernel": 3, "chunk_size": 5}),
    "mamba2_one_group": ("mamba2", {
        "vocab_size": 40, "hidden_size": 16, "num_hidden_layers": 2, "head_dim": 16, "num_heads": 2, "state_size": 8, "n_groups": 1,
        "use_bias": True, "use_conv_bias": False, "tie_word_embeddings": True}),
    "gpt2": ("gpt2", {"vocab_size": 40, "n_embd": 16, "n_layer": 2, "n_head": 4, "n_positions": 32}),
}
# These have numbers as seeds, in this order.
SEEDED = [
    "gemma3", "gpt2", "llama", "llama3_rope", "llama_biased", "llama_linear_rope", "llama_tied", "llama_yarn", "mistral",
    "mixtral", "phi3", "qwen2", "qwen3", "qwen3_moe", "qwen3_moe_normed",
]  # fmt: skip


def in_fp8(folder):
    """Rounds the matrices of a folder to blocks in f8 as DeepSeek-V3 is published; what transformers makes of it, in f32."""
    tensors, out = load_file(folder / "model.safetensors"), {}
    for path, weight in tensors.items():
        out[path] = weight
        if not path.endswith("_proj.weight"):  # others stay plain
            continue
        rows, columns = weight.shape
        scales = torch.zeros(-(-rows // FP8_BLOCK[0]), -(-columns // FP8_BLOCK[1]))
        out[path] = torch.zeros(rows, columns, dtype=torch.float8_e4m3fn)
        for i, j in itertools.product(range(scales.shape[0]), range(scales.shape[1])):
            block = (slice(i * FP8_BLOCK[0], (i + 1) * FP8_BLOCK[0]), slice(j * FP8_BLOCK[1], (j + 1) * FP8_BLOCK[1]))
            scales[i, j] = weight[block].abs().max() / 448
            out[path][block] = (weight[block] / scales[i, j]).to(torch.float8_e4m3fn)
        out[path + "_scale_inv"] = scales
    save_file(out, folder / "model.safetensors", {"format": "pt"})
    file = folder / "config.json"
    config = json.loads(file.read_text())
    config["quantization_config"] = {
        "activation_scheme": "dynamic", "fmt": "e4m3", "quant_method": "fp8", "weight_block_size": FP8_BLOCK}  # fmt: skip
    file.write_text(json.dumps(config, indent=2) + "\n")
    plain = transformers.FineGrainedFP8Config(dequantize=True, weight_block_size=FP8_BLOCK)
    return transformers.AutoModelForCausalLM.from_pretrained(
        folder, attn_implementation="eager", dtype=torch.float32, quantization_config=plain)  # fmt: skip


def make(name):
    kind, fields = MODELS[name]
    torch.manual_seed(SEEDED.index(name) if name in SEEDED else zlib.crc32(name.encode()))
    config = transformers.AutoConfig.for_model(kind, **(fields if kind in ("gpt2", "mamba2") else {**SMALL, **fields}))
    model = transformers.AutoModelForCausalLM.from_config(config, attn_implementation="eager", dtype=torch.float32)
    model.get_input_embeddings().padding_idx = None  # or its row would have no gradient of lookups
    with torch.no_grad():  # nothing may be zero or one by its initialisation
        for path, parameter in model.named_parameters():
            parameter.copy_(torch.randn_like(parameter) * (0.5 if parameter.dim() == 1 else 0.3))
            if "norm" in path:
                parameter.add_(1)
        for path, buffer in model.named_buffers():
            if path.endswith("e_score_correction_bias"):
                buffer.copy_(torch.randn_like(buffer) * 0.1)
    folder = FOLDER / name
    shutil.rmtree(folder, ignore_errors=True)
    model.save_pretrained(folder)
    (folder / "generation_config.json").unlink(missing_ok=True)
    if name.endswith("_fp8"):
        model = in_fp8(folder)
    model.eval()
    ids = torch.randint(0, config.vocab_size, (2, 12))
    logits = model(ids, use_cache=False).logits
    loss = torch.nn.functional.cross_entropy(logits[:, :-1].flatten(0, 1), ids[:, 1:].flatten())
    loss.backward()
    text = ids
    for _ in range(8):
        text = torch.cat([text, model(text, use_cache=False).logits[:, -1:].argmax(-1)], dim=1)
    save_file({"ids": ids.int(), "logits": logits.detach().contiguous(), "loss": loss.detach(),
               "greedy": text[:, 12:].int().contiguous()}, folder / "numbers.safetensors")
    with torch.no_grad():  # written as the weights are
        for parameter in model.parameters():
            parameter.copy_(parameter.grad)
    model.save_pretrained(folder / "gradients")
    for other in (folder / "gradients").glob("*.json"):
        other.unlink()
    print(name, json.dumps(config.to_diff_dict())[:100], float(loss))


if __name__ == "__main__":
    for model_name in sys.argv[1:] or MODELS:
        make(model_name)
