"""What the functions of Axle that make, move and repeat elements are in JAX."""

import jax.numpy as jnp
import numpy as np
from calls import F, call, unary
from jax import lax


def same(x):
    return x


CALLS = {
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
}  # fmt: skip
