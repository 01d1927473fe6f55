#!/usr/bin/env python3
"""Checks docs/how_it_works.md: its words, its picture of the house, and its walks. A debugger runs each walk: each function of its
table is reached after the one before it, in the file that the page names, and the page names what is on the way.

A walk is a section of the page. Its named blocks are written to a scratch folder. The last line of its `sh` block runs in gdb. Each
row of its table names hops: files, each with its functions. The debugger stops where the first hop is entered, then where the
second one is entered, and so on. What is on the stack then and was not at the hop before is on the way. It has a row, or the
text of the section or of the page's `## On every walk` names its file, or a folder that it is in.

    check_walks.py --build build/release            check the page
    check_walks.py --build build/release --show     print the hops and what is on the way
    check_walks.py --self-test

Ends with 77 where gdb or a plugin is missing, or gdb may not start a program.
"""

import argparse
import json
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import unittest

import check_docs
import check_floors

PAGE = check_docs.ROOT / "docs/how_it_works.md"
SECTION = re.compile(r"^## ([^\n]*)\n(.*?)(?=^## |\Z)", re.MULTILINE | re.DOTALL)
ROW = re.compile(r"^\| *\d+ *\|([^|]*)\|", re.MULTILINE)
NAMED = re.compile(r"`((?:[a-z0-9_]+/)+(?:[a-z0-9_]+\.(?:cpp|h))?)`")  # a file, or a folder with a slash at its end
MOST_WORDS = 900


def hops_of(table):
    """The hops of a table: pairs of a file below src/ and a function."""
    out = []
    for cell in ROW.findall(table):
        for path, names in check_docs.FUNCTIONS.findall(cell):
            out += [(path, name) for name in re.findall(r"`([\w:]+)`", names)]
    return out


def walks_of(text):
    """Title -> the section of each walk, and the section that holds for all of them."""
    sections = dict(SECTION.findall(text))
    common = sections.pop("On every walk", "")
    return {title: body for title, body in sections.items() if hops_of(body)}, common


def on_the_way(before, stack):
    """The functions of the program that are on a stack, outermost first, and were not on the one before; without the last."""
    known = 0
    while known < min(len(before), len(stack)) and before[known] == stack[known]:
        known += 1
    return [(path, name) for path, name, _ in stack[known:-1]]


def is_named(path, named):
    return path in named or any(path.startswith(folder) for folder in named if folder.endswith("/"))


def is_hop(path, function, hops):
    """True for a function of the table, and for a lambda in a file of the table."""
    name = re.sub(r"<.*|\(.*", "", function)
    return any(path == file and (name == hop or name.endswith("::" + hop) or function.startswith("operator()"))
               for file, hop in hops)


def walk_faults(title, hops, stacks, named):
    """What is wrong with a walk. `stacks`: for each hop that was reached, (file, function, line) of each frame, outermost first.

    `named`: files and folders that the page names beside the table. What is on the way in another file has a row.
    """
    before = []
    for number, (path, name) in enumerate(hops):
        if number >= len(stacks):
            after = f"after `{hops[number - 1][1]}`" if number else "in this run"
            yield f"{title}: expected that `{name}` of {path} is reached {after}; it is not"
            return
        unnamed = {}  # file -> its first function
        for file, function in on_the_way(before, stacks[number]):
            if not is_named(file, named) and not is_hop(file, function, hops):
                unnamed.setdefault(file, function.partition("(")[0])
        for file, function in unnamed.items():
            yield f"{title}: on the way to `{name}` is `{function}` of {file}; expected a row for it, or that the text names the file"
        before = stacks[number]


def house_faults(text, floors, beside):
    """Where the picture of the house differs from the floors of tools/check_floors.py; the folders `beside` have no row."""
    picture = re.search(r"^```text\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    rows = [re.split(r"  +", line.strip())[:-1] for line in picture.group(1).splitlines()] if picture else []
    expected = [sorted(name for name in floors if floors[name] == floor and name not in beside)
                for floor in sorted(set(floors.values()), reverse=True)]
    if [sorted(row) for row in rows] != expected:
        yield f"the house: expected the rows {expected}, got {rows}"


def words_fault(text):
    """A fault if the page is longer than its readers' patience."""
    words = len(text.split())
    return [f"expected at most {MOST_WORDS} words, got {words}"] if words > MOST_WORDS else []


# Runs inside of gdb. Its one argument is a file with the hops; it writes the stacks there.
INSIDE = r"""
import gdb, json, re, sys

def execute(line):
    return gdb.execute(line, to_string=True)

for setting in ("pagination off", "confirm off", "width 0", "breakpoint pending on", "debuginfod enabled off"):
    execute("set " + setting)
has_ended = []
gdb.events.exited.connect(has_ended.append)
# The program may start itself once more (huge pages). run_cli is entered only by the one that stays.
gdb.Breakpoint("axle::run_cli", temporary=True)
execute("run")

def path_of(sal):
    name = sal.symtab.filename if sal and sal.symtab else ""
    return name.rpartition("src/")[2] if "src/" in name else None

def stack():
    frames, frame = [], gdb.newest_frame()
    while frame is not None:
        sal = frame.find_sal()
        if path_of(sal):
            frames.append((path_of(sal), frame.name(), sal.line))
        frame = frame.older()
    return frames[::-1]

# Where functions are entered. A debugger's own breakpoints come after what constructors call for their members.
def entries(path, name):
    for sal in gdb.decode_line(name)[1] or ():
        symbol = re.match(r"(.*?)(?: \+ (\d+))? in section", execute(f"info symbol {sal.pc}"))
        if path_of(sal) == path and symbol and name.rpartition("::")[2] in symbol.group(1):
            yield sal.pc - int(symbol.group(2) or 0)

with open(HOPS) as file:
    hops = json.load(file)
stacks = []
for path, name in hops:
    try:
        breakpoints = [gdb.Breakpoint(f"*{pc}") for pc in sorted(set(entries(path, name)))]
    except gdb.error:
        break
    if not breakpoints or has_ended:
        break
    execute("continue")
    if has_ended:
        break
    stacks.append(stack())
    for breakpoint in breakpoints:
        breakpoint.delete()
with open(HOPS, "w") as file:
    json.dump(stacks, file)
if not has_ended:
    execute("kill")
"""


def run_walk(section, hops, env):
    """The stacks at the hops that a walk's command reaches, and what the debugger printed."""
    with tempfile.TemporaryDirectory() as folder:
        check_docs.make_corpus(pathlib.Path(folder, "corpus"))
        command = None
        for block in check_docs.blocks(PAGE.name, section):
            if block.is_script:
                command = shlex.split(block.text.strip().splitlines()[-1], comments=True)
            elif block.rest:
                pathlib.Path(folder, block.rest).write_text(block.text, encoding="utf-8")
        stacks, script = pathlib.Path(folder, "hops.json"), pathlib.Path(folder, "inside.py")
        stacks.write_text(json.dumps(hops), encoding="utf-8")
        script.write_text(f"HOPS = {str(stacks)!r}\n{INSIDE}", encoding="utf-8")
        program = shutil.which(command[0], path=env["PATH"])
        done = subprocess.run(["gdb", "-nx", "-q", "-batch", "-x", script, "--args", program, *command[1:]], cwd=folder,
                              env={**env, "AXLE_COMPILE_CACHE": f"{folder}/cache"}, capture_output=True, text=True, errors="replace")
        found = json.loads(stacks.read_text(encoding="utf-8"))
        return (found if not found or isinstance(found[0][0], list) else []), done.stdout + done.stderr


def show(title, hops, stacks, write_line=print):
    before = []
    for (path, name), stack in zip(hops, stacks):
        for file, function in on_the_way(before, stack):
            write_line(f"      {file} {function[:90]}")
        write_line(f"{title}: {path} {name}")
        before = stack


class SelfTest(unittest.TestCase):
    HOPS = [("a/b.cpp", "f"), ("a/c.cpp", "C::g")]
    STACKS = [[("m/main.cpp", "main", 1), ("a/b.cpp", "f", 2)],
              [("m/main.cpp", "main", 1), ("a/b.cpp", "f", 7), ("a/d.h", "h", 3), ("a/c.cpp", "C::g", 9)]]

    def faults(self, stacks, named):
        return list(walk_faults("walk", self.HOPS, stacks, named))

    def test_tables_are_read(self):
        text = "## A\n| 1 | `a/b.cpp` `f` | x |\n| 2 | `a/c.cpp` `C::g`, `h`, `a/d.h` `i` | y |\n## On every walk\n`m/`\n## No walk\n"
        walks, common = walks_of(text)
        self.assertEqual(list(walks), ["A"])
        self.assertEqual(hops_of(walks["A"]), [*self.HOPS, ("a/c.cpp", "h"), ("a/d.h", "i")])
        self.assertEqual(set(NAMED.findall(common)), {"m/"})

    def test_a_walk_whose_files_are_named_is_right(self):
        self.assertEqual(self.faults(self.STACKS, {"m/main.cpp", "a/d.h"}), [])
        self.assertEqual(self.faults(self.STACKS, {"m/", "a/"}), [])

    def test_a_file_on_the_way_that_is_not_named_is_a_fault(self):
        self.assertEqual(len(self.faults(self.STACKS, {"m/", "a/b.cpp"})), 1)
        self.assertIn("`h` of a/d.h", self.faults(self.STACKS, {"m/", "a/b.cpp"})[0])

    def test_a_hop_that_is_not_reached_is_a_fault(self):
        self.assertIn("`C::g` of a/c.cpp is reached after `f`", self.faults(self.STACKS[:1], {"m/", "a/"})[0])
        self.assertIn("`f` of a/b.cpp is reached in this run", self.faults([], {"m/", "a/"})[0])

    def test_the_house_has_the_floors(self):
        floors = {"base": 0, "ir": 1, "config": 1, "testing": 1}
        house = "```text\nconfig  ir   trees; graphs\nbase         text\n```\n"
        self.assertEqual(list(house_faults(house, floors, {"testing"})), [])
        for other in [house.replace("config", "con"), house.replace("  ir", ""), ""]:
            self.assertEqual(len(list(house_faults(other, floors, {"testing"}))), 1, other)

    def test_long_pages_are_faults(self):
        self.assertEqual(words_fault("word " * 900), [])
        self.assertEqual(len(words_fault("word " * 901)), 1)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, default=check_docs.ROOT / "build/release")
    parser.add_argument("--show", action="store_true")
    parser.add_argument("--self-test", action="store_true")
    arguments = parser.parse_args()
    if arguments.self_test:
        return unittest.main(argv=[sys.argv[0]])
    env = check_docs.environment(arguments.build.resolve())
    if env is None or not shutil.which("gdb"):
        print("walks: not run: " + ("no plugin; ./dev quickstart fetches it" if env is None else "no gdb"))
        return 77
    text = PAGE.read_text(encoding="utf-8")
    walks, common = walks_of(text)
    beside = {"testing", *check_floors.BESIDE}
    faults = words_fault(text) + list(house_faults(text, check_floors.FLOORS, beside))
    faults += [] if len(walks) >= 2 else ["expected two walks or more"]
    for title, section in walks.items():
        hops = hops_of(section)
        stacks, printed = run_walk(section, hops, env)
        if "ptrace: Operation not permitted" in printed:
            print("walks: not run: this machine lets no debugger start a program (ptrace)")
            return 77
        if arguments.show:
            show(title, hops, stacks)
        found = list(walk_faults(title, hops, stacks, set(NAMED.findall(re.sub(r"(?m)^\|.*$", "", section) + common))))
        faults += found
        if found and not stacks:
            faults.append(printed[-2000:])
    for fault in faults:
        print(f"docs/{PAGE.name}: {fault}")
    print(f"walks: {len(faults)} faults")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
