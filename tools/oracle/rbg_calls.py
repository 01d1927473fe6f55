"""What the random functions of Axle with keys of rbg, four words of u32, are in JAX."""

import jax
import numpy as np
from calls import V, call
from jax import lax


def rbg_key(rng):
    return rng.integers(0, 2**32, 4, dtype=np.uint32)


def of_rbg(fn, at, **operands):
    """A call whose fn takes a key of rbg, then the operands."""

    def of_words(words, *x):
        return fn(jax.random.wrap_key_data(words, impl="rbg"), *x)

    return call(of_words, at=at, tol="bitwise", key=rbg_key, **operands)


def generated(dtype, name):
    # JAX returns the next key too.
    return call(lambda k: lax.rng_bit_generator(k, (3, 5), dtype)[1], at={"shape": [3, 5], "dtype": name}, tol="bitwise", key=rbg_key)


def bits(width):
    return of_rbg(lambda k: jax.random.bits(k, (3, 5), np.dtype(f"uint{width}")), {"width": width, "shape": [3, 5]})


GENERATOR = [generated(np.uint32, "u32"), generated(np.uint64, "u64")]
SPLIT = [of_rbg(lambda k: jax.random.key_data(jax.random.split(k, 3)), {"n": 3})]
FOLD_IN = [of_rbg(lambda k, high, low: jax.random.key_data(jax.random.fold_in(k, low)), {}, high=V(0, np.uint32), low=V(7, np.uint32))]
BITS = [bits(8), bits(16), bits(32), bits(64)]
