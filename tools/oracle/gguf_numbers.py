#!/usr/bin/env python3
"""Makes testdata/reference/gguf with the Python package gguf.

  python -m pip install gguf==0.19.0 ml_dtypes
  python tools/oracle/gguf_numbers.py [FOREIGN]
  python tools/oracle/gguf_numbers.py check FILE...

blocks.safetensors  `<type>/blocks` and the `<type>/values` that they hold; `<type>/stored_values` and the
                    `<type>/stored_blocks` that the package makes of them
small.gguf          metadata of every type and tensors of every type that is written; fuzz/seeds/gguf/every_block.gguf begins
                    the fuzzer's search beside it
foreign.json        with FOREIGN, the folder of `./dev foreign`: for each of its GGUF files, the first 16 hexadecimal digits
                    of SHA-256 of the bytes of each tensor's values in f32, and of its metadata in a canonical JSON
`check` reads files with the package and prints what is in them.
"""

import hashlib
import json
import pathlib
import sys

import numpy as np
from gguf import GGMLQuantizationType as Type
from gguf import GGUFReader, GGUFValueType, GGUFWriter
from gguf.constants import GGML_QUANT_SIZES
from gguf.quants import dequantize, quantize
from tensor_file import save

ROOT = pathlib.Path(__file__).resolve().parents[2]
FOLDER, SEEDS = ROOT / "testdata/reference/gguf", ROOT / "fuzz/seeds/gguf"
# Where the f16 scales of a block are.
SCALES = {
    "Q4_0": [0], "Q4_1": [0, 2], "Q5_0": [0], "Q5_1": [0, 2], "Q8_0": [0], "Q4_K": [0, 2], "Q5_K": [0, 2], "Q6_K": [208],
}  # fmt: skip
# The largest, the smallest, one below the normal numbers, zeros, and common ones.
SCALE_VALUES = np.array([65504, -6e-8, 3e-5, 0.0, -0.0, 0.0123, -1.5, 7.0], np.float16)
NUM_BLOCKS = len(SCALE_VALUES)


def random_blocks(rng, name):
    blocks = rng.integers(0, 256, (NUM_BLOCKS, GGML_QUANT_SIZES[Type[name]][1]), np.uint8)
    for n, at in enumerate(SCALES[name]):
        blocks[:, at : at + 2] = np.roll(SCALE_VALUES, n).view(np.uint8).reshape(-1, 2)
    return blocks


def values_to_store(rng):
    """Blocks of 32: random ones, zeros, ties, values too small for a scale, values far apart."""
    normal = rng.standard_normal((4, 32)) * np.array([[1e-3], [1], [30], [1e6]])
    ties = np.append(np.arange(31) - 15.5, 127)[None]
    tiny = np.full((1, 32), 1e-42)
    small = rng.standard_normal((1, 32)) * 1e-6
    apart = np.append(np.zeros(31), -3e-2)[None]
    return np.concatenate([normal, np.zeros((1, 32)), ties, tiny, small, apart, -ties]).astype(np.float32)


def blocks():
    rng, out = np.random.default_rng(7), {}
    for name in SCALES:
        out[f"{name}/blocks"] = random_blocks(rng, name)
        out[f"{name}/values"] = dequantize(out[f"{name}/blocks"], Type[name])
    halves = np.concatenate([SCALE_VALUES, [np.inf, -np.inf], rng.standard_normal(20)]).astype(np.float16)
    tops = (np.concatenate([[0, -0.0, np.inf, 3e38, 1e-40], rng.standard_normal(27)]).astype(np.float32).view(np.uint32) >> 16).astype(np.uint16)
    for name, numbers in (("F16", halves.view(np.uint8)), ("BF16", tops.view(np.uint8)), ("F32", halves.astype(np.float32).view(np.uint8))):
        out[f"{name}/blocks"] = numbers
        out[f"{name}/values"] = dequantize(numbers, Type[name])
    with np.errstate(all="ignore"):
        for name in ("Q8_0", "F16", "BF16", "F32"):
            out[f"{name}/stored_values"] = values_to_store(rng)
            out[f"{name}/stored_blocks"] = quantize(out[f"{name}/stored_values"], Type[name]).view(np.uint8)
    save(FOLDER / "blocks.safetensors", out)


def small():
    """What src/io/gguf/gguf_test.cpp writes too."""
    writer = GGUFWriter(FOLDER / "small.gguf", "llama")
    writer.add_uint8("of.u8", 200)
    writer.add_int8("of.i8", -100)
    writer.add_uint16("of.u16", 60000)
    writer.add_int16("of.i16", -30000)
    writer.add_uint32("of.u32", 4000000000)
    writer.add_int32("of.i32", -2000000000)
    writer.add_uint64("of.u64", 2**63 + 5)
    writer.add_int64("of.i64", -(2**62))
    writer.add_float32("of.f32", 0.1)
    writer.add_float64("of.f64", 0.1)
    writer.add_bool("of.bool", True)
    writer.add_string("of.text", "caf\u00e9 \U0001f600")
    writer.add_array("of.texts", ["<s>", "", "a b"])
    writer.add_key_value("of.f32s", [0.5, -1.25], GGUFValueType.ARRAY, GGUFValueType.FLOAT32)
    writer.add_key_value("of.i32s", [1, -2, 3], GGUFValueType.ARRAY, GGUFValueType.INT32)
    writer.add_key_value("of.bools", [True, False], GGUFValueType.ARRAY, GGUFValueType.BOOL)
    values = (np.arange(192, dtype=np.float32) - 90) / 7
    writer.add_tensor("a.weight", values.reshape(3, 64)[:, :5].copy())
    writer.add_tensor("b.weight", values.reshape(2, 96).astype(np.float16))
    for name, kind in (("c.weight", Type.BF16), ("d.weight", Type.Q8_0)):
        writer.add_tensor(name, quantize(values.reshape(3, 64), kind), raw_dtype=kind)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def every_block():
    """A file with a block of each type, nested arrays and an alignment of its own."""
    rng = np.random.default_rng(8)
    writer = GGUFWriter(SEEDS / "every_block.gguf", "llama")
    writer.add_custom_alignment(64)
    writer.add_array("nested", [[1, 2], [3]])
    for name in SCALES:
        writer.add_tensor(f"{name}.weight", random_blocks(rng, name)[3:4], raw_dtype=Type[name])
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def digest(data):
    return hashlib.sha256(data).hexdigest()[:16]




def contents(path):
    reader = GGUFReader(path)
    keys = {}
    for name, field in reader.fields.items():
        if not name.startswith("GGUF."):
            value = field.contents()
            keys[name] = {"type": [t.name for t in field.types], "sha": digest(field_bytes(field))}
            if not isinstance(value, list) and len(str(value)) < 40:
                keys[name]["value"] = value
    tensors = {}
    for t in reader.tensors:
        values = dequantize(t.data, t.tensor_type)
        shape = [int(d) for d in reversed(t.shape)]
        tensors[t.name] = [t.tensor_type.name, shape, digest(np.ascontiguousarray(values).tobytes())]
    return {"keys": keys, "tensors": tensors}


def field_bytes(field):
    """The bytes of a value's numbers and texts, without the lengths."""
    return b"".join(field.parts[i].tobytes() for i in field.data)


def foreign(folder):
    files = {path.name: contents(path) for path in sorted((folder / "gguf").glob("*.gguf"))}
    lines = []
    for name, file in files.items():
        parts = []
        for part, rows in file.items():
            inner = ",\n".join(f"  {json.dumps(key)}: {json.dumps(row)}" for key, row in rows.items())
            parts.append(f' "{part}": {{\n{inner}\n }}')
        lines.append(f'"{name}": {{\n' + ",\n".join(parts) + "\n}")
    (FOLDER / "foreign.json").write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")


def main(arguments):
    if arguments[:1] == ["check"]:
        for path in arguments[1:]:
            print(json.dumps(contents(path), indent=1))
        return
    FOLDER.mkdir(parents=True, exist_ok=True)
    blocks()
    small()
    every_block()
    if arguments:
        foreign(pathlib.Path(arguments[0]))


if __name__ == "__main__":
    main(sys.argv[1:])
