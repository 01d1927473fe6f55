"""The classes of a world: model variants and attention variants, each a C++ class in a file of its own.

A variant is a choice of traits. Each trait changes the structure of the class: where norms stand, which projections it
has, what a query sees, what layers share. The same traits give the class's default parts, which `parts.py` uses to write
whole models.
"""

import math

MODEL_TRAITS = {
    "placement": ("pre", "post", "sandwich", "parallel", "reordered", "averaged", "highway"),
    "stem": ("none", "norm", "tanh"),
    "end": ("none", "cap", "scale"),
    "skip": ("none", "embedding"),
    "halves": ("one", "two"),
    "gate": ("none", "linear"),
    "depth": ("two", "three, one feed-forward"),
    "bias": ("none", "channel"),
}
ATTENTION_TRAITS = {
    "qkv": ("FusedQKV", "FusedGroupedQKV", "SeparateQKV"),
    "mask": ("causal", "window", "causal and window"),
    "gate": ("none", "sigmoid"),
    "value_norm": ("none", "norm"),
    "temperature": ("none", "head"),
    "head_scale": ("none", "tanh"),
    "core": ("softmax", "sigmoid", "sink", "capped"),
}
WIDTH = 8  # model dim
HEADS = 2


def traits(table, index):
    """The choice of each trait for a variant. Neighbours differ in many traits: the step is coprime to the number."""
    total = math.prod(len(choices) for choices in table.values())
    if not 0 <= index < total:
        raise ValueError(f"variant: expected an index below {total}, got {index}")
    step = next(s for s in range(int(total * 0.618), total + 2) if math.gcd(s, total) == 1)
    rest = index * step % total
    chosen = {}
    for name, choices in table.items():
        rest, digit = divmod(rest, len(choices))
        chosen[name] = choices[digit]
    return chosen


def model_traits(index):
    return traits(MODEL_TRAITS, index)


def attention_traits(index):
    return traits(ATTENTION_TRAITS, index)


def model_name(index):
    return f"Model{index:04}"


def attention_name(index):
    return f"Attention{index:04}"


class Class:
    """The text of a C++ class, put together from its slots, its parameters and the lines of its forward function."""

    def __init__(self, name, role, what):
        self.name, self.role, self.what = name, role, what
        self.fields, self.members, self.init, self.body = [], [], [], []
        self.decodes = "true"

    def field(self, doc, type_and_default, name):
        self.fields.append((doc, type_and_default, name))

    def slot(self, role, name, default, dims, doc):
        """A child of a role, built with the dims."""
        self.field(doc, (f"Child<{role}>", default), name)
        self.members.append(f"Handle<{role}> {name}_;")
        self.init.append(f'{name}_(child("{name}", cfg.{name}, {dims}))')

    def param(self, name, shape, init):
        self.members.append(f"Param {name}_;")
        self.init.append(f'{name}_(param("{name}", {{.shape = {{{shape}}}, .init = {init}}}))')

    def text(self):
        fields = "".join(f"    /// {doc}\n    {type_} {name} = {default};\n" for doc, (type_, default), name in self.fields)
        names = ", ".join([self.name] + [name for _, _, name in self.fields])
        init = ",\n        ".join([f"{self.role}(scope)"] + self.init)
        body = "\n".join(f"    {line}" for line in self.body)
        members = "\n".join(f"  {member}" for member in self.members)
        return f"""// {self.what}
#include <axle/axle.h>

using namespace axle;

/// {self.what}
class {self.name} final : public {self.role} {{
 public:
  struct Config {{
{fields}    AXLE_CONFIG({names})
  }};
  {self.name}(const Config& cfg, const Dims& dims, const Scope& scope)
      : {init} {{}}
  bool can_decode() const override {{ return {self.decodes}; }}

 protected:
  Tensor forward(const Tensor& x_BTD, const MixerContext& context) override {{
{body}
  }}

 private:
{members}
}};
AXLE_REGISTER({self.name})
"""


def described(chosen, table):
    """The traits in words, the plain ones left out."""
    return "; ".join(f"{name}: {choice}" for name, choice in chosen.items() if choice != "none") or "no traits"


def feed_forward_slots(chosen):
    """The names of the feed-forward slots of a model, in the order of its layers."""
    layers = ["0", "1"] if chosen["depth"] == "two" else ["0"]
    halves = ["a", "b"] if chosen["halves"] == "two" else [""]
    return [f"feed_forward{layer}{half}" for layer in layers for half in halves]


def num_layers(chosen):
    return 2 if chosen["depth"] == "two" else 3


def sites(chosen, layer):
    """Where a layer calls its mixers, each with its norms."""
    halves = ["a", "b"] if chosen["halves"] == "two" else [""]
    return [f"attention{layer}"] + [f"feed_forward{layer}{half}" for half in halves]


def norm_slots(chosen):
    """The names of the norm slots of a model."""
    names = ["stem_norm"] if chosen["stem"] == "norm" else []
    for layer in range(num_layers(chosen)):
        if chosen["placement"] == "parallel":
            names.append(f"norm{layer}")
            continue
        for site in sites(chosen, layer):
            names += [f"{site}_norm"] + ([f"{site}_out_norm"] if chosen["placement"] == "sandwich" else [])
    return names


def gate_slots(chosen):
    """The names of the slots that weigh a body against its residual."""
    if chosen["placement"] != "highway":
        return []
    return [f"{site}_gate" for layer in range(num_layers(chosen)) for site in sites(chosen, layer)]


FEED_FORWARD = {"none": "FeedForward::Config{}", "linear": "FeedForward::Config{.gate = Linear::Config{.bias = false}}"}


def model_class(index):
    """A model variant: a block that takes the place of the whole stack of layers of a decoder."""
    chosen = model_traits(index)
    c = Class(model_name(index), "Block", f"Variant {index} of the models. {described(chosen, MODEL_TRAITS)}.")
    norm_dims = "{.input_dim = dims.model_dim}"

    def norm(name):
        c.slot("Norm", name, "RMSNorm::Config{}", norm_dims, f"The norm {name}.")

    for layer in range(num_layers(chosen)):
        c.slot("Mixer", f"attention{layer}", "{}", "dims", f"Mixes the positions in layer {layer}.")
    for name in feed_forward_slots(chosen):
        c.slot("Mixer", name, FEED_FORWARD[chosen["gate"]], "dims", "Mixes the channels of each position.")
    if chosen["skip"] == "embedding":
        c.param("kept", "", "Ones{}")
        c.param("skipped", "", "Zeros{}")
    c.body.append("Tensor x = x_BTD;")
    if chosen["stem"] == "norm":
        norm("stem_norm")
        c.body.append("x = stem_norm_(x);")
    if chosen["stem"] == "tanh":
        c.body.append("x = tanh(x);")
    for layer in range(num_layers(chosen)):
        if chosen["skip"] == "embedding":
            c.body.append("x = x * kept_() + x_BTD * skipped_();")
        owner = layer if chosen["depth"] == "two" else 0
        bodies = [(site, site.replace(f"feed_forward{layer}", f"feed_forward{owner}")) for site in sites(chosen, layer)]
        if chosen["placement"] == "parallel":
            norm(f"norm{layer}")
            c.body.append(f"const Tensor h{layer} = norm{layer}_(x);")
            for site, body in bodies:
                c.body += [f"const Tensor {site} = {body}_(h{layer}, context);", f"x = x + {site};"]
        else:
            for site, body in bodies:
                add_body(c, chosen["placement"], norm, site, body)
        if chosen["bias"] == "channel":
            c.param(f"shift{layer}", "dims.model_dim", "Zeros{}")
            c.body.append(f"x = x - shift{layer}_();")
    if chosen["end"] == "cap":
        c.body.append("x = 4.0 * tanh(x / 4.0);")
    if chosen["end"] == "scale":
        c.param("end_scale", "", "Zeros{}")
        c.body.append("x = x * exp(end_scale_());")
    c.body.append("return x;")
    return c.text()


def add_body(c, placement, norm, site, body):
    """The lines of one mixer with its norms and its residual."""
    call = f"const Tensor {site} = {body}_({{}}, context);"
    norm(f"{site}_norm")
    normed = [f"const Tensor {site}_x = {site}_norm_(x);", call.format(f"{site}_x")]
    if placement == "pre":
        c.body += [*normed, f"x = x + {site};"]
    elif placement == "post":
        c.body += [call.format("x"), f"x = {site}_norm_(x * 1.5 + {site});"]
    elif placement == "sandwich":
        norm(f"{site}_out_norm")
        c.body += [*normed, f"const Tensor {site}_y = {site}_out_norm_({site});", f"x = x + {site}_y;"]
    elif placement == "reordered":
        c.param(f"{site}_scale", "dims.model_dim", "Ones{}")
        c.body += [call.format("x"), f"const Tensor {site}_y = {site}_norm_({site});", f"x = x + {site}_y * {site}_scale_();"]
    elif placement == "averaged":
        c.body += [*normed, f"x = (x + {site}) / 1.5;"]
    elif placement == "highway":
        dims = "{.input_dim = dims.model_dim, .output_dim = dims.model_dim}"
        c.slot("Projection", f"{site}_gate", "Linear::Config{}", dims, "Weighs the body against the residual.")
        c.body += [*normed, f"const Tensor {site}_g = sigmoid({site}_gate_(x));", f"x = x + {site}_g * ({site} - x);"]
    else:
        raise ValueError(f"placement: {placement}")


MASKS = {
    "causal": "CausalMask::Config{}",
    "window": "SlidingWindowMask::Config{.window = 3}",
    "causal and window": "AllOf::Config{.masks = {CausalMask::Config{}, SlidingWindowMask::Config{.window = 4}}}",
}
CORES = {
    "softmax": "SoftmaxAttention::Config{}",
    "sigmoid": "SigmoidAttention::Config{}",
    "sink": "SoftmaxAttention::Config{.sink = true}",
    "capped": "SoftmaxAttention::Config{.logit_cap = 20}",
}


def attention_class(index):
    """An attention variant: a mixer from the parts of attention, with calls of its own between them."""
    chosen = attention_traits(index)
    c = Class(attention_name(index), "Mixer", f"Variant {index} of attention. {described(chosen, ATTENTION_TRAITS)}.")
    kv_heads = 1 if chosen["qkv"] == "FusedGroupedQKV" else HEADS
    head_dim = WIDTH // HEADS
    c.field("Decides which keys a query sees.", ("Child<AttentionMask>", MASKS[chosen["mask"]]), "mask")
    c.members.append("std::unique_ptr<AttentionMask> mask_;")
    c.init.append("mask_(cfg.mask.build({}, {.path = scope.path}))")
    sizes = f".num_heads = {HEADS}, .num_kv_heads = {kv_heads}, .head_dim = {head_dim}"
    c.slot("QKV", "qkv", f"{chosen['qkv']}::Config{{}}", f"{{.model_dim = dims.model_dim, {sizes}}}", "Projects x to the heads.")
    c.slot("AttentionCore", "core", CORES[chosen["core"]], f"{{.num_heads = {HEADS}, .head_dim = {head_dim}}}", "Weighs the values.")
    c.slot("KVCache", "kv_cache", "DenseKVCache::Config{}", f"{{.num_kv_heads = {kv_heads}, .head_dim = {head_dim}}}",
           "Keeps keys and values while decoding.")
    head_dims = f"{{.model_dim = dims.model_dim, .num_heads = {HEADS}, .head_dim = {head_dim}}}"
    c.slot("HeadOutput", "output", "HeadOutputLinear::Config{}", head_dims, "Projects the heads back.")
    c.decodes = "qkv_->has_source() || mask_->can_decode()"
    c.body += ["MixerContext placed = context;",
               "if (decoding() && !placed.positions) placed.positions = iota({x_BTD.dim(0), x_BTD.dim(1)}, 1);",
               "QKVTensors heads = qkv_(x_BTD, placed.positions);"]
    if chosen["temperature"] == "head":
        c.param("temperature", f"{HEADS}, 1", "Zeros{}")
        c.body.append("heads.q_BTNH = heads.q_BTNH * exp(temperature_());")
    if chosen["value_norm"] == "norm":
        c.slot("Norm", "value_norm", "RMSNorm::Config{}", f"{{.input_dim = {head_dim}}}", "Normalises each value.")
        # Values may be those of another layer.
        c.body.append("if (heads.v_BSKH) heads.v_BSKH = value_norm_(heads.v_BSKH);")
    c.body += ["KeyValues keys{.k_BSKH = heads.k_BSKH, .v_BSKH = heads.v_BSKH};",
               "if (qkv_->has_source()) {",
               "  keys.segments_BS = heads.source_segments_BS;",
               "} else {",
               "  if (decoding()) keys.positions_BS = live_positions(placed);",
               "  keys.segments_BS = placed.segment_ids;",
               "  keys = kv_cache_(keys);",
               "}",
               "Visibility visibility = Visibility::of(x_BTD.dim(1), keys, placed, decoding());",
               "visibility.mask = mask_.get();",
               "visibility.has_empty_places = decoding() && !qkv_->has_source();",
               "Tensor y_BTNH = core_(heads.q_BTNH, keys, visibility);"]
    if chosen["gate"] == "sigmoid":
        c.slot("HeadInput", "gate", "HeadInputLinear::Config{}", head_dims, "Opens and closes each element of a head.")
        c.body.append("const Tensor gate_BTNH = sigmoid(gate_(x_BTD));")
        c.body.append("y_BTNH = y_BTNH * gate_BTNH;")
    if chosen["head_scale"] == "tanh":
        c.param("head_scale", f"{HEADS}, 1", "Ones{}")
        c.body.append("y_BTNH = y_BTNH * tanh(head_scale_());")
    c.body.append("return output_(y_BTNH);")
    return c.text()
