#!/usr/bin/env python3
"""Makes testdata/reference/tokenizers/categories.json: of which characters `tokenizers` says that they are accents, control
characters, punctuation or digits, as a hash of a digit for each code point, and a hash of all lower cases; prints the tables
of src/data/tokenizers/parts/pre_tokenizers.cpp.

  python -m pip install tokenizers    # into a Python outside of the repository
  python tools/oracle/unicode_categories.py
"""

import hashlib
import json
import pathlib

from tokenizers import normalizers, pre_tokenizers

FILE = pathlib.Path(__file__).resolve().parents[2] / "testdata" / "reference" / "tokenizers" / "categories.json"


def bert(**on):
    return normalizers.BertNormalizer(**{
        "clean_text": False, "handle_chinese_chars": False, "strip_accents": False, "lowercase": False, **on})  # fmt: skip


def removed_by(normalizer):
    return lambda c: normalizer.normalize_str("a" + c + "b") == "ab"


def is_cut(c):
    return not c.isascii() and len(pre_tokenizers.Punctuation().pre_tokenize_str("a" + c)) == 2


CATEGORIES = {
    "mark": removed_by(normalizers.StripAccents()),
    "nonspacing_mark": removed_by(bert(strip_accents=True)),
    "other": lambda c: c not in "\0\ufffd" and removed_by(bert(clean_text=True))(c),
    "punctuation": is_cut,
    "number": lambda c: len(pre_tokenizers.Digits(individual_digits=True).pre_tokenize_str("a" + c)) == 2,
}


def ranges(found):
    out = []
    for c in found:
        if out and out[-1][1] == c - 1:
            out[-1][1] = c
        else:
            out.append([c, c])
    return out


if __name__ == "__main__":
    hashes = {}
    for name, holds in CATEGORIES.items():
        digits = ["0" if 0xD800 <= c <= 0xDFFF else str(int(holds(chr(c)))) for c in range(0x110000)]
        hashes[name] = hashlib.sha256("".join(digits).encode()).hexdigest()[:16]
        print(f"constexpr Range k_{name}[] = {{")
        print(", ".join(f"{{0x{a:x}, 0x{b:x}}}" for a, b in ranges([c for c, digit in enumerate(digits) if digit == "1"])))
        print("};")
    lower = "".join(normalizers.Lowercase().normalize_str(chr(c)) for c in range(0x110000) if not 0xD800 <= c <= 0xDFFF)
    hashes["lower_case"] = hashlib.sha256(lower.encode()).hexdigest()[:16]
    FILE.write_text(json.dumps(hashes, indent=1) + "\n")
