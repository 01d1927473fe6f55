#!/usr/bin/env python3
"""Writes token files as the published layout of Megatron-LM says (megatron/core/datasets/indexed_dataset.py), for the tests of
src/io/token_file.h. Needs numpy.

    python3 tools/oracle/token_files.py testdata/reference/token_files

Document d has (7 * d) % 13 ids; its id number i is (31 * d + 17 * i) % 120. In `parts`, each document of 3 ids or more is two
sequences, of which the first has 2; there is a list of modes behind the index.
"""

import pathlib
import struct
import sys

import numpy

CODES = {"u1": 1, "i1": 2, "i2": 3, "i4": 4, "i8": 5, "u2": 8}
NAMES = {"u1": "u8", "i1": "i8", "i2": "i16", "i4": "i32", "i8": "i64", "u2": "u16"}
NUM_DOCUMENTS = 20


def documents():
    return [[(31 * d + 17 * i) % 120 for i in range((7 * d) % 13)] for d in range(NUM_DOCUMENTS)]


def write(prefix, sequences, first_sequences, dtype, modes=None):
    data = [numpy.array(sequence, dtype="<" + dtype) for sequence in sequences]
    lengths = numpy.array([one.size for one in data], dtype="<i4")
    ends = numpy.cumsum(lengths.astype("<i8") * numpy.dtype(dtype).itemsize)
    offsets = numpy.concatenate([[0], ends[:-1]]).astype("<i8")
    with open(f"{prefix}.bin", "wb") as file:
        for one in data:
            file.write(one.tobytes(order="C"))
    with open(f"{prefix}.idx", "wb") as file:
        file.write(b"MMIDIDX\x00\x00")
        file.write(struct.pack("<Q", 1))
        file.write(struct.pack("<B", CODES[dtype]))
        file.write(struct.pack("<Q", len(sequences)))
        file.write(struct.pack("<Q", len(first_sequences)))
        file.write(lengths.tobytes(order="C"))
        file.write(offsets.tobytes(order="C"))
        file.write(numpy.array(first_sequences, dtype="<i8").tobytes(order="C"))
        if modes is not None:
            file.write(numpy.array(modes, dtype="i1").tobytes(order="C"))


def main():
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for dtype, name in NAMES.items():
        write(folder / name, documents(), range(NUM_DOCUMENTS + 1), dtype)
    sequences, firsts = [], [0]
    for document in documents():
        sequences += [document[:2], document[2:]] if len(document) >= 3 else [document]
        firsts.append(len(sequences))
    write(folder / "parts", sequences, firsts, "u2", modes=[0] * len(sequences))


if __name__ == "__main__":
    main()
