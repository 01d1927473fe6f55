"""Compiles a loss with its gradients by JAX and times it, as bench/time_gradients.h does."""

import time

import jax


def time_gradients(loss, arguments, steps):
    """Fields of the line of JSON: seconds to compile, milliseconds of a step, the loss, MiB of temporaries."""
    start = time.perf_counter()
    step = jax.jit(jax.value_and_grad(loss, tuple(range(len(arguments))))).lower(*arguments).compile()
    compile_s = time.perf_counter() - start
    times = []
    for i in range(steps + 1):
        start = time.perf_counter()
        value, gradients = step(*arguments)
        jax.block_until_ready(gradients)
        if i > 0:
            times.append(time.perf_counter() - start)
    times.sort()
    return {
        "compile_s": compile_s,
        "step_ms": times[len(times) // 2] * 1e3,
        "min_ms": times[0] * 1e3,
        "loss": float(value),
        "temporary_mib": step.memory_analysis().temp_size_in_bytes / 2**20,
        "version": jax.__version__,
    }
