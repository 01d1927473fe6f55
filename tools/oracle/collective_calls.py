"""What JAX calls the collectives of Axle: functions of the part of a device and the mesh axes, for tools/oracle/functions.py."""

import jax.numpy as jnp
from calls import MESH
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
