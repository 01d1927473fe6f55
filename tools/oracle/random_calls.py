"""What the random functions of Axle are in JAX."""

import jax
import jax.numpy as jnp
import numpy as np
import rbg_calls
from calls import F, I, P, V, call, draws, factor, key
from jax import lax
from jax.extend.random import threefry2x32_p

# Files of tensors hold no 4-bit integers.
FOUR_BITS = [
    call(
        lambda k: jax.random.randint(jax.random.wrap_key_data(k), (11,), -7, 7, jnp.int4).astype(np.int8),
        key=key, x64=False, vjp=False, tol="bitwise",
        steps={
            "parameters": ["key"],
            "steps": {
                "drawn": {"function": "random::randint", "operands": ["key"], "attributes": {"shape": [11], "low": -7, "high": 7, "dtype": "i4"}},
                "wide": {"function": "astype", "operands": ["drawn"], "attributes": {"dtype": "i8"}},
            },
        },
    )  # fmt: skip
]

CALLS = {
    "random::key": [call(lambda: jax.random.key_data(jax.random.key(42)), at={"seed": 42}, vmap=False)],
    "random::random_key": [call(lambda: jax.random.key_data(jax.random.key(42)), at={"seed": 42}, vmap=False)],
    "random::split": draws(lambda k: jax.random.key_data(jax.random.split(k, 3)), {"n": 3}),
    "random::split_each": draws(lambda k: list(jax.random.key_data(jax.random.split(k, 3))), {"n": 3}),
    "random::fold_in": draws(lambda k: jax.random.key_data(jax.random.fold_in(k, 7)), {"number": 7}) + draws(lambda k, n: jax.random.key_data(jax.random.fold_in(k, n)), {}, number=V(9, np.uint32)),
    "random::bits": draws(lambda k: jax.random.bits(k, (3, 5), np.uint8), {"shape": [3, 5], "dtype": "u8"}) + draws(lambda k: jax.random.bits(k, (3, 5), np.uint64), {"shape": [3, 5], "dtype": "u64"}, x64=True),
    "threefry2x32": [call(lambda a, b, c, d: threefry2x32_p.bind(jnp.broadcast_to(a, c.shape), jnp.broadcast_to(b, c.shape), c, d), k0=I(dtype=np.uint32, low=0), k1=I(dtype=np.uint32, low=0), x0=I(4, dtype=np.uint32, low=0), x1=I(4, dtype=np.uint32, low=0))],
    "random::uniform": draws(lambda k: jax.random.uniform(k, (4, 3), np.float32), {"shape": [4, 3]}, "bitwise") + draws(lambda k, a, b: jax.random.uniform(k, (4, 3), np.float32, a, b), {"shape": [4, 3]}, low=F(3, low=-3, high=-2), high=F(3)),
    "random::normal": draws(lambda k: jax.random.normal(k, (4, 3), np.float32), {"shape": [4, 3]}) + draws(lambda k: jax.random.normal(k, (4, 3), np.complex64), {"shape": [4, 3], "dtype": "c64"}),
    "random::truncated_normal": draws(lambda k: jax.random.truncated_normal(k, -2, 2, (6,), np.float32), {"shape": [6], "low": -2, "high": 2}),
    "random::bernoulli": draws(lambda k: jax.random.bernoulli(k, np.float32(0.3), (10,)), {"shape": [10], "p": 0.3}) + draws(lambda k, p: jax.random.bernoulli(k, p, (4, 3)), {"shape": [4, 3]}, p=F(3, low=0, high=1)),
    "random::rademacher": draws(lambda k: jax.random.rademacher(k, (8,), np.float32), {"shape": [8]}),
    "random::exponential": draws(lambda k: jax.random.exponential(k, (5,), np.float32), {"shape": [5]}),
    "random::gumbel": draws(lambda k: jax.random.gumbel(k, (5,), np.float32), {"shape": [5]}),
    "random::laplace": draws(lambda k: jax.random.laplace(k, (5,), np.float32), {"shape": [5]}),
    "random::logistic": draws(lambda k: jax.random.logistic(k, (5,), np.float32), {"shape": [5]}),
    "random::cauchy": draws(lambda k: jax.random.cauchy(k, (5,), np.float32), {"shape": [5]}, "rtol=1e-4"),
    "random::pareto": draws(lambda k, b: jax.random.pareto(k, b, (5,), np.float32), {"shape": [5]}, "rtol=1e-5", b=P(5)),
    "random::lognormal": draws(lambda k, s: jax.random.lognormal(k, s, (5,), np.float32), {"shape": [5]}, "rtol=1e-5", sigma=P(5)),
    "random::rayleigh": draws(lambda k, s: jax.random.rayleigh(k, s, (5,), np.float32), {"shape": [5]}, "rtol=1e-5", scale=P(5)),
    "random::wald": draws(lambda k, m: jax.random.wald(k, m, (5,), np.float32), {"shape": [5]}, "rtol=1e-4", mean=P(5)),
    "random::weibull_min": draws(lambda k, s, c: jax.random.weibull_min(k, s, c, (5,), np.float32), {"shape": [5]}, "rtol=1e-5", scale=P(5), concentration=P(5)),
    "random::triangular": draws(lambda k, a, b, c: jax.random.triangular(k, a, b, c, (5,), np.float32), {"shape": [5]}, "rtol=1e-5, atol=1e-6", left=V(-1), mode=V(0.5), right=V(2)),
    "random::geometric": draws(lambda k, p: jax.random.geometric(k, p, (9,), np.int32), {"shape": [9]}, p=V(0.3)),
    "random::maxwell": draws(lambda k: jax.random.maxwell(k, (5,), np.float32), {"shape": [5]}, "rtol=1e-5"),
    "random::double_sided_maxwell": draws(lambda k, a, b: jax.random.double_sided_maxwell(k, a, b, (5,), np.float32), {"shape": [5]}, "rtol=1e-5, atol=1e-5", loc=V(0.5), scale=V(2)),
    "random::gamma": draws(lambda k, a: jax.random.gamma(k, a, (4,), np.float32), {"shape": [4]}, "rtol=1e-4, atol=1e-5", vjp=True, a=P(4)),
    "random::loggamma": draws(lambda k, a: jax.random.loggamma(k, a, (4,), np.float32), {"shape": [4]}, "rtol=1e-4, atol=1e-5", vjp=True, a=P(4)),
    "random::gamma_gradient": [call(lax.random_gamma_grad, vjp=False, tol="rtol=1e-4", a=P(40), x=P(40)), call(lax.random_gamma_grad, vjp=False, tol="rtol=1e-4", a=F(40, low=80, high=120), x=F(40, low=80, high=120))],
    "random::loggamma_gradient": [call(lambda a, y: lax.random_gamma_grad(a, jnp.exp(y)) / jnp.exp(y), vjp=False, tol="rtol=1e-4", a=P(40), y=F(40))],
    "random::beta": draws(lambda k, a, b: jax.random.beta(k, a, b, (4,), np.float32), {"shape": [4]}, "rtol=1e-4, atol=1e-5", vjp=True, a=P(4), b=P(4)),
    "random::dirichlet": draws(lambda k, a: jax.random.dirichlet(k, a, (2,), np.float32), {"batch": [2]}, "rtol=1e-4, atol=1e-5", vjp=True, alpha=P(3)),
    "random::chisquare": draws(lambda k, d: jax.random.chisquare(k, d, (4,), np.float32), {"shape": [4]}, "rtol=1e-4, atol=1e-5", vjp=True, df=P(4)),
    "random::student_t": draws(lambda k, d: jax.random.t(k, d, (4,), np.float32), {"shape": [4]}, "rtol=1e-4, atol=1e-5", vjp=True, df=P(4)),
    "random::f_ratio": draws(lambda k, a, b: jax.random.f(k, a, b, (4,), np.float32), {"shape": [4]}, "rtol=1e-4, atol=1e-5", vjp=True, numerator_df=P(4), denominator_df=P(4)),
    "random::generalized_normal": draws(lambda k, p: jax.random.generalized_normal(k, p, (4,), np.float32), {"shape": [4]}, "rtol=1e-4, atol=1e-5", vjp=True, p=V(1.5)),
    "random::ball": draws(lambda k, p: jax.random.ball(k, 3, p, (2,), np.float32), {"batch": [2], "dim": 3}, "rtol=1e-4, atol=1e-5", vjp=True, p=V(2)),
    "random::poisson": draws(lambda k, r: jax.random.poisson(k, r, (6,), np.int32), {"shape": [6]}, rate=F(6, low=1, high=20)),
    "random::binomial": draws(lambda k, n, p: jax.random.binomial(k, n, p, (6,), np.float32), {"shape": [6]}, n=V(20), p=V(0.3)),
    "random::multinomial": draws(lambda k, n, p: jax.random.multinomial(k, n, p, shape=(2, 3), dtype=np.float32), {"batch": [2]}, n=V(10), p=V([0.2, 0.3, 0.5])),
    "random::orthogonal": draws(lambda k: jax.random.orthogonal(k, 3, (2,), np.float32), {"batch": [2], "rows": 3, "columns": 3}, "1e-4"),
    "random::randint": FOUR_BITS + draws(lambda k: jax.random.randint(k, (11,), -7, 100, np.int32), {"shape": [11], "low": -7, "high": 100}) + draws(lambda k, a, b: jax.random.randint(k, (4, 3), a, b, np.int32), {"shape": [4, 3]}, low=I(3, low=-9, high=0), high=I(3, low=1, high=90)),
    "random::permutation": draws(lambda k: jax.random.permutation(k, np.int32(13)).astype(np.int32), {"n": 13}) + draws(lambda k, x: jax.random.permutation(k, x, 1), {"axis": 1}, x=F(2, 5)),
    "random::independent_permutation": draws(lambda k, x: jax.random.permutation(k, x, 1, independent=True), {"axis": 1}, x=F(2, 5)),
    "random::categorical": draws(lambda k, x: jax.random.categorical(k, x, -1, shape=(6, 2)).astype(np.int32), {"batch": [6]}, logits=F(2, 3)),
    "random::choice": draws(lambda k: jax.random.choice(k, np.int32(20), (5,), replace=False).astype(np.int32), {"n": 20, "shape": [5], "replacement": "without"}),
    "random::multivariate_normal": draws(lambda k, m, a: jax.random.multivariate_normal(k, m, a @ a.T, (2,), np.float32, method="cholesky"), {"batch": [2]}, "rtol=1e-4, atol=1e-5", mean=F(3), factor=factor(3)),
    "rng_bit_generator": rbg_calls.GENERATOR,
    "random::rbg_split": rbg_calls.SPLIT,
    "random::rbg_fold_in": rbg_calls.FOLD_IN,
    "random::rbg_bits": rbg_calls.BITS,
}  # fmt: skip
