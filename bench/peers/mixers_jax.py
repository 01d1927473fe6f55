"""The mixers of bench/mixers.h in plain JAX (pip install -r jax.txt), with the same parameters and data.

runs: mixers_jax.py MIXER --shapes FILE [--steps N]

FILE has the shapes of the parameters by path, as `mixers_bench MIXER --shapes` prints them.

Letters: b batch, t queries, s keys, d model dim, n heads, k key/value heads, h head dim, c chunks, e experts, f hidden dim.
"""

import argparse
import json

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from peer_values import uniform
from time_gradients import time_gradients

F32 = jnp.float32
BATCH, LENGTH, DIM, HEADS = 4, 512, 256, 4


def initial_value(leaf, path, shape):
    return uniform(leaf, shape, 0.1) + (1 if path.endswith("scale") else 0)


def rms_norm(x, scale, eps):
    return x * lax.rsqrt(jnp.mean(jnp.square(x), -1, keepdims=True) + eps) * scale


def rotated(x):
    """Neighbouring elements of x_btnh are turned as pairs."""
    t, dim = x.shape[1], x.shape[3]
    rate = 10000.0 ** (-np.arange(0, dim, 2) / dim)
    angle = np.arange(t)[:, None] * rate
    cos, sin = jnp.asarray(np.cos(angle), F32)[:, None], jnp.asarray(np.sin(angle), F32)[:, None]
    pairs = x.reshape(*x.shape[:3], dim // 2, 2)
    a, b = pairs[..., 0], pairs[..., 1]
    return jnp.stack([a * cos - b * sin, b * cos + a * sin], -1).reshape(x.shape)


def causal(window=LENGTH):
    behind = np.arange(LENGTH)[:, None] - np.arange(LENGTH)
    return (behind >= 0) & (behind <= window)


def softmax(logits):
    return jax.nn.softmax(logits, -1)


def attend(q, k, v, sees, weights_of=softmax):
    """Queries q_btnh, keys k_bskh and values v_bskh; each key/value head serves n / k query heads."""
    b, t, n, h = q.shape
    q = (q * h**-0.5).reshape(b, t, k.shape[2], -1, h)
    logits = jnp.einsum("btkgh,bskh->bkgts", q, k)
    weights = weights_of(jnp.where(sees, logits, -1e9))
    return jnp.einsum("bkgts,bskh->btkgh", weights, v).reshape(b, t, n, v.shape[3])


def qkv(p, x):
    return jnp.einsum("btd,idnh->ibtnh", x, p["qkv/weight"])


def heads_out(p, y):
    return jnp.einsum("btnh,dnh->btd", y, p["output/weight"])


def attention(p, x):
    return heads_out(p, attend(*qkv(p, x), causal()))


def grouped_rope_attention(p, x):
    heads = jnp.einsum("btd,dnh->btnh", x, p["qkv/inner/proj/weight"])
    q, k, v = jnp.split(heads, [HEADS, HEADS + HEADS // 2], 2)
    return heads_out(p, attend(rotated(q), rotated(k), v, causal()))


def sliding_window(p, x):
    return heads_out(p, attend(*qkv(p, x), causal(128)))


def sigmoid_attention(p, x):
    return heads_out(p, attend(*qkv(p, x), causal(), lambda logits: jax.nn.sigmoid(logits - np.log(LENGTH))))


def latent_attention(p, x, nope=32, rank=64):
    q = jnp.einsum("btq,qnh->btnh", rms_norm(x @ p["query_down/weight"], p["query_norm/scale"], EPS), p["query_up/weight"])
    q = jnp.concatenate([q[..., :nope], rotated(q[..., nope:])], -1)
    down = x @ p["kv_down/weight"]
    latent = rms_norm(down[..., :rank], p["kv_norm/scale"], EPS)
    turned = rotated(down[:, :, None, rank:])
    k = jnp.einsum("bsr,rnh->bsnh", latent, p["key_up"])
    k = jnp.concatenate([k, jnp.broadcast_to(turned, (*k.shape[:3], turned.shape[3]))], -1)
    return heads_out(p, attend(q, k, jnp.einsum("bsr,rnv->bsnv", latent, p["value_up"]), causal()))


def recurrence(log_decay, b, c, x, size):
    """y_t = c_t h_t with h_t = exp(log_decay_t) h_{t-1} + b_t x_t^T, in chunks: the form of the Mamba-2 paper's listing."""
    chunks = lambda t: t.reshape(t.shape[0], -1, size, *t.shape[2:])
    a, b, c, x = chunks(log_decay), chunks(b), chunks(c), chunks(x)  # [b, c, q, heads, ..]
    total = jnp.cumsum(a, 2).transpose(0, 3, 1, 2)  # [b, heads, c, q]
    between = total[..., :, None] - total[..., None, :]
    decay = jnp.exp(jnp.where(np.tril(np.ones((size, size), bool)), between, -jnp.inf))
    y = jnp.einsum("bcqhn,bcshn,bhcqs,bcshp->bcqhp", c, b, decay, x)
    added = jnp.einsum("bcshn,bhcs,bcshp->cbhnp", b, jnp.exp(total[..., -1:] - total), x)
    through = jnp.exp(total[..., -1]).transpose(2, 0, 1)  # [c, b, heads]
    step = lambda h, new: (h * new[1][..., None, None] + new[0], h)
    _, before = lax.scan(step, jnp.zeros_like(added[0]), (added, through))
    y += jnp.einsum("bcqhn,cbhnp,bhcq->bcqhp", c, before, jnp.exp(total))
    return y.reshape(y.shape[0], -1, *y.shape[3:])


def linear_attention(p, x):
    features = lambda t: jnp.where(t > 0, t + 1, jnp.exp(jnp.minimum(t, 0)))
    q, k, v = qkv(p, x)
    v = jnp.concatenate([v, jnp.ones((*v.shape[:3], 1))], -1)
    y = recurrence(jnp.zeros(q.shape[:3]), features(k), features(q), v, 128)
    return heads_out(p, y[..., :-1] / jnp.maximum(y[..., -1:], 1e-6))


def rattention(p, x, window=128):
    q, k, v = qkv(p, x)
    local = rms_norm(attend(q, k, v, causal(window)), p["local_norm/scale"], EPS)
    left = lambda t: jnp.pad(t, ((0, 0), (window + 1, 0), (0, 0), (0, 0)))[:, :LENGTH]
    features = lambda t: jax.nn.softmax(t, -1)
    memory = recurrence(jnp.zeros(q.shape[:3]), features(left(k)), features(q), left(v), 128)
    return heads_out(p, local + rms_norm(memory, p["memory_norm/scale"], EPS))


def conv(x, weight, bias):
    width = weight.shape[0]
    padded = jnp.pad(x, ((0, 0), (width - 1, 0), (0, 0)))
    return sum(padded[:, i : i + LENGTH] * weight[i] for i in range(width)) + bias


def mamba1(p, x, state=16):
    gate = x @ p["gate/weight"]
    inner = jax.nn.silu(conv(x @ p["input/weight"], p["conv/weight"], p["conv/bias"]))
    selected = inner @ p["select/weight"]
    rank = selected.shape[-1] - 2 * state
    low, b, c = jnp.split(selected, [rank, rank + state], -1)
    step = jax.nn.softplus(low @ p["step/weight"] + p["step_bias"])
    decay = jnp.exp(step[..., None] * -jnp.exp(p["decay"]))
    added = (step * inner)[..., None] * b[:, :, None]
    _, h = lax.associative_scan(lambda e, l: (e[0] * l[0], l[0] * e[1] + l[1]), (decay, added), axis=1)
    y = jnp.sum(h * c[:, :, None], -1) + p["skip"] * inner
    return (y * jax.nn.silu(gate)) @ p["output/weight"]


def mamba2(p, x, head=64, state=64):
    gate = x @ p["gate/weight"]
    mixed = jax.nn.silu(conv(x @ p["input/weight"], p["conv/weight"], p["conv/bias"]))
    inner = gate.shape[-1]
    v, b, c = jnp.split(mixed, [inner, inner + state], -1)
    v = v.reshape(BATCH, LENGTH, -1, head)
    step = jax.nn.softplus(x @ p["step/weight"] + p["step_bias"])
    shared = lambda t: jnp.broadcast_to(t[:, :, None], (BATCH, LENGTH, v.shape[2], state))
    y = recurrence(step * -jnp.exp(p["decay"]), shared(b), shared(c), v * step[..., None], 128)
    y = (y + p["skip"][:, None] * v).reshape(BATCH, LENGTH, inner)
    return rms_norm(y * jax.nn.silu(gate), p["norm/scale"], EPS) @ p["output/weight"]


def recurrent(p, x):
    """An LSTM cell, whose gates are input, forget, update and output."""
    weight = p["cell/input_proj/weight"]

    def step(state, x_bd):
        m, c = state
        i, f, g, o = jnp.moveaxis(jnp.einsum("bi,ijh->bjh", jnp.concatenate([x_bd, m], -1), weight), 1, 0)
        c = jax.nn.sigmoid(f) * c + jax.nn.sigmoid(g) * jnp.tanh(i)
        m = jax.nn.sigmoid(o) * jnp.tanh(c)
        return (m, c), m

    zero = jnp.zeros((BATCH, DIM), F32)
    return lax.scan(step, (zero, zero), x.swapaxes(0, 1))[1].swapaxes(0, 1)


def feed_forward(p, x):
    return (jax.nn.silu(x @ p["gate/weight"]) * (x @ p["up/weight"])) @ p["down/weight"]


def routed(p, x, top_k=2):
    scores = jax.nn.softmax(x @ p["router/weight"], -1)
    weights, experts = lax.top_k(scores, top_k)
    return weights / jnp.sum(weights, -1, keepdims=True), experts


def moe_sorted(p, x, top_k=2):
    weights, experts = routed(p, x)
    flat = experts.reshape(-1)
    order = jnp.argsort(flat)
    sizes = jnp.bincount(flat, length=p["router/weight"].shape[1])
    rows = x.reshape(-1, DIM)[order // top_k]
    hidden = jax.nn.silu(lax.ragged_dot(rows, p["gate/weight"], sizes)) * lax.ragged_dot(rows, p["up/weight"], sizes)
    out = lax.ragged_dot(hidden, p["down/weight"], sizes)
    out = jnp.zeros_like(out).at[order].set(out, unique_indices=True).reshape(BATCH, LENGTH, top_k, DIM)
    return jnp.einsum("btkd,btk->btd", out, weights)


def moe_capacity(p, x, top_k=2, groups=4):
    num_experts = p["router/weight"].shape[1]
    weights, experts = routed(p, x)
    size = BATCH * LENGTH // groups
    capacity = size * top_k // num_experts
    by_choice = lambda t: t.reshape(groups, size, top_k).swapaxes(1, 2)
    chosen = jax.nn.one_hot(by_choice(experts), num_experts, dtype=jnp.int32)  # [g, k, s, e]
    counts = jnp.cumsum(chosen.reshape(groups, -1, num_experts), 1).reshape(chosen.shape)
    slot = jax.nn.one_hot(jnp.sum(counts * chosen, -1) - 1, capacity)
    dispatch = jnp.einsum("gkse,gksc->gsec", chosen.astype(F32), slot)
    combine = jnp.einsum("gkse,gksc,gks->gsec", chosen.astype(F32), slot, by_choice(weights))
    inputs = jnp.einsum("gsec,gsd->egcd", dispatch, x.reshape(groups, size, DIM))
    hidden = jax.nn.silu(jnp.einsum("egcd,edf->egcf", inputs, p["gate/weight"]))
    hidden *= jnp.einsum("egcd,edf->egcf", inputs, p["up/weight"])
    out = jnp.einsum("egcf,efd->egcd", hidden, p["down/weight"])
    return jnp.einsum("gsec,egcd->gsd", combine, out).reshape(x.shape)


EPS = 1e-6
MIXERS = [
    attention,
    grouped_rope_attention,
    sliding_window,
    sigmoid_attention,
    latent_attention,
    linear_attention,
    rattention,
    mamba1,
    mamba2,
    recurrent,
    feed_forward,
    moe_sorted,
    moe_capacity,
]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    by_name = {mixer.__name__: mixer for mixer in MIXERS}
    parser.add_argument("mixer", choices=by_name)
    parser.add_argument("--shapes", required=True)
    parser.add_argument("--steps", type=int, default=10)
    args = parser.parse_args()
    with open(args.shapes) as file:
        shapes = json.load(file)
    p = {path: jnp.asarray(initial_value(i, path, shape)) for i, (path, shape) in enumerate(sorted(shapes.items()))}
    x = jnp.asarray(uniform(1000, (BATCH, LENGTH, DIM), 1))
    loss = lambda p, x: jnp.mean(jnp.square(by_name[args.mixer](p, x)))

    print(json.dumps({"peer": "jax", "mixer": args.mixer, **time_gradients(loss, (p, x), args.steps)}))


if __name__ == "__main__":
    main()
