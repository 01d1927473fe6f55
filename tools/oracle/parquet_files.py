#!/usr/bin/env python3
"""Writes Parquet files with pyarrow, and what pyarrow reads of them, for the tests of src/io/parquet. Needs pyarrow.

    python3 tools/oracle/parquet_files.py testdata/reference/parquet

Files of `kinds/` hold the same rows of texts, stored in many ways; texts.json is the list of them, null for a row without one,
as pyarrow reads each of the files. required.json and nested.json are the same of those files. `long.parquet` holds 64 MB of
text in 64 row groups; of it, long.json has the number of rows and the SHA-256 of all texts one after the other.
`bomb.parquet` is one text of 1.2 GB. `chat.parquet` has a column of messages with calls of tools and fields that are null; chat.json is
the list of its rows. `chat_texts.parquet` has the same messages as texts of JSON.
"""

import hashlib
import json
import pathlib
import sys

import pyarrow as pa
import pyarrow.parquet as pq

WORDS = "the cat naïve 猫が好き zebra 👍🏽 Привет x=1; \t tab".split(" ")
NUM_ROWS = 60


def text_of(row):
    if row % 11 == 5:
        return None
    return " ".join(WORDS[(row * k + k // 3) % len(WORDS)] for k in range(row * 7 % 23))


TEXTS = [text_of(row) for row in range(NUM_ROWS)]
PLAIN = {"use_dictionary": False, "compression": "none"}

# Name -> the type of the column and how it is stored.
KINDS = {
    "plain": (pa.string(), {**PLAIN, "row_group_size": 25}),
    "dictionary_snappy": (pa.string(), {"use_dictionary": True, "compression": "snappy", "row_group_size": 25}),
    "second_version_zstd": (pa.string(), {"compression": "zstd", "data_page_version": "2.0", "data_page_size": 64}),
    "delta_length_gzip": (
        pa.string(),
        {"use_dictionary": False, "compression": "gzip", "column_encoding": {"text": "DELTA_LENGTH_BYTE_ARRAY"}},
    ),
    "delta_brotli": (
        pa.large_string(),
        {"use_dictionary": False, "compression": "brotli", "column_encoding": {"text": "DELTA_BYTE_ARRAY"}},
    ),
    "bytes_lz4": (pa.binary(), {"compression": "lz4"}),
    "view_checksums": (pa.string_view(), {"write_page_checksum": True, "write_page_index": True}),
    "categories": (pa.dictionary(pa.int32(), pa.string()), {}),
}


def as_text(value):
    return value.decode() if isinstance(value, bytes) else value


def write_json(path, value):
    path.write_text(json.dumps(value, ensure_ascii=False, indent=0) + "\n")


def write(path, columns, options):
    pq.write_table(pa.table(columns), path, **options)
    return pq.read_table(path, columns=["text"])["text"].to_pylist()


def call(**arguments):
    return {"id": "1", "function": {"name": "add", "arguments": json.dumps(arguments)}}


def chats():
    """Conversations as a data set of Hugging Face has them: every message has all fields."""
    talks = [
        [("system", 'Be "brief".\n', None), ("user", "1 + 2?\x01", None), ("assistant", None, [call(a=1, b=2)]), ("tool", "3", None)],
        [("user", "猫?", None), ("assistant", "ねこ", None)],
        [("user", "", None), ("assistant", "back\\slash", [])],
    ]
    return [[{"role": r, "content": c, "tool_calls": t} for r, c, t in talk] for talk in talks]


def write_chats(folder):
    message = pa.struct(
        [
            ("role", pa.string()),
            ("content", pa.string()),
            ("tool_calls", pa.list_(pa.struct([("id", pa.string()), ("function", pa.struct([("name", pa.string()), ("arguments", pa.string())]))]))),
        ]
    )
    numbers = {"score": [0.5, -1e300, 3.0], "id": pa.array([1, 2, 2**62])}
    table = pa.table({"messages": pa.array(chats(), pa.list_(message)), **numbers, "source": ["x"] * 3})
    pq.write_table(table, folder / "chat.parquet", row_group_size=2)
    write_json(folder / "chat.json", pq.read_table(folder / "chat.parquet", columns=["messages"]).to_pylist())
    pq.write_table(pa.table({"messages": [json.dumps(talk) for talk in chats()]}), folder / "chat_texts.parquet")


def main():
    folder = pathlib.Path(sys.argv[1])
    (folder / "kinds").mkdir(parents=True, exist_ok=True)
    for name, (kind, options) in KINDS.items():
        column = pa.array(TEXTS).dictionary_encode() if name == "categories" else pa.array(TEXTS).cast(kind)
        read = write(folder / f"kinds/{name}.parquet", {"id": pa.array(range(NUM_ROWS)), "text": column}, options)
        assert [as_text(value) for value in read] == TEXTS, name
    write_json(folder / "texts.json", TEXTS)

    required = pa.schema([pa.field("text", pa.string(), nullable=False)])
    some = [text for text in TEXTS if text is not None]
    pq.write_table(pa.table({"text": some}, schema=required), folder / "required.parquet", **PLAIN)
    write_json(folder / "required.json", pq.read_table(folder / "required.parquet")["text"].to_pylist())

    structs = [None if i % 13 == 4 else {"body": text} for i, text in enumerate(TEXTS)]
    pq.write_table(pa.table({"meta": structs, "tags": [["a"]] * NUM_ROWS}), folder / "nested.parquet")
    read = pq.read_table(folder / "nested.parquet")["meta"].to_pylist()
    write_json(folder / "nested.json", [row and row["body"] for row in read])

    write_chats(folder)

    line = "One paragraph of many that are alike, told again and again. "
    long = [f"{i % 97}: " + line * (i % 9) for i in range(64 * 4000)]
    options = {"compression": "zstd", "compression_level": 19, "row_group_size": 4000, "use_dictionary": False}
    read = "".join(write(folder / "long.parquet", {"text": long}, options)).encode()
    write_json(folder / "long.json", {"rows": len(long), "bytes": len(read), "sha256": hashlib.sha256(read).hexdigest()})

    bomb = pa.table({"text": pa.array(["a" * 1_200_000_000])})
    pq.write_table(bomb, folder / "bomb.parquet", use_dictionary=False, compression="zstd", write_statistics=False)


if __name__ == "__main__":
    main()
