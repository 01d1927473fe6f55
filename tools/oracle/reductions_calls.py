"""What the reductions of Axle are in JAX."""

import jax
import jax.numpy as jnp
import numpy as np
from calls import B, C, F, I, N, binary, call, unary, whole
from jax import lax


def cross_entropy(logits, labels):
    log_z = jax.nn.logsumexp(logits, -1)
    return log_z - jnp.take_along_axis(logits, labels[:, None], -1)[:, 0], log_z


def standardized(x):
    return jax.nn.standardize(x, epsilon=1e-5)


def l2_normalized(x):
    return x * lax.rsqrt(jnp.maximum(jnp.sum(x * x, -1, keepdims=True), 1e-12))


# bf16 and f16 are summed in f32 and rounded once; XLA may sum in another order. A unit in the last place of the largest element.
HALVES = ((jnp.bfloat16, "largest=8e-3"), (np.float16, "largest=1e-3"))


def of_halves(fn, at):
    """A reduction of numbers of 16 bits."""
    return [call(fn, x=F(3, 40, dtype=dtype), at=at, tol=tol) for dtype, tol in HALVES]


CALLS = {
    "reduce_sum": unary(lambda x: x.sum((0, 2)), F(2, 3, 4), at={"axes": [0, 2]}) + unary(lambda x: x.sum(1, keepdims=True), at={"axes": [1], "keep_dims": True}) + of_halves(lambda x: x.sum(1), {"axes": [1]}),
    "reduce_sum_in_own_dtype": unary(lambda x: x.sum(1), at={"axes": [1]}),
    "reduce_max": unary(lambda x: x.max(1), whole(3, 6), at={"axes": [1]}) + [call(lambda x: jnp.max(x, 1), at={"axes": [1]}, vjp=False, tol="bitwise", x=m) for m in (I(3, 4, dtype=np.int8), I(3, 4, low=0, dtype=np.uint8), I(3, 4, dtype=np.int16), F(3, 4, dtype=jnp.bfloat16), F(3, 4, dtype=np.float16))],
    "reduce_min": unary(lambda x: x.min(1), whole(3, 6), at={"axes": [1]}),
    "reduce_prod": unary(lambda x: x.prod(1), at={"axes": [1]}),
    "reduce_and": unary(lambda x: x.all(1), B(3, 2), at={"axes": [1]}),
    "reduce_or": unary(lambda x: x.any(1), B(3, 2), at={"axes": [1]}),
    "reduce_xor": unary(lambda x: lax.reduce_xor(x, (1,)), B(3, 4), at={"axes": [1]}) + unary(lambda x: lax.reduce_xor(x, (0, 2)), I(2, 3, 4), at={"axes": [0, 2]}),
    "sum": unary(jnp.sum) + of_halves(jnp.sum, {}),
    "mean": unary(jnp.mean) + unary(lambda x: x.mean(0), at={"axes": [0]}) + of_halves(lambda x: x.mean(1), {"axes": [1]}),
    "variance": unary(lambda x: x.var(0), at={"axes": [0]}) + unary(lambda x: x.var(0), C(3, 4), at={"axes": [0]}),
    "argmax": unary(lambda x: lax.argmax(x, 1, np.int32), whole(3, 6)),
    "argmin": unary(lambda x: lax.argmin(x, 0, np.int32), whole(3, 6), at={"axis": 0}),
    "softmax_cross_entropy": [call(cross_entropy, logits=F(3, 5), labels=N(3, below=5))],
    "cumsum": unary(lambda x: lax.cumsum(x, 1), at={"axis": 1}) + unary(lambda x: lax.cumsum(x, 0, reverse=True), at={"axis": 0, "reversed": True}),
    "cumprod": unary(lambda x: lax.cumprod(x, 1), at={"axis": 1}),
    "cummax": unary(lambda x: lax.cummax(x, 1), at={"axis": 1}),
    "cummin": unary(lambda x: lax.cummin(x, 1, reverse=True), at={"axis": 1, "reversed": True}),
    "cumlogsumexp": unary(lambda x: lax.cumlogsumexp(x, 1), at={"axis": 1}),
    "standardize": unary(standardized, tol="atol=2e-5"),
    "l2_normalize": unary(l2_normalized),
    "quantile": [call(lambda x, q: jnp.quantile(x, q, -1), x=F(3, 7), q=F(2, low=0, high=1)),
                 call(lambda x: jnp.quantile(x, np.float32(0.3), 0, method="lower"), x=F(3, 7), at={"q": 0.3, "axis": 0, "method": "lower"})],
    "percentile": [call(lambda x, q: jnp.percentile(x, q, -1), x=F(3, 7), q=F(2, low=0, high=100))],
    "median": unary(lambda x: jnp.median(x, -1)) + unary(lambda x: jnp.median(x, 0, keepdims=True), at={"axis": 0, "keep_dims": True}),
    "softmax": unary(jax.nn.softmax) + unary(lambda x: jax.nn.softmax(x, 0), at={"axis": 0}),
    "log_softmax": unary(jax.nn.log_softmax),
    "logsumexp": unary(lambda x: jax.nn.logsumexp(x, -1)) + unary(lambda x: jax.nn.logsumexp(x, 0, keepdims=True), at={"axis": 0, "keep_dims": True}),
    "logaddexp": binary(jnp.logaddexp),
    "softplus": unary(jax.nn.softplus),
}  # fmt: skip
