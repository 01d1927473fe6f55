"""Softmax attention in JAX, beside bench/attention_bench.cpp: forward and backward, timed.

runs: attention_jax.py FORM --tokens T [--rows B] [--heads N] [--kv-heads K] [--head-dim H] [--bf16] [--window W] [--steps N]

FORM: plain (all scores at once), scan (by blocks of queries and keys, each computed again in the backward pass), or
dot_product_attention (jax.nn's, by the implementation of --implementation).

Letters: b rows, t queries, s keys, k key/value heads, g query heads of each, h head dim.
"""

import argparse
import functools
import json

import jax
import jax.numpy as jnp
from jax import lax
from peer_values import uniform
from time_gradients import time_gradients

F32 = jnp.float32


def visible(queries, keys, window):
    behind = queries[:, None] - keys
    return (behind >= 0) & (behind <= window) if window else behind >= 0


def plain(q, k, v, window):
    b, t, n, h = q.shape
    q = (q * h**-0.5).reshape(b, t, k.shape[2], -1, h)
    logits = jnp.einsum("btkgh,bskh->bkgts", q, k, preferred_element_type=F32)
    logits = jnp.where(visible(jnp.arange(t), jnp.arange(t), window), logits, -1e15)
    weights = jax.nn.softmax(logits, -1).astype(v.dtype)
    return jnp.einsum("bkgts,bskh->btkgh", weights, v).reshape(b, t, n, h)


def by_blocks(q, k, v, window, size):
    """An outer loop over blocks of queries, an inner loop over those of keys with a running softmax."""
    b, t, n, h = q.shape
    num_kv = k.shape[2]
    blocks = t // size
    q = (q * h**-0.5).reshape(b, blocks, size, num_kv, -1, h).swapaxes(0, 1)
    k, v = (x.reshape(b, blocks, size, num_kv, h).swapaxes(0, 1) for x in (k, v))
    places = jnp.arange(size)

    def block_of_queries(_, of_queries):
        i, q_i = of_queries

        @jax.checkpoint
        def block_of_keys(carry, of_keys):
            j, k_j, v_j = of_keys
            sums, largest, total = carry
            logits = jnp.einsum("btkgh,bskh->bkgts", q_i, k_j, preferred_element_type=F32)
            logits = jnp.where(visible(i * size + places, j * size + places, window), logits, -1e15)
            now = jnp.maximum(largest, logits.max(-1))
            weights, shrink = jnp.exp(logits - now[..., None]), jnp.exp(largest - now)
            added = jnp.einsum("bkgts,bskh->bkgth", weights.astype(v.dtype), v_j, preferred_element_type=F32)
            return (sums * shrink[..., None] + added, now, total * shrink + weights.sum(-1)), None

        shape = (b, num_kv, n // num_kv, size)
        init = (jnp.zeros((*shape, h), F32), jnp.full(shape, -1e14, F32), jnp.zeros(shape, F32))
        (sums, _, total), _ = lax.scan(block_of_keys, init, (jnp.arange(blocks), k, v))
        return None, (sums / total[..., None]).astype(v.dtype)

    _, y = lax.scan(block_of_queries, None, (jnp.arange(blocks), q))  # [i, b, k, g, t, h]
    return y.transpose(1, 0, 4, 2, 3, 5).reshape(b, t, n, h)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("form", choices=["plain", "scan", "dot_product_attention"])
    parser.add_argument("--tokens", type=int, default=1024)
    parser.add_argument("--rows", type=int, default=1)
    parser.add_argument("--heads", type=int, default=8)
    parser.add_argument("--kv-heads", type=int, default=8)
    parser.add_argument("--head-dim", type=int, default=64)
    parser.add_argument("--steps", type=int, default=5)
    parser.add_argument("--window", type=int, default=0)
    parser.add_argument("--block", type=int, default=512)
    parser.add_argument("--implementation", default=None)
    parser.add_argument("--bf16", action="store_true")
    args = parser.parse_args()

    if args.form == "plain":
        attend = functools.partial(plain, window=args.window)
    elif args.form == "scan":
        attend = functools.partial(by_blocks, window=args.window, size=min(args.block, args.tokens))
    else:
        attend = functools.partial(jax.nn.dot_product_attention, is_causal=True, implementation=args.implementation,
                                   local_window_size=(args.window, 0) if args.window else None)  # fmt: skip

    dtype = jnp.bfloat16 if args.bf16 else F32
    heads = (args.heads, args.kv_heads, args.kv_heads)
    arrays = [jnp.asarray(uniform(i, (args.rows, args.tokens, n, args.head_dim), 1), dtype) for i, n in enumerate(heads)]
    loss = lambda q, k, v: jnp.mean(jnp.square(attend(q, k, v).astype(F32)))
    print(json.dumps({"peer": f"jax {args.form}", **time_gradients(loss, arrays, args.steps)}))


if __name__ == "__main__":
    main()
