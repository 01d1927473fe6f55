#!/usr/bin/env python3
"""Makes testdata/reference/jax/optimizers: parameters of each optimizer after each of ten updates by given gradients.

  python -m pip install optax    # into the Python that has JAX
  python tools/oracle/optimizer_numbers.py

Optimizers that optax has are its own. The others (muon, soap, adastar) are written here from their papers, with
numpy in f64, one matrix at a time. `init/<p>`, `grad/<step>/<p>`, `param/<step>/<p>`; `w` is a matrix, `s` two stacked
matrices, `b` a vector.
"""

import pathlib

import jax
import jax.numpy as jnp
import numpy as np
import optax
from optax import contrib
from tensor_file import save

FOLDER = pathlib.Path(__file__).resolve().parents[2] / "testdata" / "reference" / "jax" / "optimizers"
STEPS = 10
SHAPES = {"w": (6, 4), "s": (2, 3, 5), "b": (4,)}


def problem():
    rng = np.random.default_rng(0)
    draw = lambda scale: {p: (scale * rng.standard_normal(s)).astype(np.float32) for p, s in SHAPES.items()}
    return draw(1.0), [draw(0.5) for _ in range(STEPS)]


def by_optax(transform, evaluated=lambda state, params: params):
    """The parameters after each update; `evaluated` picks those that a model is evaluated with."""
    params, gradients = problem()
    params = jax.tree.map(jnp.asarray, params)
    state, out = transform.init(params), []
    for g in gradients:
        updates, state = transform.update(jax.tree.map(jnp.asarray, g), state, params)
        params = optax.apply_updates(params, updates)
        out.append(jax.tree.map(np.asarray, evaluated(state, params)))
    return out


def per_matrix(update):
    """The parameters after each update of `update(matrix, gradient, memory, t)`, for each matrix or vector alone."""
    params, gradients = problem()
    params = {p: x.astype(np.float64) for p, x in params.items()}
    memory = {p: [{} for _ in range(len(x))] if p == "s" else {} for p, x in params.items()}
    out = []
    for t, g in enumerate(gradients, 1):
        for p, x in params.items():
            if p == "s":
                for i in range(len(x)):
                    x[i] = update(x[i], g[p][i].astype(np.float64), memory[p][i], t)
            else:
                params[p] = update(x, g[p].astype(np.float64), memory[p], t)
        out.append({p: x.astype(np.float32) for p, x in params.items()})
    return out


def adam(x, g, memory, t, lr=1e-2, b1=0.9, b2=0.95, eps=1e-8):
    m = memory["m"] = b1 * memory.get("m", 0) + (1 - b1) * g
    v = memory["v"] = b2 * memory.get("v", 0) + (1 - b2) * g * g
    return x - lr * (m / (1 - b1**t)) / (np.sqrt(v / (1 - b2**t)) + eps)


def muon(x, g, memory, t):
    if x.ndim != 2:
        return adam(x, g, memory, t)
    m = memory["m"] = 0.95 * memory.get("m", 0) + g
    y = g + 0.95 * m
    y = y / (np.linalg.norm(y) + 1e-7)
    for _ in range(5):
        a = y @ y.T
        y = 3.4445 * y + (-4.7750 * a + 2.0315 * a @ a) @ y
    return x - 1e-2 * (0.2 * np.sqrt(max(x.shape)) * y + 0.1 * x)


def soap(x, g, memory, t, lr=1e-2, b1=0.95, b2=0.95, eps=1e-8, every=3):
    if x.ndim != 2:
        return adam(x, g, memory, t)
    left, right = memory.get("left", np.eye(len(x))), memory.get("right", np.eye(x.shape[1]))
    m = memory["m"] = b1 * memory.get("m", 0) + (1 - b1) * g
    v = memory["v"] = b2 * memory.get("v", 0) + (1 - b2) * (left.T @ g @ right) ** 2
    n = (left.T @ m @ right) / (1 - b1**t) / (np.sqrt(v / (1 - b2**t)) + eps)
    out = x - lr * (left @ n @ right.T)
    memory["L"] = 0.95 * memory.get("L", 0) + 0.05 * g @ g.T
    memory["R"] = 0.95 * memory.get("R", 0) + 0.05 * g.T @ g
    if t % every == 0:
        left, right = np.linalg.qr(memory["L"] @ left)[0], np.linalg.qr(memory["R"] @ right)[0]
    memory["left"], memory["right"] = left, right
    return out


def adastar(x, g, memory, t):
    """All means on, gradient and square unbiased, clipped at 0.8, decay apart from the rate, half of everything."""
    m = memory["m"] = 0.9 * memory.get("m", 0) + 0.1 * g
    v = memory["v"] = 0.95 * memory.get("v", 0) + 0.05 * (g * g + 1e-6)
    u = (m / (1 - 0.9**t)) / (np.sqrt(v / (1 - 0.95**t)) + 1e-4)
    u = u / max(1, np.sqrt(np.mean(u * u)) / 0.8)
    u = memory["u"] = 0.5 * memory.get("u", 0) + 0.5 * u
    return x - 0.5 * (1e-2 * u + 3e-3 * x)


CASES = {
    "adam_l2": lambda: by_optax(
        optax.chain(optax.add_decayed_weights(0.1), optax.scale_by_adam(0.9, 0.95, 1e-8), optax.scale(-1e-2))
    ),
    "lion": lambda: by_optax(optax.lion(1e-2, b1=0.9, b2=0.99, weight_decay=0.1)),
    "lamb": lambda: by_optax(optax.lamb(1e-2, b1=0.9, b2=0.999, eps=1e-6, weight_decay=0.1)),
    "lars": lambda: by_optax(
        optax.chain(optax.scale_by_trust_ratio(trust_coefficient=0.5), optax.trace(0.9), optax.scale(-1e-2))
    ),
    "block_rms": lambda: by_optax(optax.chain(optax.clip_by_block_rms(0.4), optax.trace(0.9), optax.scale(-1e-2))),
    "schedule_free": lambda: by_optax(
        contrib.schedule_free(optax.adamw(1e-2, b1=0.0, b2=0.95, weight_decay=0.0), learning_rate=1e-2, b1=0.9),
        contrib.schedule_free_eval_params,
    ),
    "muon": lambda: per_matrix(muon),
    "soap": lambda: per_matrix(soap),
    "adastar": lambda: per_matrix(adastar),
}


def main():
    FOLDER.mkdir(parents=True, exist_ok=True)
    init, gradients = problem()
    tensors = {f"init/{p}": x for p, x in init.items()}
    for step, g in enumerate(gradients):
        tensors |= {f"grad/{step}/{p}": x for p, x in g.items()}
    for name, case in CASES.items():
        after = {f"param/{step}/{p}": x for step, params in enumerate(case()) for p, x in params.items()}
        kept = {n: x for n, x in after.items() if int(n.split("/")[1]) in (0, 1, 4, STEPS - 1)}
        save(FOLDER / f"{name}.safetensors", tensors | kept)
        print(name, len(kept))


if __name__ == "__main__":
    main()
