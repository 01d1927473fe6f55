#!/usr/bin/env python3
"""Checks that no source file is empty or longer than 500 lines, no verb of the command line longer than 99,
and no line of C++ wider than 100 columns. Raw strings may be wider: clang-format can't break them.

`--library FILE` checks instead that the library, stripped, has at most 10 MB, and that it exports no symbol that libc
exports, nor another one of C: it would replace that of each program that links it. `--self-test` shows that the checks can fail.
"""

import contextlib
import io
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest
import unittest.mock

FOLDERS = ("src", "examples", "bench", "fuzz", "tools", "cmake")
SUFFIXES = (".h", ".cpp", ".py", ".sh", ".cmake", ".txt")
MOST_LINES = 500
MOST_LINES_OF_A_VERB = 99
MOST_COLUMNS = 100
MOST_LIBRARY_BYTES = 10_000_000
LIBC = re.compile(r"\blibc\.so\.\d+ => (\S+)")
RAW_STRING = re.compile(r'R"([^()\\\s]*)\(.*?\)\1"', re.DOTALL)


def wide_lines(text):
    """The number and width of each line that is too wide and holds no part of a raw string."""
    exempt = set()
    for string in RAW_STRING.finditer(text):
        first = text.count("\n", 0, string.start()) + 1
        exempt.update(range(first, first + string.group().count("\n") + 1))
    for number, line in enumerate(text.split("\n"), 1):
        if len(line) > MOST_COLUMNS and number not in exempt:
            yield number, len(line)


def faults(root):
    """One line for each file that is too long or empty, and for each line that is too wide."""
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
        if file.suffix in (".h", ".cpp"):
            for number, width in wide_lines(file.read_text(encoding="utf-8")):
                yield f"{file.relative_to(root)}:{number}: expected at most {MOST_COLUMNS} columns, got {width}"


class SelfTest(unittest.TestCase):
    def check(self, path, text):
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder, path)
            file.parent.mkdir(parents=True)
            file.write_text(text, encoding="utf-8")
            return list(faults(pathlib.Path(folder)))

    def test_limits(self):
        self.assertEqual(self.check("src/ir/type.h", "\n" * 500), [])
        self.assertEqual(
            self.check("src/ir/type.h", "\n" * 501), ["src/ir/type.h: expected at most 500 lines, got 501"])

    def test_empty(self):
        self.assertEqual(len(self.check("src/ir/type.h", "")), 1)

    def test_verbs(self):
        self.assertEqual(self.check("src/cli/verbs/train.cpp", "\n" * 99), [])
        self.assertEqual(len(self.check("src/cli/verbs/train.cpp", "\n" * 100)), 1)
        self.assertEqual(self.check("src/cli/verbs/train_test.cpp", "\n" * 100), [])

    def test_widths(self):
        wide = "x" * 101 + "\n"
        self.assertEqual(self.check("src/ir/type.h", "ä" * 100 + "\n"), [])
        self.assertEqual(self.check("src/ir/type.h", "\n// " + wide),
                         ["src/ir/type.h:2: expected at most 100 columns, got 104"])
        self.assertEqual(self.check("src/ir/type.h", f'a = R"({wide}{wide})";\n'), [])
        self.assertEqual(self.check("src/ir/type.h", f'a = R"json(){wide})json";\n'), [])
        self.assertEqual(len(self.check("src/ir/type.h", f'{wide}a = R"({wide})";\n{wide}')), 2)
        self.assertEqual(self.check("tools/a.py", wide), [])

    def test_a_library_that_is_too_large(self):
        program = pathlib.Path(sys.executable).resolve()
        with contextlib.redirect_stdout(io.StringIO()):
            self.assertEqual(list(library_faults(program)), [])
            with unittest.mock.patch(f"{__name__}.MOST_LIBRARY_BYTES", 1000):
                self.assertEqual(len(list(library_faults(program))), 1)

    def test_a_library_that_exports_names_of_c(self):
        def check(code):
            with tempfile.TemporaryDirectory() as folder:
                library = pathlib.Path(folder, "library.so")
                subprocess.run(["c++", "-shared", "-fPIC", "-w", "-Wl,--no-as-needed", "-x", "c++", "-", "-o", library],
                               input=code, text=True, check=True)
                return [fault.split(": ", 1)[1] for fault in exported_name_faults(library)]

        self.assertEqual(check('namespace axle { void exit(int) {} }  void _exit(int) {}'), [])
        self.assertEqual(check('extern "C" void on_exit_of_axle(int) {}'),
                         ["expected no exported name without a namespace, got on_exit_of_axle"])
        self.assertEqual(check('extern "C" void _exit(int) {}  extern "C" int raise(int) { return 0; }'),
                         ["expected no exported symbol of libc, got _exit", "expected no exported symbol of libc, got raise"])


def exported_symbols(library):
    """The names that the library defines for others, without versions."""
    table = subprocess.run(["nm", "-D", "--defined-only", library], check=True, capture_output=True, text=True).stdout
    return {line.split()[-1].split("@")[0] for line in table.splitlines()}


def exported_name_faults(library):
    """One line for each name that may meet one of another library: one of libc's, or another one of C."""
    needed = subprocess.run(["ldd", library], check=True, capture_output=True, text=True).stdout
    libc = exported_symbols(LIBC.search(needed).group(1))
    for name in sorted(exported_symbols(library)):
        if name in libc:
            yield f"{library}: expected no exported symbol of libc, got {name}"
        elif not name.startswith("_Z"):
            yield f"{library}: expected no exported name without a namespace, got {name}"


def library_faults(library):
    """One line if the library is too large without its symbols."""
    with tempfile.TemporaryDirectory() as folder:
        stripped = pathlib.Path(folder, "stripped.so")
        subprocess.run(["strip", "-o", stripped, library], check=True)
        size = stripped.stat().st_size
    print(f"size: {library} has {size / 1e6:.2f} MB, stripped")
    if size > MOST_LIBRARY_BYTES:
        yield f"{library}: expected at most {MOST_LIBRARY_BYTES / 1e6:.0f} MB, got {size / 1e6:.2f} MB"


def main():
    if len(sys.argv) == 3 and sys.argv[1] == "--library":
        found = [*library_faults(sys.argv[2]), *exported_name_faults(sys.argv[2])]
        print("".join(line + "\n" for line in found), end="")
        return 1 if found else 0
    if sys.argv[1:] == ["--self-test"]:
        return 0 if unittest.main(argv=sys.argv[:1], exit=False, verbosity=0).result.wasSuccessful() else 1
    found = list(faults(pathlib.Path(__file__).resolve().parent.parent))
    print("\n".join(found + [f"size: {len(found)} faults"]))
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
