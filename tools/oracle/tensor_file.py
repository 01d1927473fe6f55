"""Reads and writes safetensors files, without the package of that name."""

import json

import ml_dtypes
import numpy as np

DTYPES = {
    "F64": np.float64, "F32": np.float32, "F16": np.float16, "BF16": ml_dtypes.bfloat16,
    "F8_E4M3": ml_dtypes.float8_e4m3fn, "F8_E5M2": ml_dtypes.float8_e5m2, "C64": np.complex64,
    "I64": np.int64, "I32": np.int32, "I16": np.int16, "I8": np.int8,
    "U64": np.uint64, "U32": np.uint32, "U16": np.uint16, "U8": np.uint8, "BOOL": np.bool_,
}  # fmt: skip


def load(path):
    """The tensors of a file, by name."""
    data = path.read_bytes()
    begin = 8 + int.from_bytes(data[:8], "little")
    header = json.loads(data[8:begin])
    header.pop("__metadata__", None)
    out = {}
    for name, entry in header.items():
        first, last = (begin + offset for offset in entry["data_offsets"])
        out[name] = np.frombuffer(data[first:last], DTYPES[entry["dtype"]]).reshape(entry["shape"])
    return out


def save(path, tensors):
    """Writes arrays by name."""
    names = {np.dtype(dtype): name for name, dtype in DTYPES.items()}
    header, parts, offset = {}, [], 0
    # Large elements first: data are aligned to their size.
    for name, x in sorted(tensors.items(), key=lambda item: (-item[1].dtype.itemsize, item[0])):
        parts.append(np.ascontiguousarray(x).tobytes())
        header[name] = {"dtype": names[x.dtype], "shape": list(x.shape), "data_offsets": [offset, offset + len(parts[-1])]}
        offset += len(parts[-1])
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    path.write_bytes(len(text).to_bytes(8, "little") + text + b"".join(parts))
