"""What each public tensor function of Axle is in JAX: one line or more for each, with inputs and attributes.

Functions without a line are in WITHOUT_CALL, with the reason.
"""

import jax
import jax.numpy as jnp
import jax.scipy as jsp
import numpy as np
import rbg_calls
from collective_calls import PAIRS, exchanged, gathered, in_mesh_order, index_of, permuted, scattered_over
from calls import MESH, B, C, Devices, F, I, N, P, V, ascending, binary, call, definite, distinct, draws, exact, factor, key, on_devices, regular, unary, whole, with_number
from jax import lax
from jax.extend.random import threefry2x32_p


def same(x):
    return x


def window(reducer, init, sizes, strides, padding):
    return lambda x: lax.reduce_window(x, init, reducer, sizes, strides, padding)


def at_rows(method, **promises):
    def fn(x, indices, updates):
        return getattr(x.at[indices], method)(updates, **promises)

    return fn


def gather_rows(x, i):
    numbers = lax.GatherDimensionNumbers(offset_dims=(1,), collapsed_slice_dims=(0,), start_index_map=(0,))
    return lax.gather(x, i[:, None], numbers, (1, x.shape[1]), mode="clip")


def scatter_rows(fn, promises):
    numbers = lax.ScatterDimensionNumbers(update_window_dims=(1,), inserted_window_dims=(0,), scatter_dims_to_operand_dims=(0,))
    return lambda x, i, u: fn(x, i[:, None], u, numbers, mode="drop", **promises)


def scattered(fn, rows, **promises):
    at = {"offset": [1], "collapsed": [0], "index_map": [0], "index_vector_dim": 1} | promises
    return [call(scatter_rows(fn, promises), operand=P(5, 3), indices=rows, updates=P(4, 3), at=at)]


def along(method):
    def fn(x, i, u):
        rows = jnp.arange(x.shape[0])[:, None]
        return getattr(x.at[rows, i], method)(u)

    return fn


def lines_of_indices(rng):
    return np.stack([rng.permutation(4)[:2] for _ in range(3)]).astype(np.int32)


def put_rows(x, starts, updates):
    def one(x, start, update):
        return x.at[start + jnp.arange(update.shape[0])].set(update, mode="drop")

    return jax.vmap(one)(x, starts, updates)


def unique(x):
    return jnp.unique(x, return_index=True, return_inverse=True, return_counts=True, size=4)


def cross_entropy(logits, labels):
    log_z = jax.nn.logsumexp(logits, -1)
    return log_z - jnp.take_along_axis(logits, labels[:, None], -1)[:, 0], log_z


def ragged_contracting(a, b, sizes):
    numbers = lax.RaggedDotDimensionNumbers(
        dot_dimension_numbers=(((0,), (0,)), ((), ())), lhs_ragged_dimensions=[0], rhs_group_dimensions=[]
    )
    return lax.ragged_dot_general(a, b, sizes, numbers)


def convolve(strides, padding, dims, **more):
    return lambda x, kernel: lax.conv_general_dilated(x, kernel, strides, padding, dimension_numbers=dims, **more)


def standardized(x):
    return jax.nn.standardize(x, epsilon=1e-5)


def l2_normalized(x):
    return x * lax.rsqrt(jnp.maximum(jnp.sum(x * x, -1, keepdims=True), 1e-12))


BODY = {
    "parameters": ["h", "x"],
    "steps": {"sum": {"function": "add", "operands": ["h", "x"]}, "next": {"function": "tanh", "operands": ["sum"]}},
    "results": ["next", "sum"],
}
DOUBLE = {"function": "mul", "attributes": {"b": 2}}
SMALL = {
    "parameters": ["x"],
    "steps": {"total": {"function": "sum", "operands": ["x"]}, "small": {"function": "less", "operands": ["total"], "attributes": {"b": 20}}},
}
ADD_COUNTER = {
    "parameters": ["i", "c"],
    "steps": {
        "n": {"function": "astype", "operands": ["i"], "attributes": {"dtype": "f32"}},
        "s": {"function": "mul", "operands": ["c", "n"]},
        "next": {"function": "sin", "operands": ["s"]},
    },
}


def body(h, x):
    return jnp.tanh(h + x), h + x


def doubled_while_small(x):
    return lax.while_loop(lambda c: c.sum() < 20, lambda c: 2 * c, x)


def bounded_doubling(x):
    return lax.fori_loop(0, 8, lambda i, c: jnp.where(c.sum() < 20, 2 * c, c), x)


CALLS = {
    # elementwise
    "neg": unary(lax.neg),
    "add": with_number(jnp.add),
    "sub": with_number(jnp.subtract),
    "mul": with_number(jnp.multiply) + binary(jnp.multiply, C(4, 3), C(4, 3)),
    "div": with_number(jnp.divide) + binary(lambda a, b: lax.div(a, jnp.broadcast_to(b, a.shape)), I(4, 3), I(4, 3, low=1)),
    "remainder": binary(lambda a, b: lax.rem(a, jnp.broadcast_to(b, a.shape)), F(4, 3), P(4, 3))[:1],
    "maximum": with_number(jnp.maximum) + binary(jnp.maximum, whole(4, 3), whole(4, 3)) + [call(jnp.maximum, vjp=False, tol="bitwise", a=I(3, 4, dtype=d), b=I(4, dtype=d)) for d in (np.int8, np.int16)],
    "minimum": with_number(jnp.minimum) + binary(jnp.minimum, whole(4, 3), whole(4, 3)),
    "bitwise_and": binary(jnp.bitwise_and, I(4, 3), I(4, 3)),
    "bitwise_or": binary(jnp.bitwise_or, B(4, 3), B(4, 3)),
    "bitwise_xor": binary(jnp.bitwise_xor, I(4, 3), I(4, 3)),
    "bitwise_not": unary(jnp.bitwise_not, I(5)),
    "logical_not": unary(jnp.logical_not, B(5)),
    "shift_left": [call(lax.shift_left, a=I(6), bits=I(6, low=0, high=40)), call(lambda a: a << 3, a=I(6), at={"bits": 3})],
    "shift_right_logical": [call(lax.shift_right_logical, a=I(6), bits=I(6, low=0, high=40))],
    "shift_right_arithmetic": [call(lax.shift_right_arithmetic, a=I(6), bits=I(6, low=0, high=40))],
    "shift_right": [call(lambda a: a >> 2, a=I(6), at={"bits": 2})],
    "popcount": unary(lax.population_count, I(6)),
    "count_leading_zeros": unary(lax.clz, I(6)),
    "equal": with_number(jnp.equal, 1) + binary(jnp.equal, whole(4, 3), whole(4, 3)),
    "not_equal": with_number(jnp.not_equal, 1) + binary(jnp.not_equal, whole(4, 3), whole(4, 3)),
    "less": with_number(jnp.less) + binary(jnp.less, whole(4, 3), whole(4, 3)),
    "less_equal": with_number(jnp.less_equal) + binary(jnp.less_equal, whole(4, 3), whole(4, 3)),
    "greater": with_number(jnp.greater) + binary(jnp.greater, whole(4, 3), whole(4, 3)),
    "greater_equal": with_number(jnp.greater_equal) + binary(jnp.greater_equal, whole(4, 3), whole(4, 3)),
    "select": [call(jnp.where, p=B(3, 4), a=F(3, 4), b=F(3, 4)), call(lambda p, a: jnp.where(p, a, jnp.float32(7)), p=B(3, 4), a=F(3, 4), at={"b": 7})],
    "select_n": [call(lambda w, cases: lax.select_n(jnp.clip(w, 0, 2), *cases), which=I(5, low=0, high=3), cases=[F(5), F(5), F(5)])],
    "clamp": [call(jnp.clip, x=F(9), low=V(-1), high=V(1)), call(lambda x: lax.clamp(jnp.float32(-1), x, jnp.float32(1)), x=F(9), at={"low": -1, "high": 1})],
    "is_nan": unary(jnp.isnan, V([1, np.nan, np.inf])),
    "fraction_of": [call(lambda p: p.mean(dtype=np.float32), p=B(8))],
    "total_equal": binary(lambda a, b: lax.eq_to_p.bind(a, b), V([0.0, -0.0, np.nan, 1]), V([-0.0, -0.0, np.nan, 2]))[:1],
    "total_less": binary(lambda a, b: lax.lt_to_p.bind(a, b), V([-0.0, 0.0, 1, np.nan]), V([0.0, -0.0, np.nan, 1]))[:1],
    "total_less_equal": binary(lambda a, b: lax.le_to_p.bind(a, b), V([-0.0, 0.0, 1, np.nan]), V([0.0, -0.0, np.nan, 1]))[:1],
    "exp": unary(jnp.exp),
    "exp2": unary(jnp.exp2),
    "expm1": unary(jnp.expm1),
    "logistic": unary(lax.logistic),
    "log": unary(jnp.log, P(3, 4)),
    "log1p": unary(jnp.log1p, P(3, 4)),
    "sqrt": unary(jnp.sqrt, P(3, 4)),
    "rsqrt": unary(lax.rsqrt, P(3, 4)),
    "cbrt": unary(jnp.cbrt, F(3, 4)),
    "square": unary(jnp.square),
    "pow": [call(jnp.power, x=P(4, 3), y=F(4, 3))],
    "integer_pow": unary(lambda x: lax.integer_pow(x, -3), P(7), at={"n": -3}) + unary(lambda x: lax.integer_pow(x, 5), I(7, low=-5, high=5), at={"n": 5}),
    "lgamma": unary(lax.lgamma, P(9)),
    "digamma": unary(lax.digamma, P(9)),
    "polygamma": unary(lambda x: lax.polygamma(np.float32(1), x), P(9), at={"order": 1}) + unary(lambda x: lax.polygamma(np.float32(2), x), P(9), at={"order": 2}),
    "sin": unary(jnp.sin),
    "cos": unary(jnp.cos),
    "tan": unary(jnp.tan, F(9, low=-1, high=1)),
    "atan2": [call(jnp.arctan2, y=F(4, 3), x=F(4, 3))],
    "tanh": unary(jnp.tanh),
    "erf": unary(lax.erf),
    "erfc": unary(lax.erfc),
    "erf_inv": unary(lax.erf_inv, F(9, low=-0.9, high=0.9)),
    "nextafter": exact([call(jnp.nextafter, **{"from": F(9), "to": F(9)})]),
    "abs": unary(jnp.abs) + unary(jnp.abs, C(5)),
    "sign": unary(jnp.sign),
    "floor": unary(jnp.floor),
    "ceil": unary(jnp.ceil),
    "round_nearest_even": unary(jnp.round, V([0.5, 1.5, 2.5, -0.5, 1.2])),
    "round_nearest_afz": unary(lambda x: lax.round(x, lax.RoundingMethod.AWAY_FROM_ZERO), V([0.5, 1.5, 2.5, -0.5, 1.2])),
    "is_finite": unary(jnp.isfinite, V([1, np.nan, np.inf])),
    "complex": [call(lax.complex, real=F(5), imag=F(5))],
    "real": [call(jnp.real, z=C(5))],
    "imag": [call(jnp.imag, z=C(5))],
    "conj": [call(jnp.conj, z=C(5))],
    "astype": unary(lambda x: x.astype(jnp.bfloat16), at={"dtype": "bf16"}) + unary(lambda x: x.astype(np.int32), at={"dtype": "i32"}) + unary(lambda x: x.astype(np.float32), I(5), at={"dtype": "f32"}),
    "bitcast_convert": unary(lambda x: lax.bitcast_convert_type(x, np.uint32), at={"dtype": "u32"}) + unary(lambda x: lax.bitcast_convert_type(x, np.uint8), I(3), at={"dtype": "u8"}),
    "reduce_precision": unary(lambda x: lax.reduce_precision(x, 8, 7), at={"exponent_bits": 8, "mantissa_bits": 7}),
    "promote": [call(lambda a, b: jnp.promote_types(a.dtype, b.dtype) and [a.astype(np.float32), b], a=I(3), b=F(3))],
    "quantize": [call(lambda x, s: (x / s).astype(jnp.float8_e5m2), x=F(5), scale=V(0.5), at={"dtype": "f8e5m2"}, vjp=False)],
    "dequantize": [call(lambda x, s: x.astype(s.dtype) * s, x=F(5, dtype=np.float16), scale=V(0.5))],
    # activations
    "relu": unary(jax.nn.relu) + unary(jax.nn.relu, whole(9)),
    "squared_relu": unary(lambda x: jnp.square(jax.nn.relu(x))),
    "silu": unary(jax.nn.silu),
    "gated_silu": [call(lambda gate, x: jax.nn.silu(gate) * x, gate=F(3, 4), x=F(3, 4))],
    "gelu": unary(jax.nn.gelu),
    "exact_gelu": unary(lambda x: jax.nn.gelu(x, approximate=False)),
    "quick_gelu": unary(lambda x: x * jax.nn.sigmoid(1.702 * x)),
    "sigmoid": unary(jax.nn.sigmoid),
    "log_sigmoid": unary(jax.nn.log_sigmoid),
    "soft_sign": unary(jax.nn.soft_sign),
    "squareplus": unary(jax.nn.squareplus) + unary(lambda x: jax.nn.squareplus(x, 2), at={"b": 2}),
    "mish": unary(jax.nn.mish),
    "glu": unary(jax.nn.glu) + unary(lambda x: jax.nn.glu(x, 0), F(4, 3), at={"axis": 0}),
    "leaky_relu": unary(jax.nn.leaky_relu) + unary(lambda x: jax.nn.leaky_relu(x, 0.2), at={"negative_slope": 0.2}),
    "relu6": unary(jax.nn.relu6, F(9, low=-8, high=8)),
    "elu": unary(jax.nn.elu) + unary(lambda x: jax.nn.elu(x, 2), at={"alpha": 2}),
    "celu": unary(jax.nn.celu) + unary(lambda x: jax.nn.celu(x, 2), at={"alpha": 2}),
    "selu": unary(jax.nn.selu),
    "hard_tanh": unary(jax.nn.hard_tanh) + unary(jax.nn.hard_tanh, whole(9)),
    "hard_sigmoid": unary(jax.nn.hard_sigmoid, F(9, low=-5, high=5)),
    "hard_silu": unary(jax.nn.hard_silu, F(9, low=-5, high=5)),
    "sparse_plus": unary(jax.nn.sparse_plus),
    "sparse_sigmoid": unary(jax.nn.sparse_sigmoid),
    # creation
    "full": [call(lambda: jnp.full((2, 3), 7, np.int32), at={"shape": [2, 3], "value": 7, "dtype": "i32"}, vmap=False)],
    "zeros": [call(lambda: jnp.zeros((2, 3), np.float32), at={"shape": [2, 3]}, vmap=False)],
    "ones": [call(lambda: jnp.ones((2, 3), np.float32), at={"shape": [2, 3]}, vmap=False)],
    "zeros_like": [call(jnp.zeros_like, t=F(3))],
    "full_like": [call(lambda t: jnp.full_like(t, 2), t=F(3), at={"value": 2})],
    "scalar": [call(lambda: jnp.float32(2.5), at={"value": 2.5}, vmap=False)],
    "constant": [call(lambda: jnp.array([1, 2], np.float32), at={"value": [1, 2]}, vmap=False)],
    "iota": [call(lambda: lax.broadcasted_iota(np.int32, (2, 3), 1), at={"shape": [2, 3], "axis": 1}, vmap=False)],
    "linspace": [call(lambda: jnp.linspace(0, 1, 7, dtype=np.float32), at={"start": 0, "stop": 1, "count": 7}, vmap=False),
                 call(lambda: jnp.linspace(-1, 2, 5, endpoint=False, dtype=np.float32), at={"start": -1, "stop": 2, "count": 5, "last": "exclusive"}, vmap=False)],
    "eye": [call(lambda: jnp.eye(3, 4, 1, np.float32), at={"rows": 3, "columns": 4, "offset": 1}, vmap=False)],
    "tri": [call(lambda: jnp.tri(3, 4, -1, np.float32), at={"rows": 3, "columns": 4, "offset": -1}, vmap=False)],
    # movement
    "reshape": unary(lambda x: x.reshape(2, 6), at={"shape": [2, -1]}),
    "transpose": unary(lambda x: x.transpose(2, 0, 1), F(2, 3, 4), at={"perm": [2, 0, 1]}),
    "swap_axes": unary(lambda x: jnp.swapaxes(x, 0, 2), F(2, 3, 4), at={"a": 0, "b": 2}),
    "move_axis": unary(lambda x: jnp.moveaxis(x, 0, 2), F(2, 3, 4), at={"from": 0, "to": 2}),
    "squeeze": unary(lambda x: jnp.squeeze(x, 1), F(2, 1, 4), at={"axes": [1]}),
    "expand_dims": unary(lambda x: jnp.expand_dims(x, 1), at={"axis": 1}),
    "flatten": unary(lambda x: x.reshape(2, 12), F(2, 3, 4), at={"first": 1}),
    "unflatten": unary(lambda x: x.reshape(3, 2, 2), at={"axis": 1, "sizes": [2, 2]}),
    "reverse": unary(lambda x: lax.rev(x, (0, 1)), at={"axes": [0, 1]}),
    "broadcast_in_dim": unary(lambda x: lax.broadcast_in_dim(x, (3, 5, 4), (0, 2)), at={"shape": [3, 5, 4], "dims": [0, 2]}),
    "broadcast_to": unary(lambda x: jnp.broadcast_to(x, (2, 3, 4)), at={"shape": [2, 3, 4]}),
    "broadcast_together": [call(lambda a, b: jnp.broadcast_arrays(a, b), a=F(4, 1), b=F(3))],
    "meshgrid": [call(lambda axes: jnp.meshgrid(*axes), axes=[F(3), F(4)]), call(lambda axes: jnp.meshgrid(*axes, indexing="ij"), axes=[F(3), F(4)], at={"order": "matrix"})],
    "tril": unary(jnp.tril) + unary(lambda x: jnp.tril(x, 1), F(2, 3, 3), at={"offset": 1}),
    "triu": unary(jnp.triu) + unary(lambda x: jnp.triu(x, -1), F(2, 3, 3), at={"offset": -1}),
    "diagonal": unary(jnp.diagonal) + unary(lambda x: jnp.diagonal(x, 1), at={"offset": 1}),
    "diagonal_matrix": unary(jnp.diag, F(3)) + unary(lambda x: jnp.diag(x, -1), F(3), at={"offset": -1}),
    "matrix_trace": unary(jnp.trace) + unary(lambda x: jnp.trace(x, 1), at={"offset": 1}),
    "slice": unary(lambda x: lax.slice(x, (1, 0), (9, 6), (3, 2)), F(9, 6), at={"starts": [1, 0], "limits": [9, 6], "strides": [3, 2]}),
    "slice_in_dim": unary(lambda x: lax.slice_in_dim(x, 1, -1, 2, 1), F(2, 7), at={"axis": 1, "start": 1, "limit": -1, "stride": 2}),
    "index_in_dim": unary(lambda x: x[:, -2], at={"axis": 1, "i": -2}),
    "pad": [call(lambda x, v: lax.pad(x, v, ((-1, 2, 1), (1, -1, 0))), x=F(4, 5), value=F(), at={"low": [-1, 1], "high": [2, -1], "interior": [1, 0]}),
            call(lambda x: jnp.pad(x, ((1, 2), (0, 1)), constant_values=3), x=F(2, 3), at={"value": 3, "low": [1, 0], "high": [2, 1]})],
    "pad_in_dim": unary(lambda x: jnp.pad(x, ((0, 0), (1, 2))), at={"axis": 1, "low": 1, "high": 2}),
    "concatenate": [call(lambda p: jnp.concatenate(p, 1), parts=[F(2, 3), F(2, 1)], at={"axis": 1})],
    "stack": [call(lambda p: jnp.stack(p, 1), parts=[F(2, 3), F(2, 3)], at={"axis": 1})],
    "split": unary(lambda x: jnp.split(x, [1, 3], 1), at={"sizes": [1, 2, 1], "axis": 1}),
    "split_equally": unary(lambda x: jnp.split(x, 2, 1), at={"count": 2, "axis": 1}),
    "roll": unary(lambda x: jnp.roll(x, 1, 1), at={"shift": 1, "axis": 1}) + unary(lambda x: jnp.roll(x, -5, 0), at={"shift": -5, "axis": 0}),
    "tile": unary(lambda x: jnp.tile(x, (2, 3)), at={"repeats": [2, 3]}),
    "repeat": unary(lambda x: jnp.repeat(x, 3, 0), at={"count": 3, "axis": 0}),
    "name": unary(same, at={"tag": "x"}),
    "tap": unary(same, at={"name": "x"}),
    "tap_gradient": unary(same, at={"name": "x"}),
    "stop_gradient": unary(lax.stop_gradient),
    "optimization_barrier": [call(same, values=[F(3), F(2)])],
    "place": unary(same, at={"memory": "device"}),
    # indexing
    "dynamic_slice": [call(lambda x, s: lax.dynamic_slice(x, s, (3, 2)), x=F(5, 4), starts=[N(below=6), N(below=4)], at={"sizes": [3, 2]})],
    "dynamic_update_slice": [call(lambda x, u, s: lax.dynamic_update_slice(x, u, s), x=F(5, 4), update=F(3, 2), starts=[N(below=6), N(below=4)])],
    "dynamic_slice_in_dim": [call(lambda x, s: lax.dynamic_slice_in_dim(x, s, 2, 1), x=F(3, 5), start=N(below=5), at={"size": 2, "axis": 1})],
    "dynamic_index_in_dim": [call(lambda x, i: lax.dynamic_index_in_dim(x, i, 1, False), x=F(3, 5), index=N(below=5), at={"axis": 1})],
    "dynamic_update_slice_in_dim": [call(lambda x, u, s: lax.dynamic_update_slice_in_dim(x, u, s, 1), x=F(3, 5), update=F(3, 2), start=N(below=5), at={"axis": 1})],
    "dynamic_update_index_in_dim": [call(lambda x, u, i: lax.dynamic_update_index_in_dim(x, u, i, 1), x=F(3, 5), update=F(3), index=N(below=5), at={"axis": 1})],
    "dynamic_roll": [call(lambda x, s: jnp.roll(x, s, 1), x=F(3, 5), shift=I(low=-7, high=7), at={"axis": 1})],
    "gather": [call(gather_rows, operand=F(5, 3), indices=I(4, low=-1, high=7), at={"offset": [1], "collapsed": [0], "index_map": [0], "index_vector_dim": 1, "sizes": [1, 3]})],
    "scatter": scattered(lax.scatter, distinct(4, 5)),
    "scatter_add": scattered(lax.scatter_add, N(4, below=5)),
    "scatter_mul": scattered(lax.scatter_mul, distinct(4, 5), unique_indices=True),
    "scatter_min": scattered(lax.scatter_min, N(4, below=5)),
    "scatter_max": scattered(lax.scatter_max, N(4, below=5)),
    "take": [call(lambda x, i: jnp.take(x, i, 0, mode="clip"), x=F(4, 3), indices=N(2, 2, below=6)),
             call(lambda x, i: jnp.take(x, i, 1, mode="fill", fill_value=7), x=F(4, 3), indices=N(5, below=5), at={"axis": 1, "mode": "fill", "fill": 7})],
    "take_along_axis": [call(lambda x, i: jnp.take_along_axis(x, i, 1), x=F(3, 4), indices=N(3, 2, below=4))],
    "from_end": [call(lambda i: jnp.where(i < 0, i + 7, i), indices=I(9, low=-7, high=7), at={"size": 7})],
    "add_at": [call(at_rows("add"), x=F(5, 3), indices=N(4, below=5), updates=F(4, 3))],
    "multiply_at": [call(at_rows("multiply", unique_indices=True), x=P(5, 3), indices=distinct(4, 5), updates=P(4, 3), at={"unique_indices": True})],
    "min_at": [call(at_rows("min"), x=F(5, 3), indices=N(4, below=5), updates=F(4, 3))],
    "max_at": [call(at_rows("max"), x=F(5, 3), indices=N(4, below=5), updates=F(4, 3))],
    "set_at": [call(at_rows("set"), x=F(5, 3), indices=distinct(4, 5), updates=F(4, 3))],
    "add_along_axis": [call(along("add"), x=F(3, 4), indices=N(3, 2, below=4), updates=F(3, 2))],
    "set_along_axis": [call(along("set"), x=F(3, 4), indices=lines_of_indices, updates=F(3, 2))],
    "batched_take": [call(lambda x, i: jax.vmap(lambda a, b: a[b])(x, i), x=F(2, 5, 3), indices=N(2, 4, below=5))],
    "batched_put_rows": [call(put_rows, x=F(2, 5, 3), starts=N(2, below=4), updates=F(2, 2, 3))],
    "one_hot": [call(lambda i: jax.nn.one_hot(i, 4, dtype=np.float32), indices=I(5, low=-1, high=5), at={"n": 4})],
    "sort": unary(jnp.sort) + unary(lambda x: jnp.sort(x, 0, descending=True), at={"axis": 0, "order": "descending"}),
    "sort_key_val": [call(lambda xs: lax.sort(tuple(xs), num_keys=1), operands=[whole(8), F(8)]), call(lambda xs: lax.sort(tuple(xs), num_keys=2), operands=[whole(8), F(8)], at={"num_keys": 2})],
    "argsort": unary(lambda x: jnp.argsort(x).astype(np.int32), whole(3, 6)),
    "top_k": unary(lambda x: lax.top_k(x, 3), whole(3, 6), at={"k": 3}),
    "searchsorted": [call(lambda s, v: jnp.searchsorted(s, v).astype(np.int32), sorted=ascending(6), values=F(2, 4)),
                     call(lambda s, v: jnp.searchsorted(s, v, side="right").astype(np.int32), sorted=V([1, 2, 2, 3]), values=V([2, 0, 5]), at={"side": "right"})],
    "digitize": [call(lambda x, e: jnp.digitize(x, e).astype(np.int32), x=F(7), edges=ascending(4))],
    "isin": [call(jnp.isin, x=N(3, 4, below=9), set=N(4, below=9))],
    "bincount": [call(lambda x: jnp.bincount(x, length=5).astype(np.int32), x=N(9, below=7), at={"length": 5}), call(lambda x, w: jnp.bincount(x, w, length=5), x=N(9, below=5), weights=F(9), at={"length": 5})],
    "nonzero": unary(lambda x: [i.astype(np.int32) for i in jnp.nonzero(x, size=5)], whole(3, 2), at={"size": 5}, vjp=False),
    "unique": unary(lambda x: [y if y.dtype == np.float32 else y.astype(np.int32) for y in unique(x)], whole(9), at={"size": 4}, vjp=False),
    # reductions
    "reduce_sum": unary(lambda x: x.sum((0, 2)), F(2, 3, 4), at={"axes": [0, 2]}) + unary(lambda x: x.sum(1, keepdims=True), at={"axes": [1], "keep_dims": True}),
    "reduce_sum_in_own_dtype": unary(lambda x: x.sum(1), at={"axes": [1]}),
    "reduce_max": unary(lambda x: x.max(1), whole(3, 6), at={"axes": [1]}) + [call(lambda x: jnp.max(x, 1), at={"axes": [1]}, vjp=False, tol="bitwise", x=m) for m in (I(3, 4, dtype=np.int8), I(3, 4, low=0, dtype=np.uint8), I(3, 4, dtype=np.int16), F(3, 4, dtype=jnp.bfloat16), F(3, 4, dtype=np.float16))],
    "reduce_min": unary(lambda x: x.min(1), whole(3, 6), at={"axes": [1]}),
    "reduce_prod": unary(lambda x: x.prod(1), at={"axes": [1]}),
    "reduce_and": unary(lambda x: x.all(1), B(3, 2), at={"axes": [1]}),
    "reduce_or": unary(lambda x: x.any(1), B(3, 2), at={"axes": [1]}),
    "sum": unary(jnp.sum),
    "mean": unary(jnp.mean) + unary(lambda x: x.mean(0), at={"axes": [0]}),
    "variance": unary(lambda x: x.var(0), at={"axes": [0]}),
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
    # products
    "dot_general": [call(lambda a, b: lax.dot_general(a, b, (((2,), (1,)), ((0,), (0,)))), a=F(2, 3, 4), b=F(2, 4, 5), at={"a_contracting": [2], "b_contracting": [1], "a_batch": [0], "b_batch": [0]})],
    "dot": [call(jnp.matmul, a=F(3, 4), b=F(4, 5)), call(jnp.matmul, a=C(3, 4), b=C(4, 2)), call(lambda a, b: jnp.matmul(a, b), a=I(3, 4), b=I(4, 2))],
    "einsum": [call(lambda a, b: jnp.einsum("btd,dnh->bnth", a, b), a=F(2, 3, 4), b=F(4, 2, 3), at={"spec": "btd,dnh->bnth"}), call(lambda a: jnp.einsum("bts->tb", a), a=F(2, 3, 4), at={"spec": "bts->tb"})],
    "contract": [call(lambda a, b: jnp.einsum("ij,jk->ki", a, b), a=F(3, 4), b=F(4, 5), at={"a_labels": [0, 1], "b_labels": [1, 2], "out": [2, 0]})],
    "outer": [call(jnp.outer, a=F(3), b=F(4))],
    "kron": [call(jnp.kron, a=F(2, 3), b=F(3, 2))],
    "ragged_dot": [call(lax.ragged_dot, lhs=F(7, 4), rhs=F(3, 4, 5), group_sizes=V([3, 0, 4], np.int32), vmap=False)],
    "ragged_dot_contracting": [call(ragged_contracting, lhs=F(7, 4), rhs=F(7, 5), group_sizes=V([3, 0, 4], np.int32), vjp=False, vmap=False)],
    "fft": unary(jnp.fft.fft, C(3, 8)) + unary(jnp.fft.fft2, C(3, 4), at={"num_dims": 2}),
    "ifft": unary(jnp.fft.ifft, C(3, 8)),
    "rfft": unary(jnp.fft.rfft, F(3, 8)) + unary(jnp.fft.rfft, F(3, 7)),
    "irfft": unary(jnp.fft.irfft, C(3, 5)) + unary(lambda x: jnp.fft.irfft(x, 9), C(3, 5), at={"size": 9}),
    "convolution": [
        call(convolve((2,), [(2, 1)], ("NWC", "WIO", "NWC"), rhs_dilation=(2,)), x=F(2, 9, 3), kernel=F(3, 3, 4), at={"strides": [2], "padding": [[2, 1]], "kernel_dilation": [2]}),
        call(convolve((1, 2), "SAME", ("NHWC", "HWIO", "NHWC"), feature_group_count=2), x=F(2, 5, 6, 4), kernel=F(3, 3, 2, 4), at={"strides": [1, 2], "padding": "same", "feature_groups": 2}),
        call(convolve((1,), [(2, 2)], ("NCW", "OIW", "NCW"), lhs_dilation=(2,)), x=F(2, 3, 5), kernel=F(4, 3, 3), at={"padding": [[2, 2]], "input_dilation": [2], "x_layout": "NCW", "kernel_layout": "OIW", "y_layout": "NCW"}),
    ],
    "max_pool": unary(window(lax.max, -np.inf, (1, 2, 2, 1), (1, 2, 2, 1), "VALID"), F(1, 4, 6, 2), at={"window": [2, 2], "strides": [2, 2]}),
    "min_pool": unary(window(lax.min, np.inf, (1, 2, 2, 1), (1, 1, 1, 1), "VALID"), F(1, 4, 6, 2), at={"window": [2, 2]}),
    "avg_pool": unary(lambda x: window(lax.add, 0.0, (1, 2, 2, 1), (1, 2, 2, 1), "VALID")(x) / 4, F(1, 4, 6, 2), at={"window": [2, 2], "strides": [2, 2]}),
    "reduce_window_sum": unary(window(lax.add, 0.0, (1, 3), (1, 2), "SAME"), F(3, 8), at={"sizes": [1, 3], "strides": [1, 2], "padding": "same"}),
    "reduce_window_max": unary(window(lax.max, -np.inf, (2, 3), (1, 2), [(1, 0), (1, 1)]), F(3, 8), at={"sizes": [2, 3], "strides": [1, 2], "padding": [[1, 0], [1, 1]]}),
    "reduce_window_min": unary(window(lax.min, np.inf, (2, 3), (1, 2), "VALID"), F(3, 8), at={"sizes": [2, 3], "strides": [1, 2]}),
    # linear algebra
    "cholesky": unary(jnp.linalg.cholesky, definite(4), tol="1e-4"),
    "eigh": unary(lambda x: jnp.linalg.eigvalsh(x), definite(4), vjp=False, tol="1e-4"),
    "qr": unary(jnp.linalg.qr, regular(4), tol="1e-4"),
    "matrix_norm": unary(jnp.linalg.norm) + unary(lambda x: jnp.linalg.norm(x, 1), at={"norm": "one"}) + unary(lambda x: jnp.linalg.norm(x, np.inf), at={"norm": "infinity"}) + unary(lambda x: jnp.linalg.norm(x, 2), at={"norm": "two"}, tol="1e-4"),
    "solve": [call(jnp.linalg.solve, a=regular(4), b=F(4, 2), tol="1e-4")],
    "cho_solve": [call(lambda l, b: jsp.linalg.cho_solve((jnp.tril(l), True), b), l=regular(4), b=F(4, 2), tol="1e-4")],
    "inverse": unary(jnp.linalg.inv, regular(4), tol="1e-4"),
    "triangular_solve": [call(lambda a, b: lax.linalg.triangular_solve(a, b, left_side=True, lower=True), a=regular(4), b=F(4, 2)),
                         call(lambda a, b: lax.linalg.triangular_solve(a, b, left_side=False, lower=False, transpose_a=True), a=regular(4), b=F(2, 4), at={"left_side": False, "lower": False, "transpose": True})],
    # control flow
    "scan": [call(lambda init, xs: lax.scan(body, init[0], xs[0]), init=[F(4)], xs=[F(6, 4)], at={"length": 6, "body": BODY}),
             call(lambda init, xs: lax.scan(body, init[0], xs[0], reverse=True), init=[F(4)], xs=[F(6, 4)], at={"length": 6, "body": BODY, "reverse": True})],
    "while_loop": [call(lambda init: doubled_while_small(init[0]), init=[P(3)], at={"condition": SMALL, "body": DOUBLE}, vjp=False)],
    "bounded_while": [call(lambda init: bounded_doubling(init[0]), init=[P(3)], at={"condition": SMALL, "body": DOUBLE, "max_steps": 8})],
    "fori_loop": [call(lambda init: lax.fori_loop(1, 4, lambda i, c: jnp.sin(c * i.astype(np.float32)), init[0]), init=[F(3)], at={"begin": 1, "end": 4, "body": ADD_COUNTER})],
    "cond": [call(lambda p, a: lax.cond(p, jnp.sin, jnp.square, a[0]), predicate=B(), arguments=[F(3)], at={"if_true": "sin", "if_false": "square"})],
    "switch_case": [call(lambda i, a: lax.switch(i, [jnp.sin, jnp.square, jnp.tanh], a[0]), index=I(low=-1, high=4), arguments=[F(3)], at={"branches": ["sin", "square", "tanh"]})],
    "sequential_map": [call(lambda xs: lax.map(jnp.sin, xs[0]), xs=[F(5, 2)], at={"fn": "sin", "batch_size": 2})],
    "call": [call(lambda a: jnp.sin(a[0]), arguments=[F(3)], at={"fn": "sin"})],
    "remat": [call(lambda a: jnp.sin(a[0]), arguments=[F(3)], at={"fn": "sin"})],
    "jvp": [call(lambda a, t: jax.jvp(jnp.sin, a, t), arguments=[F(3)], tangents=[F(3)], at={"fn": "sin"})],
    "value_and_grad": [call(lambda a: jax.value_and_grad(jnp.sum)(a[0]), arguments=[F(3)], at={"fn": "sum"})],
    "vmap": [call(lambda a: jax.vmap(jnp.sum, 1)(a[0]), arguments=[F(3, 4)], at={"fn": "sum", "in_axes": [1]})],
    # collectives (JAX has no gradient of pmax and pmin; src/transform/op_gradients_test.cpp compares with differences)
    "psum": [
        on_devices(lax.psum, ["model"], ("model",), ()),
        on_devices(lax.psum, ["data"], ("data", "model"), (None, "model")),
        on_devices(lax.psum, ["data", "model"], (("data", "model"),), ()),
        on_devices(lax.psum, ["model"], ("model",), (), manual=["model"]),
        on_devices(lax.psum, ["model"], (), ()),
        on_devices(lax.psum, ["model"], ("model",), (), x=I(8, 4)),
    ],
    "pmean": [on_devices(lax.pmean, ["model"], ("model",), ()), on_devices(lax.pmean, ["model", "data"], (("model", "data"),), ())],
    "pmax": [on_devices(lax.pmax, ["model"], ("model",), (), vjp=False), on_devices(lax.pmax, ["data", "model"], ("data", "model"), (), vjp=False, x=whole(8, 4))],
    "pmin": [on_devices(lax.pmin, ["model"], ("model",), (), vjp=False), on_devices(lax.pmin, ["data"], ("data", "model"), (None, "model"), vjp=False, x=I(8, 4))],
    "axis_index": [
        call(lambda axes=axes: lax.axis_index(axes)[None], vmap=False, devices=Devices(MESH, [], [(axes,)], []), steps=index_of(axes))
        for axes in (("model",), ("data", "model"), ("model", "data"))
    ],
    "all_gather": [
        on_devices(gathered(0, True), ["model"], ("model",), (), {"dim": 0}),
        on_devices(gathered(1, True), ["model"], ("model",), (), {"dim": 1}),
        on_devices(gathered(0, True), ["model", "data"], (("data", "model"),), (), {"dim": 0}),
        on_devices(gathered(1, True), ["data"], ("data", "model"), (None, "model"), {"dim": 1}),
        on_devices(gathered(0, False), ["model"], ("model",), (), {"dim": 0}),
        on_devices(gathered(1, False), ["data", "model"], (("data", "model"),), (), {"dim": 1}),
    ],
    "reduce_scatter": [
        on_devices(scattered_over(1, True), ["model"], ("model",), (None, "model"), {"dim": 1}),
        on_devices(scattered_over(0, True), ["model", "data"], (), (("model", "data"),), {"dim": 0}),
        on_devices(scattered_over(0, True), ["data"], (None, "model"), ("data", "model"), {"dim": 0}),
        on_devices(scattered_over(1, False), ["model"], ("model",), (None, "model"), {"dim": 1}),
    ],
    "all_to_all": [
        on_devices(exchanged(1, 0), ["model"], ("model",), (None, "model"), {"split_dim": 1, "concat_dim": 0}),
        on_devices(exchanged(0, 1), ["model"], (None, "model"), ("model",), {"split_dim": 0, "concat_dim": 1}),
        on_devices(exchanged(0, 0), ["data", "model"], (), (("data", "model"),), {"split_dim": 0, "concat_dim": 0}),
        on_devices(exchanged(0, 0), ["model", "data"], (), (("data", "model"),), {"split_dim": 0, "concat_dim": 0}),
    ],
    "ppermute": [
        on_devices(permuted(pairs), axes, (axes,), (axes,), {"pairs": [list(pair) for pair in pairs]})
        for axes, pairs in ((("model",), [(0, 1), (1, 2), (3, 0)]), (("data", "model"), [(i, (i + 3) % 8) for i in range(8)]))
    ]
    + [on_devices(permuted([(in_mesh_order(a), in_mesh_order(b)) for a, b in PAIRS]), ["model", "data"], (("model", "data"),), (("model", "data"),), {"pairs": [list(pair) for pair in PAIRS]})],
    # random numbers
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
    "random::randint": draws(lambda k: jax.random.randint(k, (11,), -7, 100, np.int32), {"shape": [11], "low": -7, "high": 100}) + draws(lambda k, a, b: jax.random.randint(k, (4, 3), a, b, np.int32), {"shape": [4, 3]}, low=I(3, low=-9, high=0), high=I(3, low=1, high=90)),
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

WITHOUT_CALL = {
    "astype_saturating": "JAX's conversions to 8-bit floats do not saturate; ops/elementwise/convert has its values in tests",
    "select_and_scatter_add": "JAX has it as the gradient of reduce_window only, which is compared there",
    "selected_positions": "JAX has no such function; reduce_window_max's gradient is compared",
    "ragged_all_to_all": "JAX cannot compile it for the CPU; src/transform/laws/naive_bodies_test.cpp compares with plain loops",
    "sharding_constraint": "it has no result of its own; src/lower and src/pjrt test what it divides",
}  # fmt: skip
