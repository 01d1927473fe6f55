"""Whole models, written out part by part, as the documents that a world reads.

`Parts` writes the models of a world as they are. A subclass that overrides a part writes the same models with a feature
in them, by hand: no modifier takes part. These are the twins that the modified worlds are compared with.
"""

import variants
from variants import WIDTH


def of(name, **fields):
    """A config: {class: name, field: value}."""
    return {"class": name, **fields}


class Parts:
    product = None  # the class that multiplies by each weight; none: the default of the library
    embedding_product = None  # the same of the embedding, whose weight makes the logits, too

    def norm(self):
        return of("RMSNorm")

    def weighted(self, name, **fields):
        """A layer with a weight."""
        return of(name, **fields, **({"product": self.product} if self.product else {}))

    def linear(self, bias=True):
        return self.weighted("Linear", bias=bias)

    def head_input(self):
        return self.weighted("HeadInputLinear")

    def head_output(self):
        return self.weighted("HeadOutputLinear")

    def embedding(self):
        return of("Embedding", **({"product": self.embedding_product} if self.embedding_product else {}))

    def gate(self):
        """The gate of a feed-forward layer, a projection of the model dim to the hidden dim."""
        return self.linear(bias=False)

    def feed_forward(self, gated):
        fields = {"gate": self.gate()} if gated else {}
        return of("FeedForward", up=self.linear(bias=False), down=self.linear(bias=False), **fields)

    def projections(self, kind):
        """Projections to queries, keys and values."""
        if kind == "FusedQKV":
            return self.weighted(kind)
        if kind == "FusedGroupedQKV":
            return of(kind, proj=self.head_input())
        return of(kind, q_proj=self.head_input(), k_proj=self.head_input(), v_proj=self.head_input())

    def qkv(self, kind, layer):
        return self.projections(kind)

    def causal_mask(self):
        return of("CausalMask")

    def mask(self, kind):
        if kind == "causal":
            return self.causal_mask()
        if kind == "window":
            return of("SlidingWindowMask", window=3)
        return of("AllOf", masks=[self.causal_mask(), of("SlidingWindowMask", window=4)])

    def core(self, kind):
        fields = {"sink": {"sink": True}, "capped": {"logit_cap": 20}}.get(kind, {})
        return of("SigmoidAttention" if kind == "sigmoid" else "SoftmaxAttention", **fields)

    def kv_cache(self, layer):
        return of("DenseKVCache")

    def attention(self, index, layer):
        chosen = variants.attention_traits(index)
        fields = {
            "mask": self.mask(chosen["mask"]),
            "qkv": self.qkv(chosen["qkv"], layer),
            "core": self.core(chosen["core"]),
            "kv_cache": self.kv_cache(layer),
            "output": self.head_output(),
        }
        if chosen["value_norm"] == "norm":
            fields["value_norm"] = self.norm()
        if chosen["gate"] == "sigmoid":
            fields["gate"] = self.head_input()
        return of(variants.attention_name(index), **fields)

    def attention_slot(self, index, layer):
        """What stands in the slot of a model."""
        return self.attention(index, layer)

    def model(self, index, attention):
        chosen = variants.model_traits(index)
        fields = {}
        for layer in range(variants.num_layers(chosen)):
            fields[f"attention{layer}"] = self.attention_slot(attention, layer)
        for name in variants.feed_forward_slots(chosen):
            fields[name] = self.feed_forward(chosen["gate"] == "linear")
        for name in variants.norm_slots(chosen):
            fields[name] = self.norm()
        for name in variants.gate_slots(chosen):
            fields[name] = self.linear()
        return of(variants.model_name(index), **fields)

    def optimizer(self):
        return of("AdamW", learning_rate=0.01)

    def learner(self):
        return of("Learner", optimizer=self.optimizer())

    def experiment(self, model, attention):
        decoder = of("Decoder", model_dim=WIDTH, vocab_size=16, emb=self.embedding(), layers=self.model(model, attention),
                     output_norm=self.norm())
        return {"model": of("CausalLM", decoder=decoder), "learner": self.learner()}


class Defaults(Parts):
    """The models of a world, as short as possible: every class with its defaults."""

    def model(self, index, attention):
        layers = range(variants.num_layers(variants.model_traits(index)))
        slots = {f"attention{layer}": of(variants.attention_name(attention)) for layer in layers}
        return of(variants.model_name(index), **slots)


def experiment_name(model, attention):
    return f"{variants.model_name(model)}_{variants.attention_name(attention)}"


def world(parts, pairs):
    """The document of a world: an experiment for each of the pairs of a model and an attention class."""
    return {"experiments": {experiment_name(*pair): parts.experiment(*pair) for pair in pairs}}
