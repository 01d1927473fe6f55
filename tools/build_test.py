#!/usr/bin/env python3
"""Tests of what builds and checks a clone: batches of sources, the compiler cache, `./dev`, and the parts of CI."""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "cmake"))

import batches
import ci_part


class Batches(unittest.TestCase):
    def batches(self, *bodies, limit=1000, overloads=True):
        """The numbers of the sources in each batch, whose anonymous namespaces have these bodies."""
        sources = [(number, f"namespace axle {{\nnamespace {{\n{body}\n}}  // namespace\n}}\n") for number, body in enumerate(bodies)]
        return [batch.sources for batch in batches.batches_of(sources, limit, overloads)]

    def test_names_that_meet_are_kept_apart(self):
        for first, second in (
            ("constexpr int kRows = 3;", "const Type kRows{4};"),
            ("const Tensor kX = f(1), kRows = f(2);", "const Tensor kRows(f(1));"),
            ("class Run : public Base {\n};", "template <class T>\nstruct Run {};"),
            ("Tensor run(const Tensor& x) {\n}", "int run(const Tensor& x) {\n}"),
            ("double half(int x) {\n}", "double half(double x) {\n}"),
            ("double half(const A& a, bool x) {\n}", "double half(const A& b, int64_t y) {\n}"),
            ("int length(const std::string& a) {\n}", "int length(std::string_view b) {\n}"),
            ("int run(const A& a) {\n}", "int run(const A& other) {\n}"),
            ("using Number = double;", "using Number = float;"),
            ("using Number = double;", "struct Number {};"),
            ("AXLE_LAYER_LAWS(Block, {});", "AXLE_CALL_LAWS(Block,\n  {});"),
            ("INSTANTIATE_TEST_SUITE_P(All, Ops, x);", "INSTANTIATE_TEST_SUITE_P(All, Ops,\n  y);"),
        ):
            self.assertEqual(self.batches(first, second, "int other = 1;"), [[0, 2], [1]], first)

    def test_what_may_meet_is_together(self):
        for first, second in (
            ("using Json = nlohmann::json;", "using Json = nlohmann::json;"),
            ("struct Graph;", "struct Graph;"),
            ("void run(const A& a) {\n}", "void run(const B& b) {\n}"),
            ("void run(const A& a) {\n}", "void run(const A& a, const B& b) {\n}"),
            ("void run(int a) {\n}", "void run(const std::string& a) {\n}"),
            ("void f() {\n  const int kRows = 3;\n}", "constexpr int kRows = 3;"),
            ("struct Mine : Base {\n};", "struct Yours : Base {\n};"),
            ("TEST(Ops, Adds) {\n}", "TEST(Ops, Multiplies) {\n}"),
            ("INSTANTIATE_TEST_SUITE_P(All, Ops, x);", "INSTANTIATE_TEST_SUITE_P(All, Layers, x);"),
        ):
            self.assertEqual(self.batches(first, second), [[0, 1]], first)

    def test_lambdas_fit_many_overloads_of_tests(self):
        functions = ("int run(const Plain& f) {\n}", "int run(const Named& f) {\n}")
        self.assertEqual(self.batches(*functions, overloads=False), [[0], [1]])

    def test_a_full_batch_takes_nothing(self):
        self.assertEqual(self.batches("int a;", "int b;", "int c;", limit=80), [[0, 1], [2]])

    def test_names_outside_of_anonymous_namespaces_do_not_count(self):
        sources = [(number, "namespace axle {\nvoid run() {\n}\n}  // namespace axle\n") for number in range(2)]
        self.assertEqual([batch.sources for batch in batches.batches_of(sources, 1000, True)], [[0, 1]])


class PartsOfCI(unittest.TestCase):
    HOUR = 3600

    def taken(self, times, parts):
        return {ci_part.part(time, parts) for time in times}

    def test_a_run_in_each_half_of_a_day_takes_all_in_a_week(self):
        for hour in range(12):
            times = [(24 * day + half + hour) * self.HOUR for day in range(20000, 20007) for half in (0, 12)]
            self.assertEqual(self.taken(times, 14), set(range(1, 15)), hour)

    def test_a_run_a_day_takes_all_in_as_many_days_as_there_are_parts(self):
        for parts in (14, 28, 196):
            for hour in range(24):
                times = [(24 * day + hour) * self.HOUR for day in range(20000, 20000 + parts)]
                self.assertEqual(self.taken(times, parts), set(range(1, parts + 1)), hour)

    def test_ci_takes_them(self):
        script = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
        self.assertIn("part=$(python3 tools/ci_part.py 14)", script)
        self.assertIn('--part "$part/14"', script)


@unittest.skipUnless(shutil.which("ccache"), "no ccache")
class CompilerCache(unittest.TestCase):
    """Two checkouts that differ in a comment of a header that is precompiled."""

    CMAKE = """cmake_minimum_required(VERSION 3.25)
project(clone LANGUAGES CXX)
include(${AXLE}/cmake/axle_ccache.cmake)
add_library(clone OBJECT clone.cpp)
target_include_directories(clone PRIVATE .)
target_precompile_headers(clone PRIVATE <clone.h>)
"""

    def build(self, folder, comment):
        """Builds a checkout and returns the cache's hits until then."""
        folder.mkdir()
        (folder / "CMakeLists.txt").write_text(self.CMAKE)
        (folder / "clone.h").write_text(f"#pragma once\n// {comment}\nstruct Clone {{}};\n")
        os.utime(folder / "clone.h", (0, 0))  # ccache passes by headers that are new
        (folder / "clone.cpp").write_text("#include \"clone.h\"\nClone clone;\n")
        for command in (["cmake", "-G", "Ninja", f"-DAXLE={ROOT}", "-S", folder, "-B", folder / "build"], ["cmake", "--build", folder / "build"],
                        ["ccache", "--print-stats"]):
            done = subprocess.run(command, env={**os.environ, "CCACHE_DIR": str(folder.parent / "cache")}, capture_output=True, text=True, check=False)
            self.assertEqual(done.returncode, 0, done.stdout)
        return sum(map(int, re.findall(r"^(?:direct|preprocessed)_cache_hit\t(\d+)", done.stdout, re.M)))

    def test_headers_count_as_they_stand(self):
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            self.assertEqual(self.build(root / "first", "One."), 0)
            self.assertEqual(self.build(root / "comment", "Two."), 0)
            self.assertEqual(self.build(root / "same", "One."), 2)


class TestsInCMake(unittest.TestCase):
    def test_none_of_them_uses_the_users_caches(self):
        for path in sorted((ROOT / "cmake").glob("*.cmake")):
            text = path.read_text(encoding="utf-8")
            for made in re.findall(r"^ *set_tests_properties\([^)]*\)", text, re.MULTILINE):
                self.assertRegex(made, r'ENVIRONMENT "\$\{AXLE_TEST_ENVIRONMENT\}"|ENVIRONMENT \\"\$\{ARGN\}', path.name)
            for program in re.findall(r"^ *gtest_discover_tests\((\S+)", text, re.MULTILINE):
                self.assertIn(f"axle_set_environment({program} ${{environment}})", text, path.name)


class Dev(unittest.TestCase):
    """The script `./dev` beside stand-ins for what it calls: they leave a line in the file `calls`."""

    def run_dev(self, verb, stand_ins):
        with tempfile.TemporaryDirectory() as scratch:
            scratch = pathlib.Path(scratch)
            (scratch / "tools/plugins").mkdir(parents=True)
            shutil.copy(ROOT / "dev", scratch)
            environment = {"PATH": f"{scratch}:{os.environ['PATH']}"}
            for platform in ("cpu", "cuda", "tpu"):
                (scratch / f"tools/plugins/{platform}.txt").touch()
                environment[f"AXLE_PLUGIN_{platform.upper()}"] = str(scratch / "dev")
            for name, body in {"cmake": "", "ctest": "", "id": "echo 0", **stand_ins}.items():
                (scratch / name).write_text(f'#!/bin/sh\necho {name} "$@" >> {scratch}/calls\n{body}\n')
                (scratch / name).chmod(0o755)
            done = subprocess.run([scratch / "dev", verb], env=environment, capture_output=True, text=True)
            return done, (scratch / "calls").read_text()

    MISSING_SHELLS = 'for last; do :; done; case $last in zsh | fish) exit 1 ;; esac; echo "install ok installed"'
    NO_NETWORK = "[ $1 = update ] && exit; echo 'E: no network'; exit 100"

    # A cmake whose builds fail until it was configured once more, which may write a batch again.
    FAILS_UNTIL_CONFIGURED = """mkdir -p build/release/batches; cd build/release
        case $1 in --build) [ -e batches/parted.cpp ] ;; *) [ $# -gt 2 ] || {{ {}; }} ;; esac"""

    def test_a_batch_whose_names_met_is_parted(self):
        cmake = self.FAILS_UNTIL_CONFIGURED.format("sleep 0.1; touch batches/parted.cpp")
        done, calls = self.run_dev("test", {"dpkg-query": "echo install ok installed", "cmake": cmake})
        self.assertIn("sources of a batch had the same names", done.stdout)
        self.assertEqual(calls.count("cmake --build"), 2)
        self.assertIn("ctest", calls)

    def test_other_mistakes_are_not_built_again(self):
        cmake = self.FAILS_UNTIL_CONFIGURED.format("true")
        done, calls = self.run_dev("test", {"dpkg-query": "echo install ok installed", "cmake": cmake})
        self.assertNotEqual(done.returncode, 0)
        self.assertEqual(calls.count("cmake --build"), 1)
        self.assertNotIn("ctest", calls)

    def test_shells_that_cannot_be_had_stop_no_test(self):
        done, calls = self.run_dev("test", {"dpkg-query": self.MISSING_SHELLS, "apt-get": self.NO_NETWORK})
        self.assertIn("apt-get install -y --no-install-recommends zsh fish", calls)
        self.assertIn("the shells that are not here: apt-get failed: E: no network", done.stdout)
        self.assertIn("ctest --test-dir build/release --parallel", calls)

    def test_packages_that_cannot_be_had_end_it(self):
        done, calls = self.run_dev("test", {"dpkg-query": "exit 1", "apt-get": self.NO_NETWORK})
        self.assertEqual(done.returncode, 2)
        self.assertIn("dev: apt-get failed: E: no network", done.stderr)
        self.assertNotIn("ctest", calls)


if __name__ == "__main__":
    unittest.main()
