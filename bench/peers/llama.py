"""The Llama of the JAX peers: parameters are a dict, layers are stacked along a leading dim."""

import jax
import jax.numpy as jnp
from job import BETAS, EPS, LEARNING_RATE, WEIGHT_DECAY


def rms_norm(x, scale):
    x32 = x.astype(jnp.float32)
    inverse = jax.lax.rsqrt(jnp.mean(x32 * x32, -1, keepdims=True) + 1e-6)
    return (x32 * inverse).astype(x.dtype) * scale


def rope(x):
    """x of shape batch, position, head, head dim: pairs of neighbours are rotated."""
    seq_len, head_dim = x.shape[1], x.shape[3]
    angle = jnp.arange(seq_len)[:, None] * (10000.0 ** (-jnp.arange(0, head_dim, 2) / head_dim))[None]
    cos, sin = (f(angle)[None, :, None].astype(x.dtype) for f in (jnp.cos, jnp.sin))
    even, odd = x[..., ::2], x[..., 1::2]
    return jnp.stack([even * cos - odd * sin, even * sin + odd * cos], -1).reshape(x.shape)


def at_once(q, k, v):
    """Causal attention with the scores of all positions."""
    seq_len, head_dim = q.shape[1], q.shape[-1]
    scores = jnp.einsum("btnh,bsnh->bnts", q, k).astype(jnp.float32) / head_dim**0.5
    causal = jnp.tril(jnp.ones((seq_len, seq_len), bool))
    weights = jax.nn.softmax(jnp.where(causal, scores, -1e9), -1).astype(q.dtype)
    return jnp.einsum("bnts,bsnh->btnh", weights, v)


def layer(x, w, attend=at_once):
    h = rms_norm(x, w["attention_norm"])
    q, k, v = (jnp.einsum("btd,dnh->btnh", h, w[name]) for name in "qkv")
    x = x + jnp.einsum("btnh,nhd->btd", attend(rope(q), rope(k), v), w["o"])
    h = rms_norm(x, w["ffn_norm"])
    return x + (jax.nn.silu(h @ w["gate"]) * (h @ w["up"])) @ w["down"]


def shapes(size):
    """Of all parameters."""
    layers, dim, heads, hidden = size.layers, size.dim, size.heads, size.hidden
    head_dim = dim // heads
    projection = (layers, dim, heads, head_dim)
    return {
        "embedding": (size.vocab, dim),
        "output_norm": (dim,),
        "layers": {
            "attention_norm": (layers, dim), "ffn_norm": (layers, dim),
            "q": projection, "k": projection, "v": projection, "o": (layers, heads, head_dim, dim),
            "gate": (layers, dim, hidden), "up": (layers, dim, hidden), "down": (layers, hidden, dim),
        },
    }  # fmt: skip


def cross_entropy(params, x, tokens):
    """Of the tokens behind the first; x is what the last layer gives."""
    logits = (rms_norm(x, params["output_norm"]) @ params["embedding"].T).astype(jnp.float32)
    return -jnp.mean(jnp.take_along_axis(jax.nn.log_softmax(logits), tokens[:, 1:, None], -1))


def adamw(state, grads):
    """The next (parameters, mean, square, count)."""
    params, mean, square, count = state
    count = count + 1
    b1, b2 = BETAS
    mean = jax.tree.map(lambda m, g: b1 * m + (1 - b1) * g, mean, grads)
    square = jax.tree.map(lambda v, g: b2 * v + (1 - b2) * g * g, square, grads)

    def update(p, m, v):
        step = m / (1 - b1**count) / (jnp.sqrt(v / (1 - b2**count)) + EPS)
        return p - LEARNING_RATE * (step + WEIGHT_DECAY * p)

    return jax.tree.map(update, params, mean, square), mean, square, count
