"""Writes the StableHLO text of the job's train step with every layer computed again in the backward pass.

  peak_jax.py m --rows 2 --text FILE [--bf16]     (pip install -r jax.txt)

`bench/peak_memory.py` compiles the text and compares memory.
"""

import argparse

import jax
import jax.numpy as jnp
from job import MAX_NORM, SIZES
from llama import adamw, cross_entropy, layer, shapes

parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("size", choices=SIZES)
parser.add_argument("--rows", type=int, required=True, help="sequences of a batch")
parser.add_argument("--bf16", action="store_true", help="compute in bf16, parameters stay f32")
parser.add_argument("--text", required=True, help="write the StableHLO text here")
args = parser.parse_args()
size = SIZES[args.size]


def loss_of(params, tokens):
    if args.bf16:
        params = jax.tree.map(lambda t: t.astype(jnp.bfloat16), params)
    x = params["embedding"][tokens[:, :-1]]
    body = jax.checkpoint(layer, policy=jax.checkpoint_policies.nothing_saveable, prevent_cse=False)
    x, _ = jax.lax.scan(lambda x, w: (body(x, w), None), x, params["layers"])
    return cross_entropy(params, x, tokens)


def train_step(state, tokens):
    loss, grads = jax.value_and_grad(loss_of)(state[0], tokens)
    norm = jnp.sqrt(sum(jnp.sum(g * g) for g in jax.tree.leaves(grads)))
    scale = jnp.minimum(1.0, MAX_NORM / (norm + 1e-6))
    return adamw(state, jax.tree.map(lambda g: g * scale, grads)), loss


params = jax.tree.map(lambda shape: jax.ShapeDtypeStruct(shape, jnp.float32), shapes(size),
                      is_leaf=lambda x: isinstance(x, tuple))  # fmt: skip
state = (params, params, params, jax.ShapeDtypeStruct((), jnp.float32))
tokens = jax.ShapeDtypeStruct((args.rows, size.seq_len + 1), jnp.int32)
with open(args.text, "w", encoding="utf-8") as file:
    file.write(jax.jit(train_step, donate_argnums=0).lower(state, tokens).as_text())
