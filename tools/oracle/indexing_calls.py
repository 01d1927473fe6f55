"""What the functions of Axle that read, write, sort and search at computed positions are in JAX."""

import jax
import jax.numpy as jnp
import numpy as np
from calls import F, I, N, P, V, ascending, call, distinct, unary, whole
from jax import lax


def at_rows(method, **promises):
    def fn(x, indices, updates):
        return getattr(x.at[indices], method)(updates, **promises)

    return fn


ROWS = {"offset": [1], "collapsed": [0], "index_map": [0], "index_vector_dim": 1}
# Rows for windows of two, some of which reach outside of five; moved inside, they do not overlap.
SOME_OUTSIDE = V([4, -3, 9], np.int32)


def gathered(rows, more=None, **options):
    """One row of x[5, 3] at each position."""
    numbers = lax.GatherDimensionNumbers(offset_dims=(1,), collapsed_slice_dims=(0,), start_index_map=(0,))

    def fn(x, i):
        return lax.gather(x, i[:, None], numbers, (1, x.shape[1]), **options)

    at = ROWS | {"sizes": [1, 3], "mode": options["mode"]} | (more or {})
    return [call(fn, operand=F(5, 3), indices=rows, at=at)]


def gathered_windows(mode):
    """Windows of x[5, 4] of two rows and three columns."""
    numbers = lax.GatherDimensionNumbers(offset_dims=(1, 2), collapsed_slice_dims=(), start_index_map=(1, 0))
    at = {"offset": [1, 2], "index_map": [1, 0], "index_vector_dim": 1, "sizes": [2, 3], "mode": mode}
    return [call(lambda x, i: lax.gather(x, i, numbers, (2, 3), mode=mode), operand=F(5, 4), indices=I(6, 2, low=-2, high=6), at=at)]


def gathered_of_batch(mode):
    """A row of each example of x[2, 5, 3] at each position of that example."""
    numbers = lax.GatherDimensionNumbers(
        offset_dims=(2,), collapsed_slice_dims=(1,), start_index_map=(1,), operand_batching_dims=(0,), start_indices_batching_dims=(0,)
    )
    at = {"offset": [2], "collapsed": [1], "index_map": [1], "operand_batch": [0], "indices_batch": [0], "index_vector_dim": 2}
    return [
        call(
            lambda x, i: lax.gather(x, i[..., None], numbers, (1, 1, 3), mode=mode),
            operand=F(2, 5, 3), indices=I(2, 4, low=-2, high=7), at=at | {"sizes": [1, 1, 3], "mode": mode},
        )  # fmt: skip
    ]


def moved_inside(fn, mode, indices, last):
    """The positions of windows, of which the last one inside is `last`, and the mode, as JAX needs them.

    JAX's gradient of a least or largest element is infinite where JAX itself moved a window inside: it looks for the window at its
    position before.
    """
    if mode != "clip" or fn not in (lax.scatter_min, lax.scatter_max):
        return indices[:, None], mode
    return jnp.clip(indices, 0, last)[:, None], "promise_in_bounds"


def scattered(fn, rows, mode="drop", **promises):
    """Updates of one row of x[5, 3] at each position."""
    numbers = lax.ScatterDimensionNumbers(update_window_dims=(1,), inserted_window_dims=(0,), scatter_dims_to_operand_dims=(0,))

    def of_rows(x, i, u):
        inside, mode_of_jax = moved_inside(fn, mode, i, 4)
        return fn(x, inside, u, numbers, mode=mode_of_jax, **promises)

    return [call(of_rows, operand=P(5, 3), indices=rows, updates=P(4, 3), at=ROWS | {"mode": mode} | promises)]


def scattered_windows(fn, mode, **promises):
    """Updates of windows of two rows of x[9, 3]."""
    numbers = lax.ScatterDimensionNumbers(update_window_dims=(1, 2), inserted_window_dims=(), scatter_dims_to_operand_dims=(0,))

    def of_windows(x, i, u):
        inside, mode_of_jax = moved_inside(fn, mode, i, 7)
        return fn(x, inside, u, numbers, mode=mode_of_jax, **promises)

    at = {"offset": [1, 2], "index_map": [0], "index_vector_dim": 1, "mode": mode} | promises
    return [call(of_windows, operand=P(9, 3), indices=SOME_OUTSIDE, updates=P(3, 2, 3), at=at)]


def in_all_modes(fn, rows, **promises):
    """Positions that `rows` draws, and windows outside that are dropped or moved."""
    return (
        scattered(fn, rows, **promises)
        + scattered(fn, rows, "promise_in_bounds", **promises)
        + scattered_windows(fn, "drop", **promises)
        + scattered_windows(fn, "clip", **promises)
    )


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


CALLS = {
    "dynamic_slice": [call(lambda x, s: lax.dynamic_slice(x, s, (3, 2)), x=F(5, 4), starts=[N(below=6), N(below=4)], at={"sizes": [3, 2]})],
    "dynamic_update_slice": [call(lambda x, u, s: lax.dynamic_update_slice(x, u, s), x=F(5, 4), update=F(3, 2), starts=[N(below=6), N(below=4)])],
    "dynamic_slice_in_dim": [call(lambda x, s: lax.dynamic_slice_in_dim(x, s, 2, 1), x=F(3, 5), start=N(below=5), at={"size": 2, "axis": 1})],
    "dynamic_index_in_dim": [call(lambda x, i: lax.dynamic_index_in_dim(x, i, 1, False), x=F(3, 5), index=N(below=5), at={"axis": 1})],
    "dynamic_update_slice_in_dim": [call(lambda x, u, s: lax.dynamic_update_slice_in_dim(x, u, s, 1), x=F(3, 5), update=F(3, 2), start=N(below=5), at={"axis": 1})],
    "dynamic_update_index_in_dim": [call(lambda x, u, i: lax.dynamic_update_index_in_dim(x, u, i, 1), x=F(3, 5), update=F(3), index=N(below=5), at={"axis": 1})],
    "dynamic_roll": [call(lambda x, s: jnp.roll(x, s, 1), x=F(3, 5), shift=I(low=-7, high=7), at={"axis": 1})],
    "gather": gathered(I(4, low=-1, high=7), mode="clip") + gathered(I(6, low=-2, high=7), mode="fill") + gathered(I(6, low=-2, high=7), {"fill": 7}, mode="fill", fill_value=7)
    + gathered(N(4, below=5), mode="promise_in_bounds") + gathered(V([0, 2, 3], np.int32), {"indices_are_sorted": True, "unique_indices": True}, mode="promise_in_bounds", indices_are_sorted=True, unique_indices=True)
    + gathered_windows("clip") + gathered_windows("fill") + gathered_of_batch("clip") + gathered_of_batch("fill"),
    "scatter": in_all_modes(lax.scatter, distinct(4, 5)),
    "scatter_add": in_all_modes(lax.scatter_add, N(4, below=5)) + scattered(lax.scatter_add, I(4, low=-2, high=7), "clip") + scattered(lax.scatter_add, I(4, low=-2, high=7)),
    "scatter_mul": in_all_modes(lax.scatter_mul, distinct(4, 5), unique_indices=True),
    "scatter_min": in_all_modes(lax.scatter_min, N(4, below=5)) + scattered(lax.scatter_min, I(4, low=-2, high=7), "clip"),
    "scatter_max": in_all_modes(lax.scatter_max, N(4, below=5)) + scattered(lax.scatter_max, I(4, low=-2, high=7), "clip"),
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
    "approx_max_k": unary(lambda x: lax.approx_max_k(x, 3), whole(3, 6), at={"k": 3})
    + unary(lambda x: lax.approx_max_k(x, 2, 0, recall_target=0.5, reduction_input_size_override=9), F(6, 3), at={"k": 2, "axis": 0, "recall_target": 0.5, "reduction_input_size_override": 9})
    # JAX's compiler for the CPU returns all elements, sorted.
    + unary(lambda x: [y[:, :4] for y in lax.approx_max_k(x, 4, aggregate_to_topk=False)], F(2, 6), at={"k": 4, "aggregate_to_topk": False}),
    "searchsorted": [call(lambda s, v: jnp.searchsorted(s, v).astype(np.int32), sorted=ascending(6), values=F(2, 4)),
                     call(lambda s, v: jnp.searchsorted(s, v, side="right").astype(np.int32), sorted=V([1, 2, 2, 3]), values=V([2, 0, 5]), at={"side": "right"})],
    "digitize": [call(lambda x, e: jnp.digitize(x, e).astype(np.int32), x=F(7), edges=ascending(4))],
    "isin": [call(jnp.isin, x=N(3, 4, below=9), set=N(4, below=9))],
    "bincount": [call(lambda x: jnp.bincount(x, length=5).astype(np.int32), x=N(9, below=7), at={"length": 5}), call(lambda x, w: jnp.bincount(x, w, length=5), x=N(9, below=5), weights=F(9), at={"length": 5})],
    "nonzero": unary(lambda x: [i.astype(np.int32) for i in jnp.nonzero(x, size=5)], whole(3, 2), at={"size": 5}, vjp=False),
    "unique": unary(lambda x: [y if y.dtype == np.float32 else y.astype(np.int32) for y in unique(x)], whole(9), at={"size": 4}, vjp=False),
}  # fmt: skip
