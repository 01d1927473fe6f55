#!/usr/bin/env python3
"""Runs the commands of README.md and docs/*.md as they stand there, and compares what they say of flags with the program;
what the results' pages say of flags with the scripts.

A page is run in a scratch folder of its own, from top to bottom:

    ```sh              runs by bash; a command that fails is a fault
    ```sh exit: N      runs by bash and ends with this exit code
    ```sh skip: why    is only shown: it needs hardware, hours or the network
    ```yaml FILE       is written to FILE (any language); without a name it is only shown
    ```                right below commands: what they print (both streams). A line "..." stands for any lines; times are not compared

`axle` is the program under test, `$PREFIX` an installation of its build, `$CHECKOUT` Axle's source, `corpus/` a folder of text. No command may stand
in a block of another kind. Every `axle VERB --flag` in the prose exists, and every flag of every verb is told of that verb: by a
command line, or in a paragraph, a row of a table or the paragraph that leads to a table where the verb is named (`eval`) or "every verb" is.

    check_docs.py --build build/release [PAGE...]     run pages (default: all)
    check_docs.py --build build/release --write PAGE  write what the commands print now into the blocks below them
    check_docs.py --build build/release --flags       compare flags
    check_docs.py --self-test

Ends with 77 where no plugin is there to run anything.
"""

import argparse
import difflib
import os
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent
FENCE = re.compile(r"^```([^\n]*)\n(.*?)^```\s*$", re.MULTILINE | re.DOTALL)
SPAN = re.compile(r"`(axle [^`\n]+)`")
SOURCE = re.compile(r"`((?:[a-z0-9_]+/)+[a-z0-9_]+\.(?:cpp|h|py|sh))`")
FUNCTIONS = re.compile(SOURCE.pattern + r"((?:,? (?:then )?`[\w:]+`)+)")
SCRIPT_SPAN = re.compile(r"`([^`\n]*bench/[\w/]+\.py[^`\n]*)`")
SCRIPT = re.compile(r"bench/[\w/]+\.py")
COMMAND_LINE = re.compile(r"(?:^|[\s`(])axle ((?:\\\n|[^\n|;&`])+)")
OPTION = re.compile(r"^  (-\S+)", re.MULTILINE)
FLAG = re.compile(r"(?<![\w-])--[a-z][a-z-]*")
COMMAND = re.compile(r"^(\$ )?(axle|\./dev|cmake) ", re.MULTILINE)
TIME = re.compile(r"\b\d+(\.\d+)?(e[+-]?\d+)? (ns|us|ms|s|min|h)\b")
BUILT_IN = {"--help", "--version"}


class Block:
    def __init__(self, page, line, info, text, begin, end):
        self.where = f"{page}:{line}"
        self.language, _, self.rest = info.strip().partition(" ")
        self.text = text
        self.begin, self.end = begin, end  # of the text in the page
        self.output = None  # the block of what these commands print

    @property
    def is_script(self):
        return self.language == "sh"

    @property
    def skipped(self):
        return self.rest.startswith("skip: ")

    @property
    def code(self):
        """The exit code of the commands; None for a block that says something else."""
        told = re.fullmatch(r"(?:exit: (\d+))?", self.rest)
        return int(told.group(1) or 0) if told else None


def blocks(page, text):
    out = []
    end = 0
    for match in FENCE.finditer(text):
        block = Block(page, text.count("\n", 0, match.start()) + 1, match.group(1), match.group(2), *match.span(2))
        is_output = not match.group(1).strip() and out and out[-1].is_script and not text[end:match.start()].strip()
        if is_output:
            out[-1].output = block
        out.append(block)
        end = match.end()
    return out


def shape_faults(block):
    """What is wrong with a block as it stands."""
    if block.is_script and block.code is None and not block.skipped:
        yield f"{block.where}: expected 'sh', 'sh exit: N' or 'sh skip: why', got 'sh {block.rest}'"
    if not block.is_script and not block.rest and COMMAND.search(block.text):
        yield f"{block.where}: expected commands in a block of 'sh', got one of '{block.language}'"


def run(command, folder, env, code=0):
    """What a command prints, and why it failed (None: it ended with the code)."""
    done = subprocess.run(["bash", "-euo", "pipefail", "-c", command], cwd=folder, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace")
    if done.returncode == code:
        return done.stdout, None
    return done.stdout, f"expected exit code {code}, got {done.returncode}\n{done.stdout[-6000:]}"


def is_output(told, printed):
    """Whether a block tells what was printed."""
    parts = TIME.sub("TIME", told).split("\n")
    pattern = "".join("(?:.*\n)*?" if part == "..." else re.escape(part) + "\n" for part in parts[:-1])
    return re.fullmatch(pattern, TIME.sub("TIME", printed)) is not None


def output_fault(block, printed):
    """None, or how the block below the commands differs from what they printed."""
    if block.output is None or is_output(block.output.text, printed):
        return None
    lines = [text.splitlines(keepends=True) for text in (block.output.text, printed)]
    return f"{block.output.where}: expected what the commands print\n" + "".join(difflib.unified_diff(*lines, "page", "printed", n=1))


def written(text, outputs):
    """The page with other outputs, in pairs of a block and what is printed."""
    for block, printed in reversed(outputs):
        text = text[: block.begin] + printed + text[block.end :]
    return text


def run_page(page, text, env, write_line=print, outputs=None):
    """The faults of a page; stops at the first block that fails, for the next ones build on it. Fills `outputs`, if it is a
    list, with blocks of outputs and what is printed, in place of the faults of these blocks."""
    found = [fault for block in blocks(page, text) for fault in shape_faults(block)]
    with tempfile.TemporaryDirectory() as folder:
        make_corpus(pathlib.Path(folder, "corpus"))
        # As a user has it: what one command has compiled, the next one takes from the cache, also the one of another page.
        env = {**env, "AXLE_COMPILE_CACHE": f"{env.get('AXLE_BUILD', folder)}/cache/docs"}
        if "$PREFIX" in text:
            env = {**env, "PREFIX": f"{folder}/prefix"}
            _, why = run(f"cmake --install {shlex.quote(env['AXLE_BUILD'])} --prefix {shlex.quote(env['PREFIX'])}", folder, env)
            if why:
                return found + [f"{page}: installation: {why}"]
        for block in blocks(page, text):
            if block.skipped:
                write_line(f"{block.where}: not run: {block.rest.removeprefix('skip: ')}")
            elif block.is_script:
                printed, why = run(block.text, folder, env, block.code or 0)
                differs = None if why else output_fault(block, printed)
                if differs and outputs is not None:
                    outputs.append((block.output, printed))
                elif differs:
                    found.append(differs)
                write_line(f"{block.where}: {'FAILED' if why else 'DIFFERS' if differs else 'ran'}")
                if why:
                    return found + [f"{block.where}: {block.text}{why}"]
            elif block.rest:
                pathlib.Path(folder, block.rest).write_text(block.text, encoding="utf-8")
    return found


def make_corpus(folder):
    """Some kilobytes of English."""
    folder.mkdir()
    lines = (ROOT / "LICENSE").read_text(encoding="utf-8")
    for i in range(4):
        (folder / f"part_{i}.txt").write_text(lines, encoding="utf-8")


class Program:
    """The verbs of the program and their flags, as its own help tells them."""

    def __init__(self, help_of):
        self.help_of = help_of
        self.flags = {}
        self.read(())

    def read(self, words):
        text = self.help_of(words)
        self.flags[words] = {flag for option in OPTION.findall(text) for flag in re.findall(r"--[a-z][a-z-]*", option)} | BUILT_IN
        _, found, listing = text.partition("Subcommands:")
        if found:
            for line in listing.splitlines():
                verb = re.match(r"  ([a-z][\w-]*)\s", line + " ")
                if verb:
                    self.read((*words, verb.group(1)))

    def verb_of(self, arguments):
        """The words that name a verb, at the start of a command line."""
        words = ()
        for argument in arguments:
            if (*words, argument) not in self.flags:
                break
            words = (*words, argument)
        return words


def verbs_named(text, program):
    """The verbs that code spans of the text begin with; all where it says "every verb"."""
    if re.search(r"every verb", text, re.IGNORECASE):
        return set(program.flags)
    spans = [span.removeprefix("axle ").split() for span in re.findall(r"`([^`]+)`", text)]
    return {program.verb_of(span) for span in spans} - {()}


def told_flags(text, program):
    """Pairs of a verb and a flag that a page tells of it."""
    for match in COMMAND_LINE.finditer(text):
        command = match.group(1).replace("\\\n", " ")
        for flag in FLAG.findall(command):
            yield program.verb_of(command.split()), flag
    leads = set()  # the verbs that the paragraph before a table names for all of it
    for paragraph in re.split(r"\n\s*\n", FENCE.sub("\n\n", text)):
        lines = paragraph.splitlines()
        prose = "\n".join(line for line in lines if not line.startswith("|"))
        named = verbs_named(prose, program)
        if prose.strip():
            leads = named if prose.rstrip().endswith(":") else set()
        for part, verbs in [(prose, named)] + [(row, leads | verbs_named(row, program)) for row in lines if row.startswith("|")]:
            for flag in FLAG.findall(part):
                yield from ((verb, flag) for verb in verbs)


def flag_faults(pages, program):
    """Flags that pages give to verbs that lack them, and flags that no page tells of their verb."""
    told = set()
    for page, text in pages.items():
        told |= set(told_flags(text, program))
        for match in SPAN.finditer(text):
            words = match.group(1).replace("\\|", "|").split()[1:]
            verb = program.verb_of(words)
            if words and not verb and re.fullmatch(r"[a-z][\w-]*", words[0]):
                yield f"{page}: no such verb: {match.group(1)}"
            for flag in FLAG.findall(match.group(1)):
                if flag not in program.flags[verb]:
                    yield f"{page}: no such flag: {flag} in '{match.group(1)}'"
    for verb, flags in program.flags.items():
        for flag in sorted(flags - BUILT_IN):
            if (verb, flag) not in told:
                yield f"axle {' '.join(verb)}: no page tells of {flag}"


def script_faults(pages, source_of):
    """Scripts of bench/ that pages run and that are not there, and flags that they lack."""
    for page, text in pages.items():
        for span in SCRIPT_SPAN.findall(text):
            scripts = SCRIPT.findall(span)
            sources = [source_of(script) for script in scripts]
            for script in [script for script, source in zip(scripts, sources) if source is None]:
                yield f"{page}: no such script: {script}"
            known = {flag for source in sources if source for flag in re.findall(r'"(--[a-z-]+)"', source)}
            for flag in FLAG.findall(span):
                if flag not in known:
                    yield f"{page}: no such flag: {flag} in '{span}'"


def source_faults(pages, exists):
    """Source files that pages name and that are not there. A path starts at the root or at src/."""
    for page, text in pages.items():
        for path in SOURCE.findall(text):
            if not exists(path) and not exists("src/" + path):
                yield f"{page}: no such file: {path}"


def function_faults(pages, source_of):
    """Functions that pages name behind a source file of src/ (`a/b.cpp` `f`, then `g`) and that the file does not define."""
    for page, text in pages.items():
        for path, names in FUNCTIONS.findall(text):
            source = source_of("src/" + path) or ""
            for name in re.findall(r"(\w+)`", names):
                if not re.search(rf"^(?![/#\s])(?:[^({{]*[\s*&:])?{name}\(", source, re.MULTILINE):
                    yield f"{page}: no function {name} in {path}"


def results_pages():
    return [ROOT / "bench/RESULTS.md", ROOT / "bench/peers/README.md"]


def all_pages():
    return [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


def environment(build):
    env = {**os.environ, "AXLE_BUILD": str(build), "CHECKOUT": str(ROOT), "PATH": f"{build}:{os.environ['PATH']}"}
    own = ROOT / "tools/plugins/cpu.txt"
    if "AXLE_PLUGIN_CPU" not in env:
        name = next(line.removeprefix("# file: ") for line in own.read_text().splitlines() if line.startswith("# file: "))
        env["AXLE_PLUGIN_CPU"] = str(ROOT / ".axle/plugins" / name)
    return env if pathlib.Path(env["AXLE_PLUGIN_CPU"]).is_file() else None


class SelfTest(unittest.TestCase):
    def page(self, text):
        lines = []
        return run_page("p.md", text, dict(os.environ), lines.append), lines

    def test_blocks_run_in_order_and_see_files(self):
        text = "```yaml a.yaml\nx: 1\n```\ntext\n```sh\ngrep -q x a.yaml; ls corpus\n```\n"
        self.assertEqual(self.page(text), ([], ["p.md:5: ran"]))

    def test_a_failing_command_is_a_fault(self):
        faults, _ = self.page("```sh\nfalse\ntrue\n```\n")
        self.assertIn("expected exit code 0, got 1", faults[0])

    def test_what_is_skipped_is_said(self):
        self.assertEqual(self.page("```sh skip: needs a TPU\nfalse\n```\n"), ([], ["p.md:1: not run: needs a TPU"]))

    def test_commands_may_fail_as_told(self):
        self.assertEqual(self.page("```sh exit: 3\nexit 3\n```\n")[0], [])
        self.assertIn("expected exit code 3, got 0", self.page("```sh exit: 3\ntrue\n```\n")[0][0])

    def outputs(self, commands, told):
        return self.page(f"```sh\n{commands}\n```\n\n```\n{told}```\n")[0]

    def test_outputs_are_compared(self):
        self.assertEqual(self.outputs("echo a; echo b >&2", "a\nb\n"), [])
        self.assertIn("p.md:5: expected what the commands print", self.outputs("echo a; echo b", "a\nc\n")[0])
        self.assertIn("-c\n+b\n", self.outputs("echo a; echo b", "a\nc\n")[0])
        for told in ["a\n", "a\nb\nc\n", "", "A\nb\n", "a.\nb\n"]:
            self.assertEqual(len(self.outputs("echo a; echo b", told)), 1, told)

    def test_some_lines_may_be_left_out(self):
        for told in ["...\n5\n", "1\n...\n5\n", "1\n...\n", "1\n2\n...\n3\n4\n5\n"]:
            self.assertEqual(self.outputs("seq 5", told), [], told)
        for told in ["...\n6\n", "...\n4\n", "1\n...\n3\n5\n"]:
            self.assertEqual(len(self.outputs("seq 5", told)), 1, told)

    def test_times_are_not_compared(self):
        self.assertEqual(self.outputs("echo compiled 3 steps in 1.5 s, 20 ms each", "compiled 3 steps in 2.75 s, 1.5e+03 us each\n"), [])
        self.assertEqual(len(self.outputs("echo 1.5 steps", "2.5 steps\n")), 1)

    def test_a_block_below_text_is_no_output(self):
        self.assertEqual(self.page("```sh\necho a\n```\ntext\n```\nb\n```\n")[0], [])

    def test_outputs_are_written(self):
        text, outputs = "```sh\necho a\n```\n```\nb\nb\n```\n```sh\necho c\n```\n```\nd\n```\n", []
        self.assertEqual(run_page("p.md", text, dict(os.environ), lambda line: None, outputs), [])
        self.assertEqual(written(text, outputs), "```sh\necho a\n```\n```\na\n```\n```sh\necho c\n```\n```\nc\n```\n")

    def test_commands_elsewhere_are_faults(self):
        self.assertEqual(len(self.page("```\naxle train quickstart\n```\n")[0]), 1)
        self.assertEqual(len(self.page("```sh slow\ntrue\n```\n")[0]), 1)
        self.assertEqual(self.page("```\nloss: 1\n```\n")[0], [])

    def flags(self, text):
        helps = {
            (): "Options:\n  -h,--help\n\nSubcommands:\n  train                     Train\n  eval                      Evaluate\n",
            ("train",): "Options:\n  --steps N    Steps, see --data of others\n  --seed N\n",
            ("eval",): "Options:\n",
        }
        return list(flag_faults({"p.md": text}, Program(helps.__getitem__)))

    def test_flags_exist_and_are_told(self):
        both = "`train`: `--seed`, `--steps`\n\n"
        self.assertEqual(self.flags(both), [])
        self.assertEqual(self.flags(both + "`axle train --stpes 3`"), ["p.md: no such flag: --stpes in 'axle train --stpes 3'"])
        self.assertEqual(self.flags(both + "`axle trian`"), ["p.md: no such verb: axle trian"])

    def test_flags_are_told_of_their_verb(self):
        missing = ["axle train: no page tells of --seed"]
        self.assertEqual(self.flags("`axle train --steps 3`"), missing)
        self.assertEqual(self.flags("```sh\naxle train \\\n  --steps 3 --seed 1\n```\n"), [])
        # Of another verb, and of none.
        self.assertEqual(self.flags("`axle train --steps 3`\n\nFlags of `eval`: `--seed`"), missing)
        self.assertEqual(self.flags("`axle train --steps 3`\n\n`--seed`"), missing)
        self.assertEqual(self.flags("```sh\naxle train --steps 3 | cat --seed\n```\n"), missing)
        self.assertEqual(self.flags("`axle train --steps 3`\n\nEvery verb takes `--seed`"), [])
        table = "|---|---|\n| `--steps N` | |\n| `--seed N` | |\n"
        self.assertEqual(self.flags("Flags of `train`:\n\n" + table), [])
        self.assertEqual(len(self.flags("Of `train` there is much to say.\n\n" + table)), 2)
        self.assertEqual(self.flags("| `--steps` of `train` | |\n| `--seed` | |\n"), missing)

    def test_flags_of_scripts_exist(self):
        def faults(text):
            return list(script_faults({"p.md": text}, {"bench/a.py": 'add_argument("--size")'}.get))

        self.assertEqual(faults("`bench/a.py --size s`, `python bench/a.py`"), [])
        self.assertEqual(faults("`bench/a.py --siez s`"), ["p.md: no such flag: --siez in 'bench/a.py --siez s'"])
        self.assertEqual(faults("`bench/b.py`"), ["p.md: no such script: bench/b.py"])

    def test_source_files_exist(self):
        def faults(text):
            return list(source_faults({"p.md": text}, {"src/data/packing.cpp", "tools/x.py"}.__contains__))

        self.assertEqual(faults("`data/packing.cpp`, `src/data/packing.cpp`, `tools/x.py`, `a.cpp`"), [])
        self.assertEqual(faults("`data/pack.cpp`"), ["p.md: no such file: data/pack.cpp"])

    def test_functions_are_in_their_files(self):
        sources = {"src/a/b.cpp": "A::A(int x)\n    : y(f(x)) {}\n// g(1)\nint* h(int x) {\n  g(x);\n}\n"}

        def faults(text):
            return list(function_faults({"p.md": text}, sources.get))

        self.assertEqual(faults("`a/b.cpp` `A`, then `h` with `a/b.cpp` `h`, and `a/b.cpp` does `f`"), [])
        self.assertEqual(faults("`a/b.cpp` `h`, then `g`"), ["p.md: no function g in a/b.cpp"])
        self.assertEqual(faults("`a/b.cpp` `f`"), ["p.md: no function f in a/b.cpp"])
        self.assertEqual(faults("`a/c.cpp` `h`"), ["p.md: no function h in a/c.cpp"])


def main():
    if sys.argv[1:] == ["--self-test"]:
        return 0 if unittest.main(argv=sys.argv[:1], exit=False, verbosity=0).result.wasSuccessful() else 1
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", type=pathlib.Path, required=True)
    parser.add_argument("--flags", action="store_true")
    parser.add_argument("--write", action="store_true")
    parser.add_argument("pages", nargs="*", type=pathlib.Path)
    options = parser.parse_args()
    build = options.build.resolve()
    if options.flags:
        def help_of(words):
            return subprocess.run([build / "axle", *words, "--help"], capture_output=True, text=True, check=True).stdout

        pages = {str(page.relative_to(ROOT)): page.read_text(encoding="utf-8") for page in all_pages()}
        found = list(flag_faults(pages, Program(help_of)))
        results = {str(page.relative_to(ROOT)): page.read_text(encoding="utf-8") for page in results_pages()}

        def source_of(script):
            path = ROOT / script
            return path.read_text(encoding="utf-8") if path.is_file() else None

        found += script_faults(results, source_of)
        found += source_faults({**pages, **results}, lambda path: (ROOT / path).exists())
        found += function_faults(pages, source_of)
    else:
        env = environment(build)
        if not env:
            print("skipped: no cpu plugin: run `axle plugin fetch cpu`")  # as testing/needs_plugin.h says it
            return 77
        found = []
        for page in options.pages or all_pages():
            text, outputs = page.read_text(encoding="utf-8"), [] if options.write else None
            found += run_page(page.name, text, env, outputs=outputs)
            if outputs:
                page.write_text(written(text, outputs), encoding="utf-8")
    print("\n".join([*found, f"docs: {len(found)} faults"]))
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
