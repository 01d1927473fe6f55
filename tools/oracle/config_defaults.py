#!/usr/bin/env python3
"""Makes testdata/reference/hugging_face_defaults.json: what the config classes of transformers take for a missing field.

  python -m pip install torch transformers    # into a Python outside of the repository
  python tools/oracle/config_defaults.py

For each family: `fields`, a config whose values are none of the defaults; `resolved`, what transformers makes of it; and
`without`, by the name of a field: how what transformers makes of the config without that field differs from `resolved`.
"""

import json
import math
import pathlib

import transformers

FILE = pathlib.Path(__file__).resolve().parents[2] / "testdata" / "reference" / "hugging_face_defaults.json"
COMMON = {
    "vocab_size": 40,
    "hidden_size": 48,
    "intermediate_size": 56,
    "num_hidden_layers": 3,
    "num_attention_heads": 6,
    "num_key_value_heads": 3,
    "max_position_embeddings": 64,
    "rms_norm_eps": 1e-3,
    "rope_theta": 5e4,
    "tie_word_embeddings": True,
    "hidden_act": "gelu",
}
EXPERTS = {"num_experts_per_tok": 3, "output_router_logits": True, "router_aux_loss_coef": 0.5}
GEMMA = {
    **{key: value for key, value in COMMON.items() if key != "hidden_act"},
    "tie_word_embeddings": False,
    "hidden_activation": "gelu",
    "head_dim": 10,
    "attention_bias": True,
    "query_pre_attn_scalar": 25,
    "sliding_window": 7,
    "attn_logit_softcapping": 6.0,
    "final_logit_softcapping": 5.0,
    "layer_types": ["full_attention", "sliding_attention", "full_attention"],
}
FAMILIES = {
    "llama": {**COMMON, "head_dim": 10, "attention_bias": True, "mlp_bias": True},
    "mistral": {**COMMON, "head_dim": 10, "sliding_window": 7},
    "mixtral": {**COMMON, **EXPERTS, "head_dim": 10, "sliding_window": 7, "num_local_experts": 5},
    "qwen2": COMMON,
    "qwen3": {**COMMON, "head_dim": 10, "attention_bias": True},
    "qwen3_moe": {**COMMON, **EXPERTS, "head_dim": 10, "attention_bias": True, "num_experts": 5,
                  "moe_intermediate_size": 20, "norm_topk_prob": True},
    "phi3": {**COMMON, "sliding_window": 7, "partial_rotary_factor": 0.5, "pad_token_id": 0, "bos_token_id": 1,
             "eos_token_id": 2},
    "gemma2": GEMMA,
    "gemma3_text": {**GEMMA, "rope_local_base_freq": 3e4},
    "olmo2": {**COMMON, "attention_bias": True},
    "deepseek_v3": {
        **COMMON, "num_key_value_heads": 6, "attention_bias": True, "kv_lora_rank": 12, "q_lora_rank": 14,
        "qk_nope_head_dim": 10, "qk_rope_head_dim": 6, "v_head_dim": 9, "rope_interleave": False,
        "first_k_dense_replace": 1, "n_routed_experts": 12, "n_shared_experts": 2, "num_experts_per_tok": 3,
        "moe_intermediate_size": 20, "routed_scaling_factor": 1.5, "n_group": 4, "topk_group": 2},
    "mamba2": {
        "vocab_size": 40, "hidden_size": 48, "num_hidden_layers": 3, "expand": 3, "num_heads": 12, "head_dim": 12,
        "state_size": 10, "n_groups": 3, "conv_kernel": 3, "chunk_size": 16, "use_bias": True, "use_conv_bias": False,
        "layer_norm_epsilon": 1e-3, "tie_word_embeddings": True},
    "gpt2": {"vocab_size": 40, "n_positions": 64, "n_embd": 48, "n_layer": 3, "n_head": 6, "n_inner": 56,
             "activation_function": "relu", "layer_norm_epsilon": 1e-3, "tie_word_embeddings": False},
}
UNREAD = {"id2label", "label2id", "transformers_version", "time_step_limit"}


def resolved(family: str, fields: dict) -> dict:
    out = transformers.AutoConfig.for_model(family, **fields).to_dict()
    finite = lambda value: not isinstance(value, float) or math.isfinite(value)
    return {key: value for key, value in sorted(out.items()) if key not in UNREAD and finite(value)}


def differences(after: dict, before: dict) -> dict:
    return {key: after.get(key) for key in sorted(after.keys() | before.keys())
            if key not in before or key not in after or after[key] != before[key]}


def main() -> None:
    families = {}
    for family, fields in FAMILIES.items():
        whole = resolved(family, fields)
        without = {}
        for key in fields:
            rest = {other: value for other, value in fields.items() if other != key}
            try:
                without[key] = differences(resolved(family, rest), whole)
            except Exception as error:  # transformers refuses it, too
                print(f"{family} without {key}: {type(error).__name__}: {error}")
        families[family] = {"fields": fields, "resolved": whole, "without": without}
    text = json.dumps({"transformers": transformers.__version__, "families": families}, indent=1)
    FILE.write_text(text + "\n")


if __name__ == "__main__":
    main()
