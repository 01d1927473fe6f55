#!/usr/bin/env python3
"""Makes the numbers of testdata/reference/jax again with the JAX that is installed, and compares.

  ./dev bench peers jax
  .axle/peers/jax/bin/python tools/oracle/jax_numbers.py          compares every op and every sampler that is stored
  .axle/peers/jax/bin/python tools/oracle/jax_numbers.py dot sum_12

Inputs and cotangents are the stored ones; what JAX computes of them must agree with the stored results. Exit code 1 if
something does not. A new case is one line of a table below, and its inputs.
"""

import pathlib
import sys

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from tensor_file import load

jax.config.update("jax_enable_x64", True)
jax.config.update("jax_default_matmul_precision", "highest")
jax.config.update("jax_threefry_partitionable", True)
FOLDER = pathlib.Path(__file__).resolve().parents[2] / "testdata" / "reference" / "jax"


def rnn(w, xs):
    def step(h, x):
        h = jnp.tanh(h @ w + x)
        return h, 2 * h

    return lax.scan(step, jnp.zeros(4, xs.dtype), xs)[1]


def ties(x):
    whole = lax.round(x, lax.RoundingMethod.TO_NEAREST_EVEN)
    return lax.max(whole, lax.rev(whole, (0,)))


# Op -> the function of its inputs that the stored numbers are of.
OPS = {
    "neg": lax.neg, "abs": lax.abs, "sign": lax.sign, "floor": lax.floor, "ceil": lax.ceil, "exp": lax.exp,
    "exp2": lax.exp2, "expm1": lax.expm1, "sin": lax.sin, "cos": lax.cos, "tan": lax.tan, "tanh": lax.tanh,
    "logistic": lax.logistic, "erf": lax.erf, "erfc": lax.erfc, "square": lax.square, "is_finite": lax.is_finite,
    "log": lax.log, "log1p": lax.log1p, "sqrt": lax.sqrt, "rsqrt": lax.rsqrt, "cbrt": lax.cbrt, "erf_inv": lax.erf_inv,
    "round_even": lambda x: lax.round(x * 4, lax.RoundingMethod.TO_NEAREST_EVEN),
    "add": lax.add, "sub": lax.sub, "mul": lax.mul, "div": lax.div, "max": lax.max, "min": lax.min, "atan2": lax.atan2,
    "rem": lax.rem, "pow": lax.pow, "int_div": lax.div, "int_rem": lax.rem, "logaddexp": jnp.logaddexp,
    "integer_pow_m3": lambda x: lax.integer_pow(x, -3), "select": lax.select, "clamp": lax.clamp,
    "reduce_precision_bf16": lambda x: lax.reduce_precision(x, 8, 7), "max_ties": ties,
    "shifts": lambda x: (x << 40, lax.shift_right_logical(x, jnp.full_like(x, 3)), x >> 3),
    "popcount_clz": lambda x: (lax.population_count(x), lax.clz(x)), "nextafter": jnp.nextafter,
    "sum_12": lambda x: x.sum((1, 2)), "mean_0": lambda x: x.mean(0), "prod": lambda x: x.prod(1),
    "max_1_ties": lambda x: lax.round(x, lax.RoundingMethod.TO_NEAREST_EVEN).max(1),
    "argmax": lambda x: lax.argmax(x, 1, np.int32), "cumsum": lambda x: lax.cumsum(x, 1),
    "cumsum_rev": lambda x: lax.cumsum(x, 0, reverse=True), "cummax": lambda x: lax.cummax(x, 1),
    "cumprod": lambda x: lax.cumprod(x, 0), "cumlogsumexp": lambda x: lax.cumlogsumexp(x, 0),
    "reshape": lambda x: x.reshape(6, 2, 2), "transpose": lambda x: x.transpose(2, 0, 1),
    "broadcast": lambda x: lax.broadcast_in_dim(x, (3, 5, 4), (0, 2)),
    "slice_strided": lambda x: lax.slice(x, (1, 0), (9, 6), (3, 2)),
    "pad_mixed": lambda x, fill: lax.pad(x, fill, ((-1, 2, 1), (1, -1, 0))),
    "concat": lambda x, y: lax.concatenate([x, y, x], 1), "rev": lambda x: lax.rev(x, (0, 1)),
    "dynamic_slice_clamped": lambda x: lax.dynamic_slice(x, (7, 2), (3, 2)),
    "dynamic_update_slice": lambda x, y: lax.dynamic_update_slice(x, y, (3, 1)),
    "take_rows": lambda x, i: jnp.take(x, i, axis=0), "take_along": lambda x, i: jnp.take_along_axis(x, i, 1),
    "take_fill_oob": lambda x, i: jnp.take(x, i, axis=0, mode="fill", fill_value=7),
    "scatter_add": lambda x, y, i: jnp.asarray(x).at[i].add(y), "scatter_max": lambda x, y, i: jnp.asarray(x).at[i].max(y),
    "scatter_mul": lambda x, y, i: jnp.asarray(x).at[i].multiply(y),
    "sort": lambda x: lax.sort(x), "sort_kv": lambda k, v: lax.sort((k, v), num_keys=1), "top_k": lambda x: lax.top_k(x, 3),
    "dot": lambda x, y: x @ y, "dot_batch": lambda x, y: jnp.einsum("bkt,bsk->bts", x, y),
    "einsum_btd_dnh": lambda x, y: jnp.einsum("btd,dnh->bnth", x, y),
    "softmax": jax.nn.softmax, "log_softmax": jax.nn.log_softmax, "logsumexp": lambda x: jax.nn.logsumexp(x, -1),
    "gelu_tanh": jax.nn.gelu, "gelu_exact": lambda x: jax.nn.gelu(x, approximate=False), "silu": jax.nn.silu,
    "softplus": jax.nn.softplus, "scan_rnn": rnn,
    "scan_reverse": lambda xs: lax.scan(lambda h, x: (0.5 * h + x, h), jnp.float32(1), xs, reverse=True),
    # The file does not say with which attributes: these explain all stored numbers.
    "conv_1d": lambda x, k: lax.conv_general_dilated(x, k, (2,), [(2, 1)], rhs_dilation=(2,),
                                                     dimension_numbers=("NWC", "WIO", "NWC")),
    "conv_2d_groups": lambda x, k: lax.conv_general_dilated(x, k, (1, 2), "SAME", feature_group_count=2,
                                                            dimension_numbers=("NHWC", "HWIO", "NHWC")),
    "conv_lhs_dilated": lambda x, k: lax.conv_general_dilated(x, k, (1,), [(2, 2)], lhs_dilation=(2,),
                                                              dimension_numbers=("NWC", "WIO", "NWC")),
    "max_pool": lambda x: lax.reduce_window(x, -np.inf, lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID"),
    "avg_pool_same": lambda x: lax.reduce_window(x, 0.0, lax.add, (1, 3), (1, 2), "SAME"),
    "cond": lambda p, x: lax.cond(p[0], jnp.sin, jnp.square, x),
    "ragged_dot": lambda x, y: lax.ragged_dot(x, y, np.array([3, 0, 4], np.int32)),
    "cholesky": lambda x: jnp.linalg.cholesky(x @ x.T + 4 * np.eye(4, dtype=np.float32)),
    "triangular_solve": lambda a, b: lax.linalg.triangular_solve(a + 3 * np.eye(4, dtype=np.float32), b, left_side=True, lower=True),
    "rfft": lambda x: jnp.square(jnp.abs(jnp.fft.rfft(x))),
}  # fmt: skip
# Stored with shape [1]: the file has no scalars.
SCALARS = {("pad_mixed", 1), ("clamp", 0), ("clamp", 2)}
# Not stored: they were found as those that explain every draw of both generators.
PROBABILITIES = np.array([[0.1, 0.2, 0.7], [0.5, 0.25, 0.25]], np.float32)


def has_poisson(key):
    """False for the keys for which the file holds one zero in place of draws: JAX has none."""
    return jax.random.key_impl(key) == "threefry2x32"


# Sampler -> what it draws from a key.
SAMPLERS = {
    "key": jax.random.key_data, "split3": lambda k: jax.random.key_data(jax.random.split(k, 3)),
    "split2x2": lambda k: jax.random.key_data(jax.random.split(k, (2, 2))),
    "fold_in7": lambda k: jax.random.key_data(jax.random.fold_in(k, 7)),
    **{f"bits_uint{n}": lambda k, n=n: jax.random.bits(k, (3, 5), f"uint{n}") for n in (8, 16, 32)},
    "uniform": lambda k: jax.random.uniform(k, (4, 3), np.float32),
    "uniform_-2_5": lambda k: jax.random.uniform(k, (7,), np.float32, -2, 5),
    "uniform_bf16": lambda k: jax.random.uniform(k, (9,), jnp.bfloat16),
    "normal": lambda k: jax.random.normal(k, (4, 3), np.float32),
    "truncated_normal": lambda k: jax.random.truncated_normal(k, -2, 2, (6,), np.float32),
    "exponential": lambda k: jax.random.exponential(k, (5,), np.float32),
    "gumbel": lambda k: jax.random.gumbel(k, (5,), np.float32),
    "laplace": lambda k: jax.random.laplace(k, (5,), np.float32),
    "rademacher": lambda k: jax.random.rademacher(k, (8,), np.float32),
    "bernoulli_0.3": lambda k: jax.random.bernoulli(k, np.float32(0.3), (10,)),
    "randint_-7_100": lambda k: jax.random.randint(k, (11,), -7, 100, np.int32),
    "randint_u8": lambda k: jax.random.randint(k, (9,), 0, 200, np.uint8),
    "gamma_2.5": lambda k: jax.random.gamma(k, np.float32(2.5), (4,)),
    "beta": lambda k: jax.random.beta(k, np.float32(2), np.float32(3), (4,)),
    "dirichlet": lambda k: jax.random.dirichlet(k, np.array([1, 2, 3], np.float32), (2,)),
    "poisson_4": lambda k: jax.random.poisson(k, np.float32(4), (6,)) if has_poisson(k) else np.zeros(1),
    "permutation": lambda k: jax.random.permutation(k, np.int32(13)),
    "choice": lambda k: jax.random.choice(k, np.int32(20), (5,), replace=False),
    "categorical": lambda k: jax.random.categorical(k, jnp.log(PROBABILITIES), -1, shape=(6, 2)),
}  # fmt: skip


def differs(got, want, tolerance):
    """Why two arrays do not agree within `tolerance` of the larger, or of the largest element; None if they do."""
    got, want = np.asarray(got, np.float64).ravel(), np.asarray(want, np.float64).ravel()
    if got.size != want.size:
        return f"expected {want.size} elements, got {got.size}"
    finite = np.isfinite(want)
    if not np.array_equal(got[~finite], want[~finite], equal_nan=True):
        return "infinities or NaNs stand elsewhere"
    scale = np.maximum(np.abs(want[finite]), np.abs(want[finite]).max(initial=0) * 1e-2)
    error = np.max(np.abs(got[finite] - want[finite]) / np.where(scale > 0, scale, 1), initial=0)
    return None if error <= tolerance else f"relative error {error:.2e}"


def check_op(op, numbers):
    """Names of the stored results that JAX does not give again."""
    function, wrong = OPS[op], []
    inputs = []
    while f"{op}/in{len(inputs)}" in numbers:
        x = numbers[f"{op}/in{len(inputs)}"]
        inputs.append(x.reshape(()) if (op, len(inputs)) in SCALARS else x)

    def flat(*xs):
        return jax.tree.leaves(function(*xs))

    floats = [i for i, x in enumerate(inputs) if x.dtype.kind == "f"]

    def of_floats(*xs):
        return flat(*(xs[floats.index(i)] if i in floats else x for i, x in enumerate(inputs)))

    results = {f"out{i}": y for i, y in enumerate(flat(*inputs))}
    if f"{op}/ct0" in numbers:
        outputs, pullback = jax.vjp(of_floats, *(inputs[i] for i in floats))
        zero = [np.zeros(y.shape, jax.dtypes.float0 if y.dtype.kind not in "f" else y.dtype) for y in outputs]
        given = [numbers.get(f"{op}/ct{i}") for i in range(len(outputs))]
        cotangents = [z if c is None else c.reshape(z.shape).astype(z.dtype) for c, z in zip(given, zero)]
        results |= {f"grad{i}": g for i, g in zip(floats, pullback(cotangents))}
    if f"{op}/special_in" in numbers:
        results["special_out"] = flat(numbers[f"{op}/special_in"])[0]
    for name, got in results.items():
        want = numbers.get(f"{op}/{name}")
        reason = "not stored" if want is None else differs(got, want, 1e-5)
        if reason:
            wrong.append(f"{op}/{name}: {reason}")
    return wrong


def check_sampler(name, numbers):
    wrong = []
    for path, want in numbers.items():
        implementation, seed, sampler = path.split("/", 2)
        if sampler != name:
            continue
        got = SAMPLERS[name](jax.random.key(int(seed), impl=implementation))
        reason = differs(got, want, 1e-5)
        if reason:
            wrong.append(f"{path}: {reason}")
    return wrong


def main():
    ops, draws = load(FOLDER / "ops.safetensors"), load(FOLDER / "random.safetensors")
    stored_ops = {path.split("/")[0] for path in ops}
    stored_samplers = {path.split("/", 2)[2] for path in draws}
    wrong = [f"{op}: stored, but no line of OPS" for op in sorted(stored_ops - set(OPS))]
    asked = set(sys.argv[1:])
    checked = 0
    for table, stored, check, numbers in ((OPS, stored_ops, check_op, ops), (SAMPLERS, stored_samplers, check_sampler, draws)):
        # Random numbers are those of JAX's default, where a seed has 32 bits.
        jax.config.update("jax_enable_x64", table is OPS)
        for name in sorted(stored & set(table)):
            if not asked or name in asked:
                wrong += check(name, numbers)
                checked += 1
    print("\n".join(wrong + [f"jax {jax.__version__}: {checked} cases, {len(wrong)} results differ"]))
    return 1 if wrong or not checked else 0


if __name__ == "__main__":
    sys.exit(main())
