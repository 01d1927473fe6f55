"""Calls of functions with drawn inputs: what the tables of functions (tools/oracle/functions.py) are written in.

A maker draws an array; call(JAX function of the operands, operand=maker, ..., at={attributes}) is one call. A list of makers is
an operand that is a list of tensors.
"""

import dataclasses
import typing

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import AxisType, PartitionSpec


@dataclasses.dataclass
class Operand:
    name: str
    makers: list
    is_list: bool


@dataclasses.dataclass
class Devices:
    """What a shard_map divides: its mesh, and the mesh axes of each dim of its arguments and results (None: not divided)."""

    mesh: dict
    in_specs: list
    out_specs: list
    axes: list  # the manual ones; empty: all

    def mapped(self, fn):
        """JAX's shard_map of fn over devices of this process."""
        mesh = jax.make_mesh(tuple(self.mesh.values()), tuple(self.mesh), axis_types=(AxisType.Auto,) * len(self.mesh))
        specs = [tuple(PartitionSpec(*spec) for spec in specs) for specs in (self.in_specs, self.out_specs)]
        manual = {"axis_names": frozenset(self.axes)} if self.axes else {}

        def parts(*xs):
            return tuple(jax.tree.leaves(fn(*xs)))

        mapped = jax.shard_map(parts, mesh=mesh, in_specs=specs[0], out_specs=specs[1], check_vma=False, **manual)
        return jax.jit(mapped)  # JAX needs a jit where some axes are not manual

    def case(self):
        """The same as `axle eval-op` reads it."""

        def dims(spec):
            return [[] if dim is None else [dim] if isinstance(dim, str) else list(dim) for dim in spec]

        out = {"mesh": ",".join(f"{name}={size}" for name, size in self.mesh.items())}
        out |= {"in_specs": [dims(s) for s in self.in_specs], "out_specs": [dims(s) for s in self.out_specs]}
        return out | ({"axes": self.axes} if self.axes else {})


@dataclasses.dataclass
class Call:
    jax: typing.Callable
    operands: list
    attributes: dict
    vjp: bool = True
    vmap: bool = True
    tolerance: str = ""
    # Random numbers are those of JAX's default: with x64 some samplers draw f64 numbers and round them.
    x64: bool = True
    # Each device computes it over its parts.
    devices: Devices | None = None
    # In place of one function of Axle with the attributes: steps of a case.
    steps: dict | None = None


def call(fn, at=None, vjp=True, vmap=True, tol="", x64=True, devices=None, steps=None, **operands):
    specs = [Operand(n, m if isinstance(m, list) else [m], isinstance(m, list)) for n, m in operands.items()]
    return Call(fn, specs, at or {}, vjp, vmap, tol, x64, devices, steps)


MESH = {"data": 2, "model": 4}


def on_devices(fn, axes, in_spec, out_spec, at=None, manual=(), x=None, **more):
    """A collective of x[8, 4] over mesh axes: fn takes the part of a device and the axes."""
    devices = Devices(MESH, [in_spec], [out_spec], list(manual))
    return call(lambda part: fn(part, tuple(axes)), at={"axes": list(axes)} | (at or {}), devices=devices, x=x or F(8, 4), **more)


def arguments_of(call, seed):
    """A list of arrays for each operand."""
    rng = np.random.default_rng(seed)
    return [[np.asarray(make(rng)) for make in operand.makers] for operand in call.operands]


# Makers.
def F(*shape, low=-2, high=2, dtype=np.float32):
    return lambda rng: rng.uniform(low, high, shape).astype(dtype)


def P(*shape):
    return F(*shape, low=0.3, high=2.5)


def C(*shape):
    return lambda rng: (rng.uniform(-2, 2, shape) + 1j * rng.uniform(-2, 2, shape)).astype(np.complex64)


def I(*shape, low=-40, high=40, dtype=np.int32):
    return lambda rng: rng.integers(low, high, shape).astype(dtype)


def N(*shape, below):
    """Indices 0 .. below - 1."""
    return I(*shape, low=0, high=below)


def distinct(count, below):
    return lambda rng: rng.permutation(below)[:count].astype(np.int32)


def B(*shape):
    return lambda rng: rng.uniform(size=shape) < 0.5


def whole(*shape):
    """Small whole numbers, so that many are equal."""
    return lambda rng: rng.integers(-2, 3, shape).astype(np.float32)


def ascending(n, low=-2, high=2):
    return lambda rng: np.sort(rng.uniform(low, high, n)).astype(np.float32)


def V(value, dtype=np.float32):
    return lambda rng: np.asarray(value, dtype)


def definite(n):
    def make(rng):
        a = rng.standard_normal((n, n))
        return (a @ a.T / n + np.eye(n)).astype(np.float32)

    return make


def factor(n):
    """A Cholesky factor."""
    return lambda rng: np.linalg.cholesky(definite(n)(rng)).astype(np.float32)


def regular(n):
    return lambda rng: (rng.uniform(-1, 1, (n, n)) + 3 * np.eye(n)).astype(np.float32)


def key(rng):
    return rng.integers(0, 2**32, 2, dtype=np.uint32)


def unary(fn, maker=None, **more):
    return [call(fn, x=maker or F(3, 4), **more)]


def binary(fn, a=None, b=None, **more):
    return [call(fn, a=a or F(4, 3), b=b or F(4, 3), **more), call(fn, a=a or F(4, 3), b=b or F(3), **more)]


def with_number(jax_operator, number=1.5):
    return binary(jax_operator) + [
        call(lambda a: jax_operator(a, jnp.float32(number)), a=F(5), at={"b": number}),
    ]


def exact(calls):
    for c in calls:
        c.tolerance, c.vjp = "bitwise", False
    return calls


def draws(fn, at, tol="ulp=4, atol=5e-7", x64=False, vjp=False, **operands):
    """A sampler: fn takes the key, then the operands. With vjp, its gradients are those of its distribution."""
    return [call(lambda k, *x: fn(jax.random.wrap_key_data(k), *x), key=key, at=at, vjp=vjp, tol=tol, x64=x64, **operands)]
