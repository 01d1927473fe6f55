"""Writes numbers of AXLearn for dense layers: parameters, inputs, outputs, state and gradients.

usage: make_dense.py FOLDER      (in an environment with AXLearn and JAX)

Each case becomes FOLDER/<name>.safetensors and <name>.json. Parameters are the initial ones of
PRNGKey(0) plus 0.3 * normal values; the call draws from PRNGKey(2).
"""
import json
import os
import sys

import jax
import jax.numpy as jnp
import numpy as np
from axlearn.common import convolution, layers, param_init, rnn
from axlearn.common.module import functional

B, T, D = 2, 12, 8


def normal(seed, *shape):
    return np.asarray(jax.random.normal(jax.random.PRNGKey(seed), shape), np.float32)


SEGMENTS = np.array([[1] * 5 + [2] * 5 + [0] * 2, [1] * 9 + [0] * 3], np.int32)
LSTM = rnn.LSTMCell.default_config().set(hidden_dim=6)
NORM = layers.LayerNorm.default_config().set(eps=0.1)
PER_GROUP = param_init.DefaultInitializer.default_config().set(init_by_param_name={
    ".*weight$": param_init.PerGroupInitializer.default_config().set(
        num_groups=2, initializer=param_init.DefaultInitializer.default_config().set(
            init_by_param_name={".*weight$": param_init.WeightInitializer.default_config().set(
                fan="fan_out", distribution="truncated_normal")}))})
GAUSSIAN = param_init.DefaultInitializer.default_config().set(init_by_param_name={
    ".*bias$": param_init.GaussianInitializer.default_config().set(std=0.2, mean=1.0),
    ".*weight$": param_init.WeightInitializer.default_config().set(
        fan=None, scale=0.1, distribution="truncated_normal")})


def conv1d(**kw):
    return convolution.Conv1D.default_config().set(input_dim=D, output_dim=12, **kw)


def conv2d(**kw):
    return convolution.Conv2D.default_config().set(input_dim=4, output_dim=6, **kw)


def norm(cls, **kw):
    return cls.default_config().set(input_dim=D, **kw)


X = {"x": normal(5, B, T, D)}
IMAGE = {"x": normal(6, B, 7, 8, 4)}
STEPS = {"time_major_inputs": normal(7, 5, B, D)}
WITH_SEGMENTS = {**X, "segment_ids": SEGMENTS}
GROUPS = layers.GroupNorm

CASES = {
    "layers/conv1d_causal": (conv1d(window=3, strides=2, dilation=2, padding="CAUSAL",
                                    num_input_dim_groups=2, bias=False), X, False),
    "layers/conv1d_explicit": (conv1d(window=4, padding=((2, 1),)), X, False),
    "layers/conv1d_per_group": (conv1d(window=3, num_input_dim_groups=2, param_init=PER_GROUP), X, False),
    "layers/conv2d_causal": (conv2d(window=(3, 2), strides=(2, 1), dilation=(1, 2), padding="CAUSAL",
                                    num_input_dim_groups=2), IMAGE, False),
    "layers/conv2d_same_even": (conv2d(window=(2, 3), strides=(2, 3), padding="SAME"), IMAGE, False),
    "layers/group_norm_rms": (norm(GROUPS, num_groups=2, norm_type=layers.NormType.RMSNORM, norm_axes=-1),
                              X, False),
    "layers/group_norm_segments": (norm(GROUPS, num_groups=4), WITH_SEGMENTS, False),
    "layers/group_norm_rms_segments": (norm(GROUPS, num_groups=4, norm_type=layers.NormType.RMSNORM,
                                            norm_axes=(1,)), WITH_SEGMENTS, False),
    "layers/rms_norm_zero_centred": (norm(layers.RMSNorm, zero_centered=True), X, False),
    "layers/l2_norm": (layers.L2Norm.default_config(), X, False),
    "layers/unit_norm_linear": (layers.UnitNormLinear.default_config().set(
        input_dim=D, output_dim=5, param_init=GAUSSIAN), X, False),
    "layers/multi_linear": (layers.MultiLinear.default_config().set(
        input_dim=D, num_outputs=3, output_dim=5), {"inputs": X["x"]}, False),
    "layers/batch_norm_training": (norm(layers.BatchNorm, decay=0.9), WITH_SEGMENTS, True),
    "layers/batch_norm": (norm(layers.BatchNorm), X, False),
    "layers/stochastic_depth_row": (layers.StochasticDepth.default_config().set(rate=0.4),
                                    {"x": normal(8, 6, 3, 2)}, True),
    "layers/stochastic_depth_batch": (layers.StochasticDepth.default_config().set(rate=0.4, mode="batch"),
                                      {"x": normal(8, 6, 3, 2)}, True),
    "layers/drop_token": (layers.DropToken.default_config().set(rate=0.4, num_cls_tokens=2), X, True),
    "layers/moving_average": (layers.MovingAverage.default_config().set(shape=(D,), min_weight=0.3),
                              {"x": normal(9, D)}, True),
    "rnn/lstm_norm": (LSTM.clone(input_dim=D, output_dim=5, norm=NORM, max_cell_value=0.5), STEPS, False),
    "rnn/lstm_unprojected": (rnn.LSTMCell.default_config().set(input_dim=D, output_dim=5), STEPS, False),
    "rnn/stacked": (rnn.StackedRNNLayer.default_config().set(
        input_dim=D, layers=[LSTM.clone(output_dim=5), LSTM.clone(output_dim=7, norm=NORM)]), STEPS, False),
    "rnn/repeated": (rnn.RepeatedRNNLayer.default_config().set(input_dim=D, num_layers=3, layer=LSTM),
                     STEPS, False),
}


def flatten(tree, prefix):
    out = {}
    if isinstance(tree, (dict, list, tuple)):
        items = tree.items() if isinstance(tree, dict) else enumerate(tree)
        for key, value in items:
            out.update(flatten(value, f"{prefix}/{key}"))
    elif tree is not None:
        out[prefix] = np.asarray(tree)
    return out


def save(path, arrays):
    names = {np.dtype(np.float32): "F32", np.dtype(np.int32): "I32"}
    header, data = {}, b""
    for name in sorted(arrays):
        value = np.array(arrays[name], order="C")  # keeps 0-d arrays
        header[name] = {"dtype": names[value.dtype], "shape": list(value.shape),
                        "data_offsets": [len(data), len(data) + value.nbytes]}
        data += value.tobytes()
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as f:
        f.write(len(text).to_bytes(8, "little") + text + data)


def is_float(x):
    return np.issubdtype(np.asarray(x).dtype, np.floating)


def make(folder, name, cfg, inputs, training):
    layer = cfg.set(name="layer").instantiate(parent=None)
    initial = layer.initialize_parameters_recursively(jax.random.PRNGKey(0))
    leaves, tree = jax.tree.flatten(initial)
    jittered = [p + 0.3 * jax.random.normal(jax.random.PRNGKey(100 + i), p.shape) if is_float(p) else p
                for i, p in enumerate(leaves)]
    params = jax.tree.unflatten(tree, jittered)
    if "moving_variance" in params:
        params["moving_variance"] = jnp.abs(params["moving_variance"])

    def call(floats):
        state = {**params, **floats["params"]}
        given = {k: jnp.asarray(v) for k, v in {**inputs, **floats["in"]}.items()}
        return functional(layer, jax.random.PRNGKey(2), state, given,
                          is_training=training, drop_output_collections=())

    # State such as moving averages is no parameter: it is called by the name of its update.
    out, collected = call({"params": {}, "in": {}})
    updates = collected.state_updates
    state_names = [k for k in params if k in ("moving_mean", "moving_variance", "value", "count")]
    floats = {"params": {k: v for k, v in params.items() if k not in state_names},
              "in": {k: v for k, v in inputs.items() if is_float(v)}}
    cotangent = normal(50, *out.shape)
    grads = jax.grad(lambda f: jnp.sum(call(f)[0] * cotangent))(floats)
    arrays = {"out": np.asarray(out), "cotangent/0": cotangent, **flatten(inputs, "in"),
              **flatten(grads["params"], "grad/params"), **flatten(grads["in"], "grad/in"),
              **flatten(floats["params"], "params"),
              **flatten({k: v for k, v in initial.items() if k not in state_names}, "init_params"),
              **flatten({k: params[k] for k in state_names}, "state"),
              **flatten(updates if training else {}, "state_after"),
              **flatten(collected.module_outputs, "module_outputs")}
    path = os.path.join(folder, name)
    save(path + ".safetensors", arrays)
    with open(path + ".json", "w", encoding="utf8") as f:
        json.dump({"source": "AXLearn", "jax": jax.__version__, "training": training, "seed": 0,
                   "config": cfg.to_flat_dict(omit_default_values={None}),
                   "keys": "init: PRNGKey(0); forward: PRNGKey(2); params = init + 0.3 * normal",
                   "arrays": {k: [str(v.dtype), list(v.shape)] for k, v in sorted(arrays.items())}},
                  f, indent=1, default=str)
    print(name, out.shape)


if __name__ == "__main__":
    for case, (config, given, is_training) in CASES.items():
        make(sys.argv[1], case, config, given, is_training)
