#!/usr/bin/env python3
"""Runs clang-tidy with the checks of .clang-tidy over the sources that changed lately.

    check_tidy.py [--since DAYS] [--seconds N] [FILE...]

Without files: the sources of src/ that the commits of the last DAYS (default: 2) before HEAD changed, the newest first, and
those of the work tree. It begins no file after N seconds (default: 240) and says how many it left out; what a commit
changes is looked at by whoever makes it, without a limit. A NOLINT names its check and says why.
`--self-test` shows that the check can fail.
"""

import argparse
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time
import unittest
from concurrent.futures import ThreadPoolExecutor

ROOT = pathlib.Path(__file__).resolve().parent.parent
FLAGS = ["-std=c++20", f"-I{ROOT}/src", "-DFMT_SHARED"]
FINDING = re.compile(r"^(\S+:\d+:\d+: (?:warning|error): .*)$", re.MULTILINE)


def findings(file, folder=ROOT):
    """The findings of clang-tidy in one source, a line each. A source that it can't read is a finding, too."""
    ran = subprocess.run(["clang-tidy", "--quiet", f"--config-file={ROOT}/.clang-tidy", file, "--", *FLAGS], cwd=folder,
                         capture_output=True, text=True)
    found = FINDING.findall(ran.stdout)
    if ran.returncode and not found:
        found = [f"{file}: expected a source that clang-tidy reads, got: {ran.stderr.strip()[-300:]}"]
    return found


def changed(days, root=ROOT):
    """The sources below src/ that changed in the last days before HEAD, the newest first."""
    def git(*words):
        return subprocess.run(["git", *words], cwd=root, capture_output=True, text=True, check=True).stdout

    head = int(git("log", "-1", "--format=%ct"))
    names = git("diff", "--name-only", "HEAD").split("\n")
    names += git("log", f"--since={head - days * 24 * 3600}", "--name-only", "--format=").split("\n")
    sources = (name for name in dict.fromkeys(names) if name.startswith("src/") and name.endswith(".cpp"))
    return [name for name in sources if (pathlib.Path(root) / name).exists()]


def check(files, seconds):
    """Prints all findings, and returns how many there are."""
    begin, left, found = time.monotonic(), [], []

    def one(file):
        if time.monotonic() - begin > seconds:
            left.append(file)
            return []
        return findings(file)

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for lines in pool.map(one, files):
            found += lines
    found = sorted(set(found))  # a header's stand in each source that includes it
    print("".join(line + "\n" for line in found), end="")
    print(f"tidy: {len(found)} findings in {len(files) - len(left)} sources" +
          (f", {len(left)} older ones left out" if left else ""))
    return len(found)


class SelfTest(unittest.TestCase):
    def found_in(self, code):
        with tempfile.TemporaryDirectory() as folder:
            source = pathlib.Path(folder, "a.cpp")
            source.write_text(code, encoding="utf-8")
            return [re.search(r"\[([^],]+)", line).group(1) for line in findings(source, folder)]

    def test_findings(self):
        self.assertEqual(self.found_in("struct A { virtual void f() {} };\n"), [])
        self.assertEqual(self.found_in("struct A { virtual void f() {} };  struct B : A { void f() {} };\n"),
                         ["modernize-use-override"])
        self.assertEqual(self.found_in("int f(const int* p) { return ++*const_cast<int*>(p); }\n"),
                         ["cppcoreguidelines-pro-type-const-cast"])

    def test_a_source_that_cannot_be_read(self):
        self.assertEqual(self.found_in('#include "nowhere.h"\n'), ["clang-diagnostic-error"])

    def test_changed_sources(self):
        with tempfile.TemporaryDirectory() as root:
            def git(*words, date=None):
                env = dict(os.environ, GIT_COMMITTER_DATE=date or "", GIT_AUTHOR_DATE=date or "") if date else None
                subprocess.run(["git", "-c", "user.name=a", "-c", "user.email=a@b", *words], cwd=root, check=True,
                               capture_output=True, env=env)

            (pathlib.Path(root) / "src").mkdir()
            git("init")
            for number, day in enumerate((1, 20, 21)):
                pathlib.Path(root, f"src/{number}.cpp").write_text("int a;\n", encoding="utf-8")
                git("add", ".")
                git("commit", "-m", "a", date=f"2026-01-{day:02} 12:00:00 +0000")
            self.assertEqual(changed(2, root), ["src/2.cpp", "src/1.cpp"])
            self.assertEqual(changed(30, root), ["src/2.cpp", "src/1.cpp", "src/0.cpp"])
            pathlib.Path(root, "src/0.cpp").write_text("int b;\n", encoding="utf-8")
            self.assertEqual(changed(2, root), ["src/0.cpp", "src/2.cpp", "src/1.cpp"])


def main():
    if sys.argv[1:] == ["--self-test"]:
        return 0 if unittest.main(argv=sys.argv[:1], exit=False, verbosity=0).result.wasSuccessful() else 1
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("--since", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=240)
    parser.add_argument("files", nargs="*")
    args = parser.parse_args()
    return 1 if check(args.files or changed(args.since), float("inf") if args.files else args.seconds) else 0


if __name__ == "__main__":
    sys.exit(main())
