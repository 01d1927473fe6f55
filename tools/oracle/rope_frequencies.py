#!/usr/bin/env python3
"""Prints the numbers of src/layers/positions/frequencies_test.cpp: frequencies of published models.

Each scaling is computed a second way, in f32 as the frameworks that run these models do: wavelengths instead of turns for
Llama 3.1, a blend of two tables for YaRN.
"""

import math

import numpy as np


def plain(theta, dim):
    return np.float32(1) / np.float32(theta) ** (np.arange(0, dim, 2, dtype=np.float32) / np.float32(dim))


def llama3(theta, dim, factor, low, high, old_len):
    f = plain(theta, dim)
    wavelength = 2 * math.pi / f
    smooth = (old_len / wavelength - low) / (high - low)
    blended = (1 - smooth) * f / factor + smooth * f
    return np.where(wavelength > old_len / low, f / factor, np.where(wavelength < old_len / high, f, blended))


def yarn(theta, dim, factor, old_len, fast=32, slow=1, whole=True):
    def index(turns):
        return dim * math.log(old_len / (turns * 2 * math.pi)) / (2 * math.log(theta))

    low, high = index(fast), index(slow)
    if whole:
        low, high = math.floor(low), math.ceil(high)
    ramp = np.clip((np.arange(dim // 2, dtype=np.float32) - max(low, 0)) / (min(high, dim - 1) - max(low, 0)), 0, 1)
    f = plain(theta, dim)
    return f / factor * ramp + f * (1 - ramp)


TABLES = {
    "Llama 2 7B to 16k by interpolation": plain(1e4, 128) / 4,
    "Llama 2 7B to 16k, NTK-aware": plain(1e4 * 4 ** (128 / 126), 128),
    "Llama 3.1 8B": llama3(5e5, 128, 8, 1, 4, 8192),
    "Qwen2.5 7B to 128k": yarn(1e6, 128, 4, 32768),
    "gpt-oss": yarn(1.5e5, 64, 32, 4096, whole=False),
    "DeepSeek-V3": yarn(1e4, 64, 40, 4096),
}
for name, f in TABLES.items():
    n = len(f)
    print(name, ", ".join(f"{f[i]:.7g}" for i in (0, 1, n // 4, n // 2 - 3, n // 2, 3 * n // 4, n - 1)))
