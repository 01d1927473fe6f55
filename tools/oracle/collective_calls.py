"""What the collectives of Axle are in JAX: functions of the part of a device and the mesh axes."""

import jax.numpy as jnp
import numpy as np
from calls import B, MESH, Devices, F, I, call, on_devices, whole
from jax import lax


def index_of(axes):
    """The position of a device as a tensor of one element, which a result can be divided into."""
    return {
        "steps": {
            "index": {"function": "axis_index", "operands": [], "attributes": {"axes": list(axes)}},
            "row": {"function": "expand_dims", "operands": ["index"], "attributes": {"axis": 0}},
        }
    }


def gathered(dim, tiled):
    def fn(x, axes):
        y = lax.all_gather(x, axes, axis=dim, tiled=tiled)  # not tiled: a new dim for the devices
        return y if tiled else y.reshape(*x.shape[:dim], -1, *x.shape[dim + 1 :])

    return fn


def scattered_over(dim, tiled):
    def fn(x, axes):
        y = lax.psum_scatter(x, axes, scatter_dimension=dim, tiled=tiled)  # not tiled: without the dim
        return y if tiled else jnp.expand_dims(y, dim)

    return fn


def exchanged(split, concat):
    return lambda x, axes: lax.all_to_all(x, axes, split, concat, tiled=True)


def permuted(pairs):
    return lambda x, axes: lax.ppermute(x, axes, pairs)


PAIRS = [(0, 5), (5, 0), (2, 7)]


def in_mesh_order(device):
    """The number of a device along ("data", "model"), from that along ("model", "data").

    JAX's ppermute numbers devices in the order of the mesh, its other collectives in the order of the axes that they are given.
    Axle always does the latter.
    """
    model, data = divmod(device, MESH["data"])
    return data * MESH["model"] + model


# JAX has no gradient of pmax and pmin; src/transform/op_gradients_test.cpp compares with differences.
CALLS = {
    "psum": [
        on_devices(lax.psum, ["model"], ("model",), ()),
        on_devices(lax.psum, ["data"], ("data", "model"), (None, "model")),
        on_devices(lax.psum, ["data", "model"], (("data", "model"),), ()),
        on_devices(lax.psum, ["model"], ("model",), (), manual=["model"]),
        on_devices(lax.psum, ["model"], (), ()),
        on_devices(lax.psum, ["model"], ("model",), (), x=I(8, 4)),
    ],
    "pmean": [on_devices(lax.pmean, ["model"], ("model",), ()), on_devices(lax.pmean, ["model", "data"], (("model", "data"),), ())]
    + [on_devices(lax.pmean, ["model"], ("model",), (), x=x) for x in (I(8, 4), I(8, 4, low=-128, high=128, dtype=np.int8), B(8, 4))],
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
}  # fmt: skip
