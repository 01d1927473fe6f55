"""The training job that all peers run, and the line of JSON that each prints about it.

A Llama of RMSNorm, RoPE, SwiGLU and a tied head; clipping by global norm, AdamW; random tokens, no dropout.
"""

import argparse
import json
import resource
import time
from typing import NamedTuple


class Size(NamedTuple):
    dim: int
    layers: int
    heads: int
    hidden: int
    vocab: int
    seq_len: int
    batch: int


SIZES = {
    "tiny": Size(64, 2, 4, 192, 512, 64, 8),
    "s": Size(288, 6, 6, 768, 512, 256, 8),
    "s4k": Size(288, 6, 6, 768, 4096, 256, 8),
    "m": Size(768, 12, 12, 2048, 32000, 512, 2),
    "l": Size(2048, 16, 16, 5632, 32000, 1024, 8),
}
LEARNING_RATE, BETAS, EPS, WEIGHT_DECAY, MAX_NORM = 3e-4, (0.9, 0.95), 1e-8, 0.1, 1.0


def arguments(description, **flags):
    """SIZE --bf16 --steps N, and the peer's own flags by name and help."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("size", choices=SIZES)
    parser.add_argument("--bf16", action="store_true", help="compute in bf16, parameters stay f32")
    parser.add_argument("--steps", type=int, default=10, help="timed steps")
    for name, text in flags.items():
        parser.add_argument(f"--{name}", action="store_true", help=text)
    return parser.parse_args()


def timed(step, steps):
    """Seconds of each of so many steps, and the last loss; step() waits for its result."""
    times = []
    for _ in range(steps):
        start = time.perf_counter()
        loss = step()
        times.append(time.perf_counter() - start)
    return times, loss


def report(peer, args, num_parameters, first_step, times, loss, **more):
    """Prints the line of JSON that bench/against_jax.py reads; first_step in seconds since the start of the process."""
    size = SIZES[args.size]
    median = sorted(times)[len(times) // 2]
    tokens = size.batch * size.seq_len
    # Products of the model alone, forward and backward: 6 N and attention's 12 L D T a token.
    flops = (6 * num_parameters + 12 * size.layers * size.dim * size.seq_len) * tokens
    print(json.dumps({
        "peer": peer, **vars(args), "params": num_parameters, **more, "first_step_s": round(first_step, 2),
        "step_ms": round(median * 1e3, 1), "min_ms": round(min(times) * 1e3, 1), "tok_s": round(tokens / median),
        "gflops": round(flops / median / 1e9, 1), "loss": float(loss),
        "rss_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
    }))  # fmt: skip
