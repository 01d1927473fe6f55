#!/usr/bin/env python3
"""Compares the training of a byte-level tokenizer with that of Hugging Face's `tokenizers`, on all cores of this host.

    tokenizer_training.py TEXT... [--axle build/release/axle] [--vocab-size N] [--rounds N] [--pattern llama3|gpt2]

Needs that package. Rounds of both alternate; times are medians, of Axle from the start of the program to the written file, of
`tokenizers` from the text in memory to the trained tokenizer. Says how many merges are the same before the first that differs.
"""

import argparse
import json
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]
# Where no pattern makes one piece of what is on both sides, so that parts of a text have the pieces of the text.
CUT = re.compile(r"(?<=\S\n)(?=\S)")


def parts(text, size=16 << 10):
    at = 0
    while at < len(text):
        found = CUT.search(text, min(at + size, len(text)))
        end = found.start() if found else len(text)
        yield text[at:end]
        at = end


def theirs(texts, args):
    from tokenizers import Tokenizer, models, pre_tokenizers, trainers
    from tokenizers_made import GPT2, LLAMA3, bytes_last, split

    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = bytes_last(split({"llama3": LLAMA3, "gpt2": GPT2}[args.pattern]))
    trainer = trainers.BpeTrainer(
        vocab_size=args.vocab_size, min_frequency=2, show_progress=False, initial_alphabet=pre_tokenizers.ByteLevel.alphabet()
    )
    begin = time.monotonic()
    tokenizer.train_from_iterator(texts, trainer)
    secs = time.monotonic() - begin
    return secs, [" ".join(merge) for merge in json.loads(tokenizer.to_str())["model"]["merges"]]


def ours(args):
    with tempfile.TemporaryDirectory() as folder:
        command = [args.axle, "tokenizer", "train", *args.texts, "--out", folder, "--pattern", args.pattern]
        begin = time.monotonic()
        subprocess.run([*command, "--vocab-size", str(args.vocab_size)], check=True, capture_output=True)
        secs = time.monotonic() - begin
        return secs, json.loads(pathlib.Path(folder, "tokenizer.json").read_text())["model"]["merges"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("texts", nargs="+", metavar="TEXT", help="a text file")
    parser.add_argument("--axle", default=str(ROOT / "build/release/axle"), help="the program axle")
    parser.add_argument("--vocab-size", type=int, default=32000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--pattern", choices=["llama3", "gpt2"], default="llama3")
    args = parser.parse_args()
    sys.path.insert(0, str(ROOT / "tools" / "oracle"))
    texts = [part for path in args.texts for part in parts(pathlib.Path(path).read_bytes().decode())]
    ours_secs, theirs_secs = [], []
    for _ in range(args.rounds):
        secs, our_merges = ours(args)
        ours_secs.append(secs)
        secs, their_merges = theirs(texts, args)
        theirs_secs.append(secs)
    same = next((i for i, (a, b) in enumerate(zip(our_merges, their_merges)) if a != b), min(len(our_merges), len(their_merges)))
    ours_median, theirs_median = statistics.median(ours_secs), statistics.median(theirs_secs)
    print(
        f"ours {ours_median:.2f} s, theirs {theirs_median:.2f} s, {theirs_median / ours_median:.2f}x; merges: {len(our_merges)} and "
        f"{len(their_merges)}, the first {same} the same, {len(set(our_merges) & set(their_merges))} in both"
    )


if __name__ == "__main__":
    main()
