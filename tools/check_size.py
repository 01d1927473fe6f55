#!/usr/bin/env python3
"""Checks that no source file is empty or longer than 500 lines, and no verb of the command line longer than 99.

`--self-test` shows that the check can fail.
"""

import pathlib
import sys
import tempfile
import unittest

FOLDERS = ("src", "examples", "bench", "tools", "cmake")
SUFFIXES = (".h", ".cpp", ".py", ".sh", ".cmake", ".txt")
MOST_LINES = 500
MOST_LINES_OF_A_VERB = 99


def faults(root):
    """One line for each file that is too long or empty."""
    files = [root / "dev", root / "CMakeLists.txt"]
    for folder in FOLDERS:
        files += sorted(p for p in (root / folder).rglob("*") if p.suffix in SUFFIXES)
    for file in files:
        if not file.is_file():
            continue
        is_verb = file.parent.name == "verbs" and not file.name.endswith("_test.cpp")
        most = MOST_LINES_OF_A_VERB if is_verb else MOST_LINES
        lines = file.read_bytes().count(b"\n")
        if lines == 0:
            yield f"{file.relative_to(root)}: expected a file with text, got an empty one"
        if lines > most:
            yield f"{file.relative_to(root)}: expected at most {most} lines, got {lines}"


class SelfTest(unittest.TestCase):
    def check(self, path, lines):
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder, path)
            file.parent.mkdir(parents=True)
            file.write_text("\n" * lines, encoding="utf-8")
            return list(faults(pathlib.Path(folder)))

    def test_limits(self):
        self.assertEqual(self.check("src/ir/type.h", 500), [])
        self.assertEqual(self.check("src/ir/type.h", 501), ["src/ir/type.h: expected at most 500 lines, got 501"])

    def test_empty(self):
        self.assertEqual(len(self.check("src/ir/type.h", 0)), 1)

    def test_verbs(self):
        self.assertEqual(self.check("src/cli/verbs/train.cpp", 99), [])
        self.assertEqual(len(self.check("src/cli/verbs/train.cpp", 100)), 1)
        self.assertEqual(self.check("src/cli/verbs/train_test.cpp", 100), [])


def main():
    if sys.argv[1:] == ["--self-test"]:
        return 0 if unittest.main(argv=sys.argv[:1], exit=False, verbosity=0).result.wasSuccessful() else 1
    found = list(faults(pathlib.Path(__file__).resolve().parent.parent))
    print("\n".join(found + [f"size: {len(found)} faults"]))
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
