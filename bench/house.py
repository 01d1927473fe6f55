#!/usr/bin/env python3
"""Counts the house: product files, their lines, how deep they include each other, and casts.

    house.py [REVISION]    (default: the work tree)

A product file is a source or header of src/ that is neither a test (`_test`) nor of testing/. Its include depth is the
longest chain of product headers from it.
"""

import pathlib
import re
import statistics
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
INCLUDE = re.compile(r'^#include "([^"]+)"', re.MULTILINE)
COUNTED = ("static_cast<", "const_cast<", "NOLINT")


def work_tree():
    return {str(p.relative_to(ROOT)): p.read_text(encoding="utf-8") for p in (ROOT / "src").rglob("*") if p.is_file()}


def revision(name):
    """The files of a commit, by path."""
    def git(*words, **options):
        return subprocess.run(["git", *words], cwd=ROOT, check=True, capture_output=True, **options).stdout

    paths = git("ls-tree", "-r", "--name-only", name, "src", text=True).split("\n")[:-1]
    batch = git("cat-file", "--batch", input="".join(f"{name}:{path}\n" for path in paths).encode())
    out, at = {}, 0
    for path in paths:
        end = batch.index(b"\n", at)
        size = int(batch[at:end].split()[-1])
        out[path] = batch[end + 1:end + 1 + size].decode(errors="replace")
        at = end + size + 2
    return out


def is_product(path):
    return path.endswith((".h", ".cpp")) and "_test." not in path and not path.startswith("src/testing/")


def depths(files):
    """The include depth of each file."""
    known = {}

    def depth(path):
        if path not in known:
            known[path] = 0  # a cycle adds nothing
            below = [f"src/{name}" for name in INCLUDE.findall(files[path])]
            known[path] = max((1 + depth(name) for name in below if name in files and name != path), default=0)
        return known[path]

    return [depth(path) for path in files]


def main():
    files = revision(sys.argv[1]) if len(sys.argv) > 1 else work_tree()
    product = {path: text for path, text in files.items() if is_product(path)}
    lines = [text.count("\n") for text in product.values()]
    deep = depths(product)
    print(f"product files {len(product):,}, lines {sum(lines):,}, median {statistics.median(lines):.0f}, most {max(lines)}")
    print(f"include depth: median {statistics.median(deep):.0f}, most {max(deep)}")
    for word in COUNTED:
        print(f"{word.strip('<')}: {sum(text.count(word) for text in product.values()):,}")


if __name__ == "__main__":
    main()
