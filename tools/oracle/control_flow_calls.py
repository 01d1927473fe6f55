"""What the functions of Axle that take functions are in JAX."""

import jax
import jax.numpy as jnp
import numpy as np
from calls import B, F, I, P, V, call
from jax import lax

AFFINE = {
    "parameters": ["a1", "b1", "a2", "b2"],
    "steps": {
        "a": {"function": "mul", "operands": ["a1", "a2"]},
        "b": {"function": "mul", "operands": ["b1", "a2"]},
        "sum": {"function": "add", "operands": ["b", "b2"]},
    },
    "results": ["a", "sum"],
}

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


def affine(earlier, later):
    return earlier[0] * later[0], earlier[1] * later[0] + later[1]


def doubled_while_small(x):
    return lax.while_loop(lambda c: c.sum() < 20, lambda c: 2 * c, x)


GROW = {
    "parameters": ["c"],
    "steps": {
        "s": {"function": "sin", "operands": ["c"]},
        "d": {"function": "mul", "operands": ["c"], "attributes": {"b": 2}},
        "n": {"function": "add", "operands": ["s", "d"]},
    },
}
GROWING = {"parameters": ["x"], "steps": {"w": {"function": "while_loop", "operands": [["x"]], "attributes": {"condition": SMALL, "body": GROW}}}}
SCANNED = {
    "parameters": ["x", "ys"],
    "steps": {
        "w": {
            "function": "scan",
            "operands": [["x"], ["ys"]],
            "attributes": {
                "length": 4,
                "body": {
                    "parameters": ["h", "y"],
                    "steps": {
                        "m": {"function": "mul", "operands": ["h", "y"]},
                        "t": {"function": "tanh", "operands": ["m"]},
                        "w": {"function": "while_loop", "operands": [["t"]], "attributes": {"condition": SMALL, "body": GROW}},
                    },
                    "results": ["w", "t"],
                },
            },
        }
    },
}
TWICE = {"parameters": ["x"], "steps": {"j": {"function": "jvp", "operands": [["x"], ["x"]], "attributes": {"fn": GROWING}}}}


def growing_while_small(x):
    return lax.while_loop(lambda c: c.sum() < 20, lambda c: jnp.sin(c) + 2 * c, x)


def growing_scan(h, y):
    t = jnp.tanh(h * y)
    return growing_while_small(t), t


def bounded_doubling(x):
    return lax.fori_loop(0, 8, lambda i, c: jnp.where(c.sum() < 20, 2 * c, c), x)


TRIPLED = {
    "num_outputs": 1,
    "without_gradient": [1],
    "forward": {
        "parameters": ["x", "k"],
        "steps": {"a": {"function": "mul", "operands": ["x", "k"]}, "y": {"function": "sin", "operands": ["a"]}},
        "results": ["y", "a", "k"],
    },
    "backward": {
        "parameters": ["a", "k", "g"],
        "steps": {
            "c": {"function": "cos", "operands": ["a"]},
            "d": {"function": "mul", "operands": ["c", "k"]},
            "e": {"function": "mul", "operands": ["d", "g"]},
            "f": {"function": "mul", "operands": ["e"], "attributes": {"b": 3}},
        },
    },
}


@jax.custom_vjp
def tripled(x, k):
    return jnp.sin(x * k)


tripled.defvjp(lambda x, k: (jnp.sin(x * k), (x * k, k)), lambda saved, g: (3 * jnp.cos(saved[0]) * saved[1] * g, None))

TAGGED = {
    "parameters": ["x"],
    "steps": {
        "a": {"function": "sin", "operands": ["x"]},
        "b": {"function": "name", "operands": ["a"], "attributes": {"tag": "s"}},
        "c": {"function": "cos", "operands": ["b"]},
    },
}
POLICIES = [{"save_names": {"names": ["s"]}}, {"save_matching": {"offload": ["[s-t]"]}}, {"combine": ["save_dots", {"save_names": {"names": ["?"]}}]}]


CALLS = {
    "scan": [call(lambda init, xs: lax.scan(body, init[0], xs[0]), init=[F(4)], xs=[F(6, 4)], at={"length": 6, "body": BODY}),
             call(lambda init, xs: lax.scan(body, init[0], xs[0], reverse=True), init=[F(4)], xs=[F(6, 4)], at={"length": 6, "body": BODY, "reverse": True})],
    "associative_scan": [call(lambda x: lax.associative_scan(affine, tuple(x)), x=[F(7, 2), F(7, 2)], at={"axis": 0, "combine": AFFINE}),
                         call(lambda x: lax.associative_scan(jnp.maximum, x[0], axis=1), x=[F(2, 6)], at={"axis": -1, "combine": "maximum"})],
    "while_loop": [call(lambda init: doubled_while_small(init[0]), init=[P(3)], at={"condition": SMALL, "body": DOUBLE}, vjp=False)],
    "bounded_while": [call(lambda init: bounded_doubling(init[0]), init=[P(3)], at={"condition": SMALL, "body": DOUBLE, "max_steps": 8})],
    "fori_loop": [call(lambda init: lax.fori_loop(1, 4, lambda i, c: jnp.sin(c * i.astype(np.float32)), init[0]), init=[F(3)], at={"begin": 1, "end": 4, "body": ADD_COUNTER})],
    "cond": [call(lambda p, a: lax.cond(p, jnp.sin, jnp.square, a[0]), predicate=B(), arguments=[F(3)], at={"if_true": "sin", "if_false": "square"})],
    "switch_case": [call(lambda i, a: lax.switch(i, [jnp.sin, jnp.square, jnp.tanh], a[0]), index=I(low=-1, high=4), arguments=[F(3)], at={"branches": ["sin", "square", "tanh"]})],
    "sequential_map": [call(lambda xs: lax.map(jnp.sin, xs[0]), xs=[F(5, 2)], at={"fn": "sin", "batch_size": 2})],
    "call": [call(lambda a: jnp.sin(a[0]), arguments=[F(3)], at={"fn": "sin"})],
    "remat": [call(lambda a: jnp.sin(a[0]), arguments=[F(3)], at={"fn": "sin"})]
    + [call(lambda a: jnp.cos(jnp.sin(a[0])), arguments=[F(3)], at={"fn": TAGGED, "policy": p, "prevent_cse": p is POLICIES[0]}) for p in POLICIES],
    "custom_vjp": [call(lambda a: tripled(*a), arguments=[F(3), F(3)], at=TRIPLED)],
    "jvp": [call(lambda a, t: jax.jvp(jnp.sin, a, t), arguments=[F(3)], tangents=[F(3)], at={"fn": "sin"}),
            call(lambda a, t: jax.jvp(growing_while_small, a, t), arguments=[P(3)], tangents=[F(3)], at={"fn": GROWING}, vjp=False),
            call(lambda a, t: jax.jvp(lambda x, ys: lax.scan(growing_scan, x, ys), a, t), arguments=[P(3), P(4, 3)], tangents=[F(3), F(4, 3)], at={"fn": SCANNED}, vjp=False),
            call(lambda a, t: jax.jvp(lambda x: jax.jvp(growing_while_small, (x,), (x,)), a, t), arguments=[P(3)], tangents=[F(3)], at={"fn": TWICE}, vjp=False)],
    "value_and_grad": [call(lambda a: jax.value_and_grad(jnp.sum)(a[0]), arguments=[F(3)], at={"fn": "sum"})],
    "ragged_map": [call(lambda r, g, s: lax.ragged_dot(r[0], g[0], s), rows=[F(7, 4)], groups=[F(3, 4, 5)], group_sizes=V([3, 0, 4], np.int32), at={"fn": "dot"}, vmap=False)],
    "vmap": [call(lambda a: jax.vmap(jnp.sum, 1)(a[0]), arguments=[F(3, 4)], at={"fn": "sum", "in_axes": [1]}),
             call(lambda a: jax.vmap(jnp.sum, None, axis_size=3)(a[0]), arguments=[F(4)], at={"fn": "sum", "in_axes": [None], "axis_size": 3})],
}  # fmt: skip
