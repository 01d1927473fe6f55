#!/usr/bin/env python3
"""Makes testdata/reference/tokenizers/normal_forms.json: hashes of the normal forms that `tokenizers` gives of each character,
alone and between marks of other classes, and prints the table of src/base/text/unicode.cpp.

  python -m pip install tokenizers unicodedata2    # into a Python outside of the repository
  python tools/oracle/normal_forms.py

A hash is that of 4096 characters. The table is what differs from `unicodedata2`, which may be newer than utf8proc.
"""

import hashlib
import json
import pathlib

import unicodedata2 as unicodedata
from tokenizers import normalizers

FILE = pathlib.Path(__file__).resolve().parents[2] / "testdata" / "reference" / "tokenizers" / "normal_forms.json"
FORMS = ["NFC", "NFD", "NFKC", "NFKD"]
BLOCK = 0x1000


def texts(c):
    """A class of marks shows in their order, and in what it keeps from a letter."""
    return [c, "e" + c + "\u0301", "a\u0345" + c + "\u0334", c + "\U00011930\u0323"]


def characters(first, count):
    return [chr(c) for c in range(first, first + count) if not 0xD800 <= c <= 0xDFFF]


def hashes(form):
    own = getattr(normalizers, form)()
    out = []
    for first in range(0, 0x110000, BLOCK):
        digest = hashlib.sha256()
        for c in characters(first, BLOCK):
            for text in texts(c):
                digest.update(own.normalize_str(text).encode() + b"\n")
        out.append(digest.hexdigest()[:16])
    return out


def print_table():
    own = {form: getattr(normalizers, form)() for form in FORMS}
    found = []
    for c in characters(0, 0x110000):
        if any(own[form].normalize_str(text) != unicodedata.normalize(form, text) for text in texts(c) for form in FORMS):
            found.append(ord(c))
    ranges = []
    for c in found:
        if ranges and ranges[-1][1] == c - 1:
            ranges[-1][1] = c
        else:
            ranges.append([c, c])
    print(f"{len(found)} characters of Unicode {unicodedata.unidata_version}:")
    print(", ".join(f"{{0x{first:x}, 0x{last:x}}}" for first, last in ranges))


if __name__ == "__main__":
    FILE.write_text(json.dumps({form: hashes(form) for form in FORMS}, indent=1) + "\n")
    print_table()
