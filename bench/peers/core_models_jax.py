"""The models of bench/core_models.h in plain JAX (pip install -r jax.txt), with the same weights and data.

runs: core_models_jax.py MODEL [--steps N] [--dump FILE]
"""

import argparse
import json
import time

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from peer_values import fraction, uniform

F32, I32 = jnp.float32, jnp.int32


def cross_entropy(logits, labels):
    picked = jnp.take_along_axis(logits, labels[..., None], -1)[..., 0]
    return jnp.mean(jax.nn.logsumexp(logits, -1) - picked)


def mlp():
    dims = [784, 1024, 1024, 1024, 10]
    weights = []
    for before, after in zip(dims, dims[1:]):
        weights += [((before, after), before**-0.5), ((after,), before**-0.5)]

    def loss(w, x, labels):
        for i in range(0, len(w), 2):
            x = x @ w[i] + w[i + 1]
            if i + 2 < len(w):
                x = jax.nn.relu(x)
        return cross_entropy(x, labels)

    return weights, [((256, 784), 0), ((256,), 10)], loss


def transformer(scanned):
    layers, m, n, f, vocab, batch, seq = 12, 256, 4, 1024, 1024, 4, 128
    h = m // n
    shapes = [(m,), (m, n, h), (m, n, h), (m, n, h), (n, h, m), (m,), (m, f), (m, f), (f, m)]
    weights = [((vocab, m), 0.1)]
    weights += [((layers, *shape), 0 if len(shape) == 1 else 0.05) for shape in shapes]
    weights += [((m,), 0)]

    def norm(x, scale):
        return x * lax.rsqrt(jnp.mean(jnp.square(x), -1, keepdims=True) + 1e-6) * scale

    def rotated(x):
        rate = jnp.exp(jnp.arange(h // 2, dtype=F32) * (-np.log(10000.0) / (h // 2)))
        angle = (jnp.arange(seq, dtype=F32)[:, None] * rate)[:, None]
        a, b = jnp.split(x, 2, -1)
        return jnp.concatenate([a * jnp.cos(angle) - b * jnp.sin(angle), b * jnp.cos(angle) + a * jnp.sin(angle)], -1)

    def block(x, w):
        y = norm(x, w[0])
        q = rotated(jnp.einsum("btm,mnh->btnh", y, w[1]))
        k = rotated(jnp.einsum("btm,mnh->btnh", y, w[2]))
        v = jnp.einsum("btm,mnh->btnh", y, w[3])
        scores = jnp.einsum("btnh,bsnh->bnts", q, k) * h**-0.5
        sees = jnp.arange(seq)[:, None] >= jnp.arange(seq)
        p = jax.nn.softmax(jnp.where(sees, scores, -1e9), -1)
        x = x + jnp.einsum("btnh,nhm->btm", jnp.einsum("bnts,bsnh->btnh", p, v), w[4])
        y = norm(x, w[5])
        y = jax.nn.silu(jnp.einsum("btm,mf->btf", y, w[6])) * jnp.einsum("btm,mf->btf", y, w[7])
        return x + jnp.einsum("btf,fm->btm", y, w[8])

    def loss(w, ids, labels):
        x = w[0][ids]
        stacked = w[1:-1]
        if scanned:
            x, _ = lax.scan(lambda x, own: (block(x, own), None), x, stacked)
        else:
            for i in range(layers):
                x = block(x, [t[i] for t in stacked])
        return cross_entropy(jnp.einsum("btm,vm->btv", norm(x, w[-1]), w[0]), labels)

    return weights, [((batch, seq), vocab), ((batch, seq), vocab)], loss


def conv():
    weights = [((3, 3, 3, 32), 0.2), ((3, 3, 32, 64), 0.06), ((3, 3, 64, 128), 0.04), ((128, 10), 0.09), ((10,), 0.09)]

    def loss(w, x, labels):
        for i in range(3):
            stride = 1 if i == 0 else 2
            dims = ("NHWC", "HWIO", "NHWC")
            x = jax.nn.relu(lax.conv_general_dilated(x, w[i], (stride, stride), "SAME", dimension_numbers=dims))
        return cross_entropy(jnp.mean(x, (1, 2)) @ w[3] + w[4], labels)

    return weights, [((32, 32, 32, 3), 0), ((32,), 10)], loss


def lstm(unroll):
    steps, batch, dim, hidden = 128, 32, 256, 256
    weights = [((dim, 4 * hidden), 0.06), ((hidden, 4 * hidden), 0.06), ((4 * hidden,), 0.06), ((hidden, 1), 0.06)]

    def loss(w, xs, target):
        def step(carry, x):
            h, c = carry
            i, f, g, o = jnp.split(x @ w[0] + h @ w[1] + w[2], 4, 1)
            c = jax.nn.sigmoid(f) * c + jax.nn.sigmoid(i) * jnp.tanh(g)
            h = jax.nn.sigmoid(o) * jnp.tanh(c)
            return (h, c), h

        zero = jnp.zeros((batch, hidden))
        _, ys = lax.scan(step, (zero, zero), xs, unroll=unroll)
        return jnp.mean(jnp.square(ys @ w[3] - target))

    return weights, [((steps, batch, dim), 0), ((steps, batch, 1), 0)], loss


def moe():
    tokens, dim, experts, hidden, capacity = 2048, 256, 8, 512, 384
    weights = [((dim, experts), 0.06), ((experts, dim, hidden), 0.06), ((experts, hidden, dim), 0.04)]

    def loss(w, x, target):
        p = jax.nn.softmax(x @ w[0], -1)
        expert = jnp.argmax(p, -1)
        hot = jax.nn.one_hot(expert, experts, dtype=I32)
        before = jnp.sum(jnp.cumsum(hot, 0) * hot, 1) - 1
        fits = before < capacity
        slot = jnp.where(fits, expert * capacity + before, experts * capacity)
        table = jnp.zeros((experts * capacity, dim)).at[slot].set(x, mode="drop")
        h = jax.nn.relu(jnp.einsum("ecd,edh->ech", table.reshape(experts, capacity, dim), w[1]))
        out = jnp.einsum("ech,ehd->ecd", h, w[2]).reshape(experts * capacity, dim)
        gate = jnp.max(p, 1) * fits.astype(F32)
        return jnp.mean(jnp.square(out.at[slot].get(mode="clip") * gate[:, None] - target))

    return weights, [((tokens, dim), 0), ((tokens, dim), 0)], loss


MODELS = {
    "mlp": mlp,
    "transformer_unrolled": lambda: transformer(False),
    "transformer_scan": lambda: transformer(True),
    "conv": conv,
    "lstm_scan": lambda: lstm(1),
    "lstm_unrolled": lambda: lstm(8),
    "moe": moe,
}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("model", choices=MODELS)
    parser.add_argument("--steps", type=int, default=10)
    parser.add_argument("--dump", help="file for the StableHLO program")
    args = parser.parse_args()
    weights, inputs, loss_of = MODELS[args.model]()
    n = len(weights)
    values = [np.ones(s, np.float32) if b == 0 else uniform(i, s, b) for i, (s, b) in enumerate(weights)]
    state = [np.float32(0), *values] + [np.zeros(s, np.float32) for _ in range(2) for s, _ in weights]
    data = []
    for i, (shape, high) in enumerate(inputs, n):
        ids = (fraction(i, shape) * np.float32(high)).astype(np.int32)
        data.append(ids if high else uniform(i, shape, 1))

    def train_step(state, data):
        w, first, second = state[1 : 1 + n], state[1 + n : 1 + 2 * n], state[1 + 2 * n :]
        loss, grads = jax.value_and_grad(lambda w: loss_of(w, *data))(w)
        step = state[0] + 1
        rate1, rate2 = 1 - 0.9**step, 1 - 0.999**step
        first = [m * 0.9 + g * 0.1 for m, g in zip(first, grads)]
        second = [v * 0.999 + jnp.square(g) * 0.001 for v, g in zip(second, grads)]
        w = [p - m / rate1 / (jnp.sqrt(v / rate2) + 1e-8) * 1e-3 for p, m, v in zip(w, first, second)]
        return loss, [step, *w, *first, *second]

    before = time.perf_counter()
    lowered = jax.jit(train_step, donate_argnums=0, keep_unused=True).lower(state, data)
    trace_s = time.perf_counter() - before
    if args.dump:
        with open(args.dump, "w") as file:
            file.write(lowered.as_text())
    before = time.perf_counter()
    compiled = lowered.compile()
    compile_s = time.perf_counter() - before
    state, data = jax.device_put(state), jax.device_put(data)
    losses, times = [], []
    for i in range(args.steps + 1):
        before = time.perf_counter()
        loss, state = compiled(state, data)
        losses.append(float(loss))
        if i > 0:
            times.append(time.perf_counter() - before)
    times.sort()
    print(json.dumps({
        "peer": "jax", "model": args.model, "trace_s": trace_s, "compile_s": compile_s,
        "step_ms": times[len(times) // 2] * 1e3, "min_ms": times[0] * 1e3,
        "first_loss": losses[0], "loss": losses[-1], "version": jax.__version__,
    }))  # fmt: skip


main()
