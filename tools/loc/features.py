"""The features that are added to worlds: folders of new files below features/, and the twins that models are compared with.

A row says what a feature is called, what it is, and how a model is written that has it (see parts.py). Its files are
features/NAME/*: copied into a world, nothing else changes. The function of the feature is the modifier.
"""

import dataclasses
import pathlib

from parts import Parts, of

FOLDER = pathlib.Path(__file__).parent / "features"


@dataclasses.dataclass(frozen=True)
class Feature:
    name: str
    what: str
    twin: type
    folder: pathlib.Path = FOLDER
    edits: tuple = ()  # of existing files: (text, its replacement). The features below need none.


class Rope(Parts):
    frequencies = None

    def qkv(self, kind, layer):
        return of("RoPE", frequencies=self.frequencies, inner=self.projections(kind))


class RopeLinear(Rope):
    frequencies = of("LinearFrequencies", factor=2)


class RopeNTK(Rope):
    frequencies = of("NTKFrequencies", factor=2)


class RopeLlama3(Rope):
    frequencies = of("Llama3Frequencies", factor=8, original_len=4)


class RopeYaRN(Rope):
    frequencies = of("YaRNFrequencies", factor=4, original_len=4)


class Experts(Parts):
    router = None

    def feed_forward(self, gated):
        return {**super().feed_forward(gated), "class": "MoE", "num_experts": 4, "router": self.router}


class Switch(Experts):
    router = of("SwitchRouter")


class Top2(Experts):
    router = of("Top2Router")


class TopK(Experts):
    router = of("TopKRouter", top_k=3)


class NormedHeads(Parts):
    def qkv(self, kind, layer):
        return of("NormedQKV", query_norm=self.norm(), key_norm=self.norm(), inner=self.projections(kind))


class Lora(Parts):
    product = of("LoraProduct", rank=2, alpha=4)

    def learner(self):
        return {**super().learner(), "frozen": ["**"], "trained": ["**.lora_down", "**.lora_up"]}


class Fp8(Parts):
    product = embedding_product = of("Fp8Product")


class Ternary(Parts):
    product = embedding_product = of("TernaryProduct")


class Window(Parts):
    def causal_mask(self):
        return of("SlidingWindowMask", window=2)


class Belief(Parts):
    def optimizer(self):
        return of("AdaBelief", learning_rate=0.01)


class Tanh(Parts):
    def norm(self):
        return of("DynamicTanh")


class Relu(Parts):
    def core(self, kind):
        capped = {"logit_cap": 20} if kind == "capped" else {}  # the cap is carried over
        return of("ReluAttention", length=6, **capped)


class HeadMajor(Parts):
    def kv_cache(self, layer):
        return of("HeadMajorKVCache")


class SharedKeys(Parts):
    def kv_cache(self, layer):
        if layer == 0:
            return of("SharedKVCache", inner=super().kv_cache(layer))
        return of("BorrowedKVCache") if layer == 1 else super().kv_cache(layer)

    def qkv(self, kind, layer):
        return of("QueryOnly") if layer == 1 else self.projections(kind)


class CrossLayer(Parts):
    def attention_slot(self, index, layer):
        attention = self.attention(index, layer)
        return of("PublishedMixer", body=attention) if layer == 0 else attention

    def qkv(self, kind, layer):
        return of("SourceQKV", same_tokens=True) if layer == 1 else self.projections(kind)


FEATURES = [
    Feature("rope_linear", "RoPE, linear", RopeLinear),
    Feature("rope_ntk", "RoPE, NTK", RopeNTK),
    Feature("rope_llama3", "RoPE, Llama 3.1", RopeLlama3),
    Feature("rope_yarn", "RoPE, YaRN", RopeYaRN),
    Feature("moe_switch", "MoE, Switch", Switch),
    Feature("moe_top2", "MoE, top-2", Top2),
    Feature("moe_topk", "MoE, top-k", TopK),
    Feature("qk_norm", "QK-norm", NormedHeads),
    Feature("lora", "LoRA", Lora),
    Feature("fp8", "fp8 products", Fp8),
    Feature("ternary_product", "a product: ternary weights", Ternary),
    Feature("sliding_window", "sliding window", Window),
    Feature("adabelief", "an optimizer: AdaBelief", Belief),
    Feature("dynamic_tanh", "a norm: DynamicTanh", Tanh),
    Feature("relu_attention", "an attention core: ReLU", Relu),
    Feature("head_major_cache", "a cache layout: heads before positions", HeadMajor),
    Feature("kv_sharing", "cross-layer K/V sharing", SharedKeys),
    Feature("cross_layer_attention", "cross-layer attention", CrossLayer),
]


def feature_files(feature):
    """Path in a world -> text of the files of a feature."""
    folder = feature.folder / feature.name
    files = [path for path in sorted(folder.rglob("*")) if path.is_file()]
    return {f"features/{feature.name}/{path.relative_to(folder)}": path.read_text(encoding="utf-8") for path in files}


# What the same features cost where every class is edited. They are measured to show that the tool sees such edits.
CONTROLS = [
    Feature("rope_linear", "RoPE, linear, written into every attention class", RopeLinear,
            edits=tuple((f"Child<QKV> qkv = {kind}::Config{{}};", f"Child<QKV> qkv = RoPE::Config{{.inner = {kind}::Config{{}}}};")
                        for kind in ("FusedQKV", "FusedGroupedQKV", "SeparateQKV"))),
    Feature("moe_topk", "MoE, written into every model class", TopK,
            edits=(("= FeedForward::Config{}", "= MoE::Config{.num_experts = 4}"),
                   ("= FeedForward::Config{.gate", "= MoE::Config{.num_experts = 4, .gate"))),
    Feature("dynamic_tanh", "a norm, written into every class", Tanh, edits=(("RMSNorm::Config{}", "DynamicTanh::Config{}"),)),
]
