"""Numbers that look random, the same as those of bench/peer_values.h: peers start from the same weights and data."""

import numpy as np


def fraction(leaf, shape):
    """Numbers of leaf `leaf` in [0, 1), f32."""
    i = np.arange(int(np.prod(shape)), dtype=np.uint32)
    with np.errstate(over="ignore"):
        x = i * np.uint32(2654435761) + np.uint32((leaf + 1) * 2246822519 % 2**32)
        x ^= x >> np.uint32(16)
        x *= np.uint32(2246822519)
        x ^= x >> np.uint32(13)
        x *= np.uint32(3266489917)
        x ^= x >> np.uint32(16)
    return ((x >> np.uint32(8)).astype(np.float32) / np.float32(16777216)).reshape(shape)


def uniform(leaf, shape, bound):
    """Numbers of leaf `leaf` in [-bound, bound), f32."""
    return (fraction(leaf, shape) * np.float32(2) - np.float32(1)) * np.float32(bound)
