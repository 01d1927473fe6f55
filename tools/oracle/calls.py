"""Calls of functions with drawn inputs: what tools/oracle/functions.py is written in.

A maker draws an array; call(JAX function of the operands, operand=maker, ..., at={attributes}) is one call. A list of makers is
an operand that is a list of tensors.
"""

import dataclasses
import typing

import jax
import jax.numpy as jnp
import numpy as np


@dataclasses.dataclass
class Operand:
    name: str
    makers: list
    is_list: bool


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


def call(fn, at=None, vjp=True, vmap=True, tol="", x64=True, **operands):
    specs = [Operand(n, m if isinstance(m, list) else [m], isinstance(m, list)) for n, m in operands.items()]
    return Call(fn, specs, at or {}, vjp, vmap, tol, x64)


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


def draws(fn, at, tol="ulp=4, atol=5e-7", x64=False, **operands):
    """A sampler: fn takes the key, then the operands."""
    return [call(lambda k, *x: fn(jax.random.wrap_key_data(k), *x), key=key, at=at, vjp=False, tol=tol, x64=x64, **operands)]
