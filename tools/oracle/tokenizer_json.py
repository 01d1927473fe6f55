#!/usr/bin/env python3
"""Makes testdata/reference/tokenizers: small tokenizers and what Hugging Face's library gives for texts.

For each KIND of tokenizers_made.py: KIND.json, the tokenizer; and in expected.json its ids for the texts by name, and hashes of
ids and decoded texts for random strings that the test makes in the same way (src/data/tokenizers/hugging_face).

`--show KIND N` prints the N-th random string of a kind with ids, to look at a difference.
"""

import hashlib
import json
import pathlib
import struct
import sys

import tokenizers
from tokenizers import Tokenizer

FOLDER = pathlib.Path(__file__).parents[2] / "testdata" / "reference" / "tokenizers"
NUM_BLOCKS, BLOCK = 20, 100
TEXTS = [
    "", " ", "  ", "a", "Hello, world!", " leading", "trailing ", "two  spaces   three", "tab\tand\nnewline\r\n\r\n  x",
    "It's we'll THEY'RE 'tis don't", "123 4567 89.01 1234567890", "x=a[i]+b->c; // comment\n\tif (!ok) return -1;\n",
    "Größe café naïve e\u0301 Å ﬁ ½ ① ²", "今日はいい天気ですね。東京へ行きました。", "안녕하세요 세계 한글", "Привет, МИР! Γειά Σου ΣΑΣ İstanbul",
    "שלום עולם مرحبا ١٢٣ नमस्ते ๑๒", "😀👍🏽👨‍👩‍👧🇩🇪 ☂️", "\u00a0\u2003\u3000\u200b\u180e\u2028\u2029\x85\ufeff|", "a\x00b\x01c\x7fd\x9fe\ufffdf",
    "<|begin|>Hi<|im_start|> there <|end|>", "<s>not</s> <unk> <0x41> [CLS] [MASK]", "a<tool>b</tool> <tool>",
    "Word words Word. word WORD", "x <left> y <right> z <BOTH>  w<both>", "<one> a<one> <one>b <one><two><one>", "é è <mask> <Norm> <norm>",
    "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", "  \n \n\n  \t\t  ", "___ab_abab__a",
    "the quick brown fox jumps over the lazy dog. " * 3, "\u0301\u0301a\u0301", "\U0001d49c\U00020000\U0010ffff\ue000",
]  # fmt: skip
# What random strings are made of: pieces of text, and ranges of characters assigned for long.
PIECES = [
    " ", " ", "  ", "\n", "\t", "\r\n", "the", " and", "ing", "'s", "'LL", "_", "ab", "<|begin|>", "<|im_start|>", "<tool>", "<s>",
    "</s>", "<mask>", "<one>", "<left>", " <right> ", "Word", "<unk>", "12", "3", ".", ", ", "e\u0301", "\u3000", "\u00a0", "猫",
    "です", "한", "ß", "İ", "ﬁ", "😀", "\u200d", "\u180e", "\u2028", "\x85", "\x00", "\u00ad", "A\u030a", "½", "▁", "<0x41>", "##a",
]  # fmt: skip
RANGES = [(0x20, 0x7E), (0xA0, 0x17F), (0x391, 0x3A1), (0x410, 0x44F), (0x5D0, 0x5EA), (0x627, 0x64A), (0x905, 0x939), (0x3041, 0x3093),
          (0x4E00, 0x9FA5), (0xAC00, 0xD7A3), (0x1F600, 0x1F64F), (0x1100, 0x1112), (0x300, 0x33F), (0xFF01, 0xFF5E)]  # fmt: skip


class Random:
    def __init__(self, seed):
        self.state = seed

    def below(self, n):
        self.state = (self.state * 6364136223846793005 + 1442695040888963407) % 2**64
        return (self.state >> 33) % n


def random_text(random):
    out = ""
    for _ in range(random.below(25)):
        kind = random.below(4)
        if kind == 0:
            out += PIECES[random.below(len(PIECES))]
        elif kind == 1:
            out += chr(97 + random.below(26)) * (1 + random.below(3))
        else:
            first, last = RANGES[random.below(len(RANGES))]
            out += chr(first + random.below(last - first + 1))
    return out


def digest(chunks):
    return hashlib.sha256(b"".join(struct.pack("<I", len(c)) + c for c in chunks)).hexdigest()[:16]


def packed(ids):
    return struct.pack(f"<{len(ids)}i", *ids)


def modes(tokenizer, text):
    """Ids with special tokens as text, with special tokens, and with those around the text."""
    tokenizer.encode_special_tokens = True
    plain = tokenizer.encode(text, add_special_tokens=False).ids
    tokenizer.encode_special_tokens = False
    return plain, tokenizer.encode(text, add_special_tokens=False).ids, tokenizer.encode(text).ids


def expected(tokenizer):
    random = Random(7)
    blocks = []
    for _ in range(NUM_BLOCKS):
        found = [modes(tokenizer, random_text(random)) for _ in range(BLOCK)]
        ids = digest(packed(mode) for row in found for mode in row)
        texts = digest(tokenizer.decode(row[0]).encode() for row in found)
        blocks.append([ids, texts])
    rows = [modes(tokenizer, text) for text in TEXTS]
    return {
        "ids": [row[0] for row in rows],
        "with_special": [row[1] if row[1] != row[0] else None for row in rows],
        "framed": [row[2] for row in rows[:2]],
        "decoded": [tokenizer.decode(row[0]) for row in rows],
        "random": blocks,
    }


def main():
    if sys.argv[1:2] == ["--show"]:
        tokenizer = Tokenizer.from_file(str(FOLDER / f"{sys.argv[2]}.json"))
        random = Random(7)
        for _ in range(int(sys.argv[3])):
            random_text(random)
        text = random_text(random)
        print(repr(text), *modes(tokenizer, text), repr(tokenizer.decode(modes(tokenizer, text)[0])), sep="\n")
        return
    from tokenizers_made import KINDS

    FOLDER.mkdir(exist_ok=True)
    out = {"made_by": f"tokenizers {tokenizers.__version__}", "texts": TEXTS, "pieces": PIECES, "ranges": RANGES}
    out |= {"num_blocks": NUM_BLOCKS, "block": BLOCK, "kinds": {}}
    for kind, make in KINDS.items():
        (FOLDER / f"{kind}.json").write_text(make().to_str(pretty=False))
        out["kinds"][kind] = expected(Tokenizer.from_file(str(FOLDER / f"{kind}.json")))
    text = json.dumps(out, ensure_ascii=True, separators=(",", ":"))
    (FOLDER / "expected.json").write_text(text.replace('},"', '},\n"') + "\n")


if __name__ == "__main__":
    main()
