"""Softmax attention in JAX, beside bench/attention_bench.cpp: forward and backward, timed.

runs: attention_jax.py FORM --tokens T [--rows B] [--heads N] [--kv-heads K] [--head-dim H] [--bf16] [--window W] [--steps N]

FORM: plain (all scores at once), scan (by blocks of queries and keys, each computed again in the backward pass), visible (the same
by a rule of its own for the backward pass, which keeps the result and a logarithm for each query, and without hidden blocks), or
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


def by_visible_blocks(q, k, v, window, size):
    """Row by row: a dim for one row makes XLA copy more."""
    of_row = functools.partial(_row_by_visible_blocks, window, size)
    if len(q) == 1:
        return of_row(q[0], k[0], v[0])[None]
    return jax.vmap(of_row)(q, k, v)


@functools.partial(jax.custom_vjp, nondiff_argnums=(0, 1))
def _row_by_visible_blocks(window, size, q, k, v):
    return _forward(window, size, q, k, v)[0]


def _blocks(x, size):
    return x.reshape(-1, size, *x.shape[1:])


def _groups(q, k):
    """The dims of heads, without one for groups of a single head."""
    groups = q.shape[1] // k.shape[1]
    return (k.shape[1], groups) if groups > 1 else (k.shape[1],)


def _product(letters, a, b):
    first = letters.split(",")[0]
    return jnp.einsum(letters if a.ndim == len(first) else letters.replace("g", ""), a, b, preferred_element_type=F32)


def _first_visible(i, size, window):
    return jnp.maximum(i * size - window, 0) // size if window else 0


def _logits(q_i, k_j, i, j, size, window):
    places = jnp.arange(size)
    logits = _product("tkgh,skh->kgts", q_i, k_j)
    return jnp.where(visible(i * size + places, j * size + places, window), logits, -1e15)


def _forward(window, size, q, k, v):
    t, n, h = q.shape
    groups = _groups(q, k)
    qs, ks, vs = _blocks((q * h**-0.5).reshape(t, *groups, h), size), _blocks(k, size), _blocks(v, size)

    def of_queries(_, given):
        i, q_i = given

        def of_keys(j, carry):
            sums, largest, total = carry
            logits = _logits(q_i, ks[j], i, j, size, window)
            now = jnp.maximum(largest, logits.max(-1))
            weights, shrink = jnp.exp(logits - now[..., None]), jnp.exp(largest - now)
            added = _product("kgts,skh->kgth", weights.astype(v.dtype), vs[j])
            return sums * shrink[..., None] + added, now, total * shrink + weights.sum(-1)

        shape = (*groups, size)
        init = (jnp.zeros((*shape, h), F32), jnp.full(shape, -1e14, F32), jnp.zeros(shape, F32))
        sums, largest, total = lax.fori_loop(_first_visible(i, size, window), i + 1, of_keys, init)
        return None, (jnp.moveaxis((sums / total[..., None]).astype(v.dtype), -2, 0), largest + jnp.log(total))

    _, (y, log_sum) = lax.scan(of_queries, None, (jnp.arange(len(qs)), qs))
    y = y.reshape(t, n, h)
    return y, (q, k, v, y, log_sum)


def _backward(window, size, kept, dy):
    q, k, v, y, log_sum = kept
    t, n, h = q.shape
    grouped = (t, *_groups(q, k), h)
    qs, ks, vs = _blocks(q.reshape(grouped), size), _blocks(k, size), _blocks(v, size)
    dys = _blocks(dy.reshape(grouped), size)
    lost = jnp.moveaxis(_blocks((dy.astype(F32) * y).sum(-1).reshape(grouped[:-1]), size), 1, -1)

    def of_queries(carry, given):
        i, q_i, dy_i, lost_i, log_sum_i = given

        def of_keys(j, carry):
            dq, dk, dv = carry
            weights = jnp.exp(_logits(q_i * h**-0.5, ks[j], i, j, size, window) - log_sum_i[..., None])
            of_weights = _product("tkgh,skh->kgts", dy_i, vs[j])
            of_logits = (weights * (of_weights - lost_i[..., None]) * h**-0.5).astype(q.dtype)
            dq += _product("kgts,skh->tkgh", of_logits, ks[j])
            dk = dk.at[j].add(_product("kgts,tkgh->skh", of_logits, q_i))
            dv = dv.at[j].add(_product("kgts,tkgh->skh", weights.astype(v.dtype), dy_i))
            return dq, dk, dv

        dq, dk, dv = lax.fori_loop(_first_visible(i, size, window), i + 1, of_keys, (jnp.zeros(q_i.shape, F32), *carry))
        return (dk, dv), dq

    zeros = jnp.zeros(ks.shape, F32)
    (dk, dv), dq = lax.scan(of_queries, (zeros, zeros), (jnp.arange(len(qs)), qs, dys, lost, log_sum))
    return dq.reshape(q.shape).astype(q.dtype), dk.reshape(k.shape).astype(k.dtype), dv.reshape(v.shape).astype(v.dtype)


_row_by_visible_blocks.defvjp(_forward, _backward)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("form", choices=["plain", "scan", "visible", "dot_product_attention"])
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
    elif args.form == "visible":
        attend = lambda q, k, v: by_visible_blocks(q, k, v, args.window, min(args.block, args.tokens))
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
