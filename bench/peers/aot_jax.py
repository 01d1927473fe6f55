"""Compiles a Llama's train step by JAX for devices that are not here: peer of `axle compile`.

  aot_jax.py v5p:4x8x8 b7 --remat          a TPU topology (pip install -r jax_tpu.txt)
  aot_jax.py v5p:4x8x8 b7 --remat --blocks 1024     attention by blocks
  aot_jax.py 128 b7 --remat --text FILE    so many devices of any kind: only the StableHLO text is written

Parameters and batch are sharded over all devices. The compiler's flops count the body of a loop once.
"""

import argparse
import functools
import os
import resource
import time

os.environ.update(JAX_PLATFORMS="cpu", TPU_SKIP_MDS_QUERY="1", TPU_LOG_DIR="disabled", TPU_ACCELERATOR_TYPE="",
                  TPU_WORKER_HOSTNAMES="localhost")  # fmt: skip
parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("topology")
parser.add_argument("size", choices=["s", "b7", "b70"])
parser.add_argument("--remat", action="store_true", help="compute each layer again in the backward pass")
parser.add_argument("--blocks", type=int, help="compute attention by blocks of so many queries and keys")
parser.add_argument("--batch", type=int, default=1024)
parser.add_argument("--text", help="write the StableHLO text here")
args = parser.parse_args()
if args.topology.isdigit():
    os.environ["XLA_FLAGS"] = f"--xla_force_host_platform_device_count={args.topology}"

import jax
import jax.numpy as jnp
import numpy as np
from attention_jax import by_visible_blocks
from jax.experimental import topologies
from jax.sharding import Mesh, NamedSharding, PartitionSpec
from job import Size
from llama import adamw, at_once, cross_entropy, layer, shapes

SIZES = {
    "s": Size(288, 6, 6, 768, 512, 256, args.batch),
    "b7": Size(4096, 32, 32, 11008, 32000, 4096, args.batch),
    "b70": Size(8192, 80, 64, 28672, 32000, 4096, args.batch),
}
size = SIZES[args.size]
devices = jax.devices() if args.topology.isdigit() else topologies.get_topology_desc(args.topology, "tpu").devices
mesh = Mesh(np.array(devices), ("fsdp",))


def sharded(*axes):
    return NamedSharding(mesh, PartitionSpec(*axes))


def one_layer(x, w):
    x = jax.lax.with_sharding_constraint(x, sharded("fsdp"))
    attend = functools.partial(by_visible_blocks, window=0, size=args.blocks) if args.blocks else at_once
    return layer(x, jax.tree.map(lambda a: a.astype(jnp.bfloat16), w), attend)


def loss_of(params, tokens):
    outside = {k: v.astype(jnp.bfloat16) for k, v in params.items() if k != "layers"}
    x = outside["embedding"][tokens[:, :-1]]
    body = jax.checkpoint(one_layer) if args.remat else one_layer
    x, _ = jax.lax.scan(lambda x, w: (body(x, w), None), x, params["layers"])
    return cross_entropy(outside, x, tokens)


def train_step(state, tokens):
    loss, grads = jax.value_and_grad(loss_of)(state[0], tokens)
    return adamw(state, grads), loss


# The dim of each parameter that is divided: that of the model for what reads it, the widest for what writes it.
DIVIDED = {"embedding": 1, "q": 1, "k": 1, "v": 1, "o": 3, "gate": 1, "up": 1, "down": 2}


def parameter(path, shape):
    dim = DIVIDED.get(path[-1].key)
    axes = [] if dim is None else [None] * dim + ["fsdp"]
    return jax.ShapeDtypeStruct(shape, jnp.float32, sharding=sharded(*axes))


params = jax.tree_util.tree_map_with_path(parameter, shapes(size), is_leaf=lambda x: isinstance(x, tuple))
state = (params, params, params, jax.ShapeDtypeStruct((), jnp.float32, sharding=sharded()))
tokens = jax.ShapeDtypeStruct((size.batch, size.seq_len + 1), jnp.int32, sharding=sharded("fsdp"))

times = [time.perf_counter()]
traced = jax.jit(train_step, donate_argnums=0).trace(state, tokens)
times.append(time.perf_counter())
lowered = traced.lower(lowering_platforms=("cuda" if args.topology.isdigit() else "tpu",))
times.append(time.perf_counter())
print(f"trace {times[1] - times[0]:.3f} lower {times[2] - times[1]:.3f}")
if args.text:
    with open(args.text, "w", encoding="utf-8") as file:
        file.write(lowered.as_text())
if not args.topology.isdigit():
    before = time.perf_counter()
    compiled = lowered.compile()
    print(f"compile {time.perf_counter() - before:.2f}")
    print(compiled.memory_analysis())
    print(compiled.cost_analysis())
print(f"rss GB {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6:.2f}")
