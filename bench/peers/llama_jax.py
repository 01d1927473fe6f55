"""The job in plain JAX (pip install -r jax.txt)."""

import time
import zlib

START = time.perf_counter()
import jax
import jax.numpy as jnp
from job import MAX_NORM, SIZES, arguments, report, timed
from llama import adamw, cross_entropy, layer, shapes

IMPORTED = time.perf_counter()
args = arguments(__doc__, scan="layers by lax.scan instead of unrolled")
size = SIZES[args.size]


def init(key):
    def one(path, shape):
        leaf = jax.random.fold_in(key, zlib.crc32(jax.tree_util.keystr(path).encode()))
        is_norm = "norm" in path[-1].key
        return jnp.ones(shape) if is_norm else jax.random.normal(leaf, shape) * 0.02

    return jax.tree_util.tree_map_with_path(one, shapes(size), is_leaf=lambda x: isinstance(x, tuple))


def loss_of(params, tokens):
    if args.bf16:
        params = jax.tree.map(lambda t: t.astype(jnp.bfloat16), params)
    x = params["embedding"][tokens[:, :-1]]
    if args.scan:
        x, _ = jax.lax.scan(lambda x, w: (layer(x, w), None), x, params["layers"])
    else:
        for i in range(size.layers):
            x = layer(x, jax.tree.map(lambda t: t[i], params["layers"]))
    return cross_entropy(params, x, tokens)


def train_step(state, tokens):
    loss, grads = jax.value_and_grad(loss_of)(state[0], tokens)
    norm = jnp.sqrt(sum(jnp.sum(g * g) for g in jax.tree.leaves(grads)))
    scale = jnp.minimum(1.0, MAX_NORM / (norm + 1e-6))
    grads = jax.tree.map(lambda g: g * scale, grads)
    return adamw(state, grads), loss


params = init(jax.random.key(0))
state = (params, jax.tree.map(jnp.zeros_like, params), jax.tree.map(jnp.zeros_like, params), jnp.float32(0))
tokens = jax.random.randint(jax.random.key(1), (size.batch, size.seq_len + 1), 0, size.vocab)

before = time.perf_counter()
lowered = jax.jit(train_step, donate_argnums=0).lower(state, tokens)
lower_s = time.perf_counter() - before
before = time.perf_counter()
compiled = lowered.compile()
compile_s = time.perf_counter() - before


def step():
    global state
    state, loss = compiled(state, tokens)
    return loss.block_until_ready()


step()
first = time.perf_counter() - START
times, loss = timed(step, args.steps)
report(f"jax {jax.__version__}", args, sum(x.size for x in jax.tree.leaves(params)), first, times, loss,
       import_s=round(IMPORTED - START, 2), lower_s=round(lower_s, 2), compile_s=round(compile_s, 2))  # fmt: skip
