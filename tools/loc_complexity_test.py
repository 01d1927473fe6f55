#!/usr/bin/env python3
"""Tests of tools/loc_complexity: its scorer, its fits, its worlds, and that a feature which edits an existing line fails.

AXLE_BUILD names a build folder of Axle: with it, small worlds are built and run, one of them with a feature that does not
compile and one with a feature that does nothing. Without it these tests are skipped.
"""

import contextlib
import dataclasses
import importlib.machinery
import importlib.util
import io
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

TOOLS = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(TOOLS / "loc"))
sys.dont_write_bytecode = True

import features
import growth
import history
import measure
import parts
import peers
import report
import split
import variants
import world

SIZES = ((2, 2), (4, 2), (2, 4), (5, 4))


def command():
    """The command as a module."""
    loader = importlib.machinery.SourceFileLoader("loc_complexity", str(TOOLS / "loc_complexity"))
    spec = importlib.util.spec_from_loader("loc_complexity", loader)
    module = importlib.util.module_from_spec(spec)
    loader.exec_module(module)
    return module


def run_command(*arguments):
    """The exit code and what the command prints."""
    out, before = io.StringIO(), sys.argv
    sys.argv = ["loc_complexity", *arguments]
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):
            return command().main(), out.getvalue()
    finally:
        sys.argv = before


class Growth(unittest.TestCase):
    def test_every_shape_is_found(self):
        for name, shape in growth.SHAPES:
            values = {size: 3 + 2 * shape(*size) for size in SIZES}
            self.assertEqual(growth.fit(values), name)
        self.assertEqual(growth.fit({size: 0 for size in SIZES}), "O(1)")

    def test_times_with_noise(self):
        noise = (1.1, 0.95, 1.03, 0.9, 1.05)
        values = {size: 2e-6 * size[0] * size[1] * n for size, n in zip(measure.CI_SIZES, noise)}
        self.assertEqual(growth.fit(values), "O(NM)")

    def test_sizes_that_tell_nothing_are_refused(self):
        with self.assertRaisesRegex(ValueError, "at least four sizes"):
            growth.fit({(2, 2): 1, (4, 2): 1, (6, 2): 1, (8, 2): 1})


class Variants(unittest.TestCase):
    def test_a_thousand_classes_differ_in_structure(self):
        for make, number in ((variants.model_class, 900), (variants.attention_class, 100)):
            bodies = {re.sub(r"//.*|\d{4}|of the models|of attention", "", make(index)) for index in range(number)}
            self.assertEqual(len(bodies), number)

    def test_the_first_classes_have_every_trait(self):
        for table, number in ((variants.MODEL_TRAITS, 20), (variants.ATTENTION_TRAITS, 10)):
            chosen = [variants.traits(table, index) for index in range(number)]
            for name, choices in table.items():
                self.assertEqual({c[name] for c in chosen}, set(choices), name)

    def test_indices_end(self):
        with self.assertRaisesRegex(ValueError, "expected an index below"):
            variants.attention_class(10**6)

    def test_the_writer_knows_every_slot(self):
        for index in range(40):
            text = variants.model_class(index)
            slots = set(re.findall(r"Child<\w+> (\w+) =", text))
            self.assertEqual(set(parts.Parts().model(index, 0)) - {"class"}, slots)
            slots = set(re.findall(r"Child<\w+> (\w+) =", variants.attention_class(index)))
            self.assertEqual(set(parts.Parts().attention(index, 0)) - {"class"}, slots)


class Features(unittest.TestCase):
    ASKED = ["rope_linear", "rope_ntk", "rope_llama3", "rope_yarn", "moe_switch", "moe_top2", "moe_topk", "qk_norm", "lora", "fp8",
             "ternary_product", "sliding_window", "adabelief", "dynamic_tanh", "relu_attention", "head_major_cache", "kv_sharing", "cross_layer_attention"]

    def test_the_list_is_whole(self):
        self.assertEqual([feature.name for feature in features.FEATURES], self.ASKED)
        self.assertEqual({path.name for path in features.FOLDER.iterdir() if path.is_dir()}, set(self.ASKED))

    def test_twins_are_written_without_the_modifier_and_differ(self):
        pairs = world.all_pairs(3, 3)
        base = parts.world(parts.Parts(), pairs)
        for feature in features.FEATURES:
            self.assertNotEqual(parts.world(feature.twin(), pairs), base, feature.name)

    def test_no_listed_feature_edits(self):
        self.assertTrue(all(not feature.edits for feature in features.FEATURES))


class Diffs(unittest.TestCase):
    def rows(self, chosen):
        with tempfile.TemporaryDirectory() as folder:
            return measure.measure_diffs(folder, SIZES, chosen)

    def test_new_files_cost_nothing(self):
        rows = self.rows([features.FEATURES[0]])
        self.assertEqual(set(rows[0].existing.values()), {0})
        self.assertGreater(rows[0].new, 5)
        self.assertEqual(list(measure.faults(rows)), [])

    def test_edits_of_every_class_are_counted_and_grow(self):
        by_class = {row.what: row for row in self.rows(features.CONTROLS)}
        rope = by_class["RoPE, linear, written into every attention class"]
        self.assertEqual(rope.existing, {size: size[1] for size in SIZES})
        self.assertEqual(rope.grows, "O(M)")
        faults = list(measure.faults([rope]))
        self.assertEqual(len(faults), 1)
        self.assertIn("rope_linear: expected no line changed in existing files, got 4 in a world of 5 models and 4", faults[0])
        self.assertIn("(O(M)): attention/Attention0000.cpp", faults[0])

    def test_a_long_modifier_is_a_fault(self):
        row = dataclasses.replace(self.rows([features.FEATURES[0]])[0], modifier=4)
        self.assertEqual(list(measure.faults([row])), ["rope_linear: expected a modifier of at most 3 lines, got 4"])

    def test_the_plot_and_the_table_show_them(self):
        rows, controls = self.rows(features.FEATURES[:2]), self.rows(features.CONTROLS[:1])
        self.assertIn("| RoPE, linear | 0 | O(1) | 2 | 10 |", report.table(rows, timed=False))
        plot = report.plot(rows, controls)
        self.assertIn("2 features with a modifier", plot)
        self.assertIn("O(M)", plot)


class Command(unittest.TestCase):
    SIZE_FLAGS = ["--sizes", *(f"{n}x{m}" for n, m in SIZES)]

    def test_a_feature_that_edits_an_existing_file_fails(self):
        listed = features.FEATURES
        self.addCleanup(setattr, features, "FEATURES", listed)
        self.assertEqual(run_command("worlds", "--diffs", "--only", "dynamic_tanh", *self.SIZE_FLAGS)[0], 0)
        features.FEATURES = [features.CONTROLS[-1]]
        code, text = run_command("worlds", "--diffs", "--only", "dynamic_tanh", *self.SIZE_FLAGS)
        self.assertEqual(code, 1)
        self.assertRegex(text, r"dynamic_tanh: expected no line changed in existing files, got \d+ in a world of 5 models")

    def test_peers_prints_what_is_stored(self):
        code, text = run_command("peers")
        self.assertEqual(code, 0)
        self.assertEqual(text.count("\n"), 2 + len(peers.stored()))


@unittest.skipUnless(os.environ.get("AXLE_BUILD"), "AXLE_BUILD names no build folder of Axle")
class Built(unittest.TestCase):
    """The check of the check: worlds that are built and run fail for a feature that is wrong."""

    LORA = next(feature for feature in features.FEATURES if feature.name == "lora")

    @classmethod
    def setUpClass(cls):
        scratch = tempfile.TemporaryDirectory()
        cls.addClassCleanup(scratch.cleanup)
        cls.work = pathlib.Path(scratch.name)
        subprocess.run(["cmake", "--install", os.environ["AXLE_BUILD"], "--prefix", str(cls.work / "prefix")], check=True, stdout=subprocess.DEVNULL)

    def run_with_lora(self, text):
        """The exit code and the output for worlds with a feature `lora` of this source."""
        (self.work / "features/lora").mkdir(parents=True, exist_ok=True)
        (self.work / "features/lora/lora.cpp").write_text(text, encoding="utf-8")
        self.addCleanup(setattr, features, "FEATURES", features.FEATURES)
        features.FEATURES = [dataclasses.replace(self.LORA, folder=self.work / "features")]
        return run_command("worlds", "--prefix", str(self.work / "prefix"), "--work", str(self.work / "world"), "--unity", "8",
                           "--sizes", "1x1", "2x1", "1x2", "2x2")

    def test_faults_of_a_feature(self):
        source = (self.LORA.folder / "lora/lora.cpp").read_text(encoding="utf-8")
        code, text = self.run_with_lora(source)
        self.assertEqual(code, 0, text)
        code, text = self.run_with_lora(source + "#error LoRA is broken\n")
        self.assertEqual(code, 1, text)
        self.assertIn("LoRA is broken", text)
        idle = re.sub(r"\{ modify_each\(.*?\); \}", "{ (void)world; }", source)
        self.assertNotEqual(idle, source)
        code, text = self.run_with_lora(idle)
        self.assertEqual(code, 1, text)
        self.assertRegex(text, "lora, world of . experiments?: .* expected the config of its twin|expected some experiment to change, got none")


class Page(unittest.TestCase):
    """docs/loc_complexity.md against what the tool has stored and knows."""

    PAGE = (TOOLS.parent / "docs/loc_complexity.md").read_text(encoding="utf-8")

    def test_rows_of_peers(self):
        self.assertIn(peers.table(peers.stored()), self.PAGE)

    def test_every_feature_has_a_time(self):
        timed = self.PAGE.split("## Times")[1].split("\n## ")[0]
        number, ms = r"[\d,]+", r"[\d.]+ ms"
        for feature in features.FEATURES:
            row = rf"^\| {re.escape(feature.what)} \| 0 \| O\(1\) \| \d+ \| \d+ \| {number} \| {ms} \| {ms} \| O\("
            self.assertRegex(timed, re.compile(row, re.M))


class Results(unittest.TestCase):
    """What the program of a world prints, read."""

    FEATURE = features.FEATURES[0]

    PAIRS = world.all_pairs(2, 2)

    def applied(self, *lines):
        head = [["modules", "rope_linear", "40"], ["seconds", "rope_linear", "0.001"], ["config", "another", "a", "other features do not count"]]
        return world.read_applied(self.FEATURE, self.PAIRS, head + [list(line) for line in lines])

    def compared(self, *lines):
        return world.read_compared(self.FEATURE, self.applied(("unchanged", "rope_linear", "b")), lines)

    def test_equal_numbers(self):
        applied = self.applied(("unchanged", "rope_linear", "b"))
        self.assertEqual((applied.modules, applied.changed, applied.idle), (40, 3, {"b"}))
        rows = (("numbers", "rope_linear", "a", "7", "", "step/loss"), ("numbers", "rope_linear", "b", "7", "", ""))
        self.assertEqual(self.compared(*rows, ("numbers", "another", "a", "7", "step/loss", "")), (2, 14))

    def test_other_numbers_than_the_twin(self):
        with self.assertRaisesRegex(world.WorldError, "a: expected the numbers of its twin, got others: step/loss"):
            self.compared(("numbers", "rope_linear", "a", "7", "step/loss", "step/loss"))

    def test_another_config_than_the_twin(self):
        with self.assertRaisesRegex(world.WorldError, "a: expected the config of its twin, got x: 1 -> 2"):
            self.applied(("config", "rope_linear", "a", "x: 1 -> 2"))

    def test_a_feature_without_effect(self):
        with self.assertRaisesRegex(world.WorldError, "expected other numbers than without the feature"):
            self.compared(("numbers", "rope_linear", "a", "7", "", ""))
        with self.assertRaisesRegex(world.WorldError, "expected some experiment to change, got none"):
            self.applied(*(("unchanged", "rope_linear", name) for name in "abcd"))

    def test_very_large_worlds_have_each_class(self):
        pairs = measure.experiments(900, 100)
        self.assertEqual(({n for n, _ in pairs}, {m for _, m in pairs}, len(pairs)), (set(range(900)), set(range(100)), 900))
        self.assertEqual(len(measure.experiments(40, 50)), 2000)
        self.assertEqual(len(measure.experiments(200, 50)), 200)

    def test_equal_op_counts(self):
        self.assertEqual(world.check_op_counts([["ops", "a", "add 1"], ["ops", "b", "add 2"]]), 2)
        with self.assertRaisesRegex(world.WorldError, "b: expected op counts of its own, got those of a"):
            world.check_op_counts([["ops", "a", "add 1"], ["ops", "b", "add 1"]])


class Repository(unittest.TestCase):
    """A repository of its own for each test."""

    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.root = pathlib.Path(scratch.name)
        self.git("init", "--quiet", "--initial-branch=main")
        self.commit("start", {"a.h": "// A.\nint f(int x);\n\nint g();\n", "a.cpp": "int f(int x) { return x; }\n",
                              "m.py": PYTHON, "conf.yml": "rope: 1\n", "doc.md": "text\n"})

    def git(self, *arguments):
        """What git prints."""
        environment = {**os.environ, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull}
        return subprocess.run(["git", *world.AUTHOR, *arguments], cwd=self.root, env=environment, check=True, capture_output=True, text=True).stdout

    def commit(self, subject, files):
        for path, text in files.items():
            (self.root / path).parent.mkdir(parents=True, exist_ok=True)
            (self.root / path).write_text(text, encoding="utf-8")
        self.git("add", "--all")
        self.git("commit", "--quiet", "-m", subject)


class History(Repository):
    def score(self, files):
        self.commit("change", files)
        return dataclasses.astuple(history.score_commit(self.root, "HEAD"))

    def test_headers_are_interfaces_and_sources_are_not(self):
        self.assertEqual(self.score({"a.h": "// B.\nint f(int x, int y);\n\nint g();\nint h();\n", "a.cpp": "int f(int x) { return x + 1; }\n"}),
                         (2, 1, 0, 0, 0))

    def test_new_files_and_tests(self):
        self.assertEqual(self.score({"b.h": "// New.\nint b();\n", "b_test.cpp": "int t;\nint u;\n", "tests/c.cpp": "int c;\n", "doc.md": "text\nmore\n"}),
                         (0, 0, 1, 3, 1))

    def test_signatures_and_fields_of_python(self):
        text = PYTHON.replace("def f(x):", "def f(x, rope=None):").replace("    size: int = 1", "    size: int = 1\n    rope: float = 1e4")
        self.assertEqual(self.score({"m.py": text}), (2, 0, 0, 0, 0))
        self.assertEqual(self.score({"m.py": text.replace("return x", "return x + 1").replace("def _h(", "def _i(")}), (0, 3, 0, 0, 0))

    def test_a_new_class_in_an_old_file_is_no_interface_that_existed(self):
        self.assertEqual(self.score({"m.py": PYTHON + "\n\nclass New:\n    size: int = 2\n"}), (0, 2, 0, 0, 0))

    def test_flags_and_keys(self):
        self.assertEqual(self.score({"m.py": PYTHON.replace("'--size'", "'--width'"), "conf.yml": "rope: 1\nyarn: 2\n"}), (2, 0, 0, 0, 0))

    def test_a_range_by_feature(self):
        self.commit("Rope: one", {"rope.h": "int r();\n"})
        self.commit("Rope: two", {"a.h": "int f(int x, int rope);\n\nint g();\n"})
        self.commit("Other", {"doc.md": "text\ntext\n"})
        rows = history.score_range(self.root, "HEAD~3..HEAD", [("RoPE", "^Rope")])
        self.assertEqual([(name if name == "RoPE" else name[9:], count) for name, count, _ in rows], [("RoPE", 2), ("Other", 1)])
        self.assertEqual(dataclasses.astuple(rows[0][2]), (1, 0, 1, 0, 0))
        self.assertIn("| RoPE | 1 | 0 | 1 | 0 | 0 |", history.table(rows))
        self.assertEqual(len(history.score_range(self.root, "HEAD~3..HEAD", adding=r"rope\.h$")), 1)

    def test_one_commit_stands_for_itself(self):
        self.commit("One", {"b.h": "int b();\n"})
        self.commit("Two", {"c.h": "int c();\n"})
        self.assertEqual([subject for _, subject in history.commits_of(self.root, "HEAD~1")], ["One"])

    def test_what_a_merge_brings_counts_once(self):
        self.git("checkout", "--quiet", "-b", "side")
        self.commit("Side", {"side.h": "int s();\n"})
        self.git("checkout", "--quiet", "main")
        self.commit("Main", {"main.h": "int m();\n"})
        self.git("merge", "--quiet", "--no-edit", "side")
        rows = history.score_range(self.root, "HEAD~2..HEAD")
        self.assertEqual({name[9:]: score.new for name, _, score in rows}, {"Side": 1, "Main": 1})

    def test_an_unknown_commit_is_said(self):
        with self.assertRaisesRegex(RuntimeError, "git log"):
            history.score_range(self.root, "nowhere..HEAD")


class Split(Repository):
    """One commit that brings several features, told by feature."""

    PARTS = [{"feature": "LoRA", "files": ["lora"], "names": ["Lora", "adapters?"]},
             {"feature": "fp8", "files": ["fp8"], "names": ["Fp8"]},
             {"feature": "pipelines", "files": ["pipeline"], "names": ["Pipeline"]}]

    def parts(self, rows=PARTS):
        self.file = self.root.parent / f"{self.root.name}.json"
        self.addCleanup(self.file.unlink, missing_ok=True)
        self.file.write_text(json.dumps(rows), encoding="utf-8")
        return split.read(self.file)

    def told(self, files, parts=None):
        """The rows of a commit of these files, whose sums are those of the whole commit."""
        self.commit("change", files)
        rows = history.score_range(self.root, "HEAD", parts=parts or self.parts())
        self.assertEqual(sum((score for _, _, score in rows), history.Score()), history.score_commit(self.root, "HEAD"))
        return {name: dataclasses.astuple(score) for name, _, score in rows}

    def test_new_files_count_by_path_whatever_they_name(self):
        told = self.told({"fp8.h": "int Lora;\nint b;\n", "lora_test.cpp": "int Fp8;\n", "other.h": "int Lora;\n", "lora.md": "text\n"})
        self.assertEqual(told, {"LoRA": (0, 0, 0, 1, 1), "fp8": (0, 0, 2, 0, 0), split.REMAINDER: (0, 0, 1, 0, 0)})

    def test_files_that_go_count_by_path(self):
        self.commit("old", {"pipeline.h": "int Lora;\n", "gone.cpp": "int Lora;\n"})
        self.git("rm", "--quiet", "pipeline.h", "gone.cpp")
        self.assertEqual(self.told({}), {"pipelines": (1, 0, 0, 0, 0), split.REMAINDER: (0, 1, 0, 0, 0)})

    def test_each_hunk_counts_to_what_its_lines_name(self):
        told = self.told({"a.h": "// A.\nint f(int x, Lora y);\n\nint h();\n", "a.cpp": "Fp8 f(int x) { return x; }\n", "conf.yml": "rope: 2\n"})
        self.assertEqual(told, {"LoRA": (1, 0, 0, 0, 0), "fp8": (0, 1, 0, 0, 0), split.REMAINDER: (2, 0, 0, 0, 0)})

    def test_removed_lines_name_too(self):
        self.commit("old", {"a.h": "Lora f(int x);\n"})
        self.assertEqual(self.told({"a.h": "int f(int x);\n"}), {"LoRA": (1, 0, 0, 0, 0)})

    def test_most_lines_decide_and_then_the_order(self):
        self.assertEqual(self.told({"a.h": "Lora a;\nFp8 b;\nFp8 Fp8;\n"}), {"fp8": (3, 0, 0, 0, 0)})
        self.assertEqual(self.told({"conf.yml": "Fp8: 1\nLora: 1\n"}), {"LoRA": (2, 0, 0, 0, 0)})

    def test_the_function_around_counts_where_the_lines_name_nothing(self):
        before = "int Pipeline_run(int x) {\n  int a = 1;\n  int b = 2;\n  return x;\n}\n"
        self.commit("old", {"a.cpp": before})
        self.assertEqual(self.told({"a.cpp": before.replace("b = 2", "b = 3")}), {"pipelines": (0, 1, 0, 0, 0)})
        self.assertEqual(self.told({"a.cpp": before.replace("b = 2", "Lora = 4")}), {"LoRA": (0, 1, 0, 0, 0)})

    def test_comments_name_and_do_not_count(self):
        self.assertEqual(self.told({"a.h": "// A.\n// For adapters.\nint f(long x);\n\nint g();\n"}), {"LoRA": (1, 0, 0, 0, 0)})
        self.assertEqual(self.told({"a.h": "// A.\n// For Fp8.\nint f(long x);\n\nint g();\n"}), {})

    def test_moved_files_count_by_hunk(self):
        lines = "".join(f"int value{i};\n" for i in range(20))
        self.commit("old", {"lora_old.h": lines})
        self.git("mv", "lora_old.h", "lora_new.h")
        self.assertEqual(self.told({"lora_new.h": lines + "Fp8 last;\n"}), {"fp8": (1, 0, 0, 0, 0)})

    def test_several_commits_sum_in_the_order_of_the_file(self):
        self.commit("one", {"fp8.h": "int a;\n"})
        self.commit("two", {"lora.h": "int a;\n", "fp8.cpp": "int b;\n"})
        rows = history.score_range(self.root, "HEAD~2..HEAD", parts=self.parts())
        self.assertEqual([(name, count, score.new) for name, count, score in rows], [("LoRA", 1, 1), ("fp8", 2, 2)])

    def test_the_command_prints_rows_and_their_sum(self):
        self.commit("change", {"lora.h": "int a;\n", "a.cpp": "int f(Fp8 x) { return x; }\n"})
        self.parts()
        code, text = run_command("history", "HEAD", "--repo", str(self.root), "--split", str(self.file))
        self.assertEqual(code, 0, text)
        self.assertEqual(text.splitlines()[2:], ["| LoRA | 0 | 0 | 1 | 0 | 0 |", "| fp8 | 0 | 1 | 0 | 0 | 0 |", "| **2 in all** | 0 | 1 | 1 | 0 | 0 |"])
        with self.assertRaises(SystemExit):
            run_command("history", "HEAD", "--split", str(self.file), "--group", "a=b")
        code, text = run_command("history", "HEAD", "--repo", str(self.root), "--split", str(self.root / "none.json"))
        self.assertEqual(code, 1)
        self.assertIn("none.json", text)

    def test_a_file_that_names_no_parts_is_refused(self):
        for rows in ([{"feature": "LoRA", "files": []}], [{"feature": "LoRA", "files": ["("], "names": []}], {"feature": "LoRA"}):
            with self.assertRaisesRegex(ValueError, r"expected a list of \{feature, files, names\}"):
                self.parts(rows)


class Composer(unittest.TestCase):
    """The commit that brought most of the composer's features, and the page's tables of it."""

    COMMIT = "7a48a5bab6ecfb9ff21e3949991de7c14645fed4"
    PARTS = TOOLS / "loc/composer.json"
    LATER = Page.PAGE.split("The later commits of the table above, told alike:")[1]

    @staticmethod
    def numbers(row):
        return [int(cell) for cell in row.split(" | ", 1)[1].rstrip(" |").split(" | ")]

    def rows(self, text):
        """The numbers of the first table below, by feature."""
        table = re.search(r"\| feature \|.*\n\|---.*\n((?:\|.*\n)+)", text)[1]
        return {row.split(" | ", 1)[0].strip("| *"): self.numbers(row) for row in table.splitlines()}

    def test_the_rows_of_the_page_sum_to_the_whole_commit(self):
        told = self.rows(Page.PAGE.split("--split tools/loc/composer.json\n")[1])
        whole = self.numbers(re.search(r"^\| 7a48a5ba .*$", Page.PAGE, re.MULTILINE)[0])
        self.assertEqual([sum(column) for column in zip(*list(told.values())[:-1])], whole)
        self.assertEqual(list(told.values())[-1], whole)

    def test_each_part_has_a_row(self):
        rows = {**self.rows(Page.PAGE.split("--split tools/loc/composer.json\n")[1]), **self.rows(self.LATER)}
        names = {part.name for part in split.read(self.PARTS)} | {split.REMAINDER}
        self.assertEqual({name for name in rows if not name.endswith(" in all")}, names)

    def test_the_page_has_what_the_command_prints(self):
        if subprocess.run(["git", "-C", str(TOOLS), "cat-file", "-e", f"{self.COMMIT}^^{{commit}}"], capture_output=True).returncode:
            self.skipTest("the checkout has no such commit")
        rows = history.score_range(TOOLS.parent, self.COMMIT, parts=split.read(self.PARTS))
        self.assertIn(history.table(rows), Page.PAGE)
        self.assertEqual(sum((score for _, _, score in rows), history.Score()), history.score_commit(TOOLS.parent, self.COMMIT))
        self.assertEqual(dict((name, score.new) for name, _, score in rows)[split.REMAINDER], 0, "each new file has a feature")


PYTHON = """import argparse


class Config:
    size: int = 1


def f(x):
    return x


def _h(x):
    return x


def arguments(parser):
    parser.add_argument('--size', type=int)
"""

if __name__ == "__main__":
    unittest.main(verbosity=0)
