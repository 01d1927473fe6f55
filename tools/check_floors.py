#!/usr/bin/env python3
"""Checks which folders of src/ include which: a file may include its own folder and folders on lower floors.

FLOORS gives the floor of each folder, counted from the bottom of the dependency order. Rules:
* Folders on the same floor may not include each other.
* Only test files (`_test.cpp`, `_test.h`) may include testing/. They may also include the folders that CMakeLists.txt
  lists for them (TEST_FLOORS).
* axle/ (the umbrella headers and main) may include every folder. No other folder may include axle/.
* BESIDE names folders that are no part of the product: only the files that it gives may include them.
* ORDER gives the order of the subfolders of some folders: a file may include its own subfolder and those before it.
  Test files may include all of them, and so may the header with the name of its folder (transform/transform.h). A folder
  without subfolders may have an order of its files, FILE_ORDER.

`--self-test` checks that the check can fail.
"""

import pathlib
import re
import sys
import tempfile
import unittest

FLOORS = {
    "base": 0,
    "config": 1, "ir": 1,
    "io": 2, "ops": 2,
    "data": 3, "transform": 3, "hlo": 3,
    "lower": 4, "nn": 4,
    "runtime": 5, "layers": 5,
    "modifiers": 6, "learn": 6, "targets": 6,
    "checkpoint": 7, "pjrt": 7,
    "interop": 8, "fetch": 8,
    "infer": 9,
    "evaluate": 10,
    "train": 11,
    "recipes": 12,
    "plan": 13,
    "inspect": 14, "comparison": 14,
    "cli": 15, "guard": 15, "testing": 15,
    "axle": 16,
}  # fmt: skip
# Lowest first; "." stands for the files beside the subfolders.
ORDER = {
    "layers": (".", "dropout", "norms", "products", "positions", "dense", "convolution", "feed_forward", "attention",
               "experts", "recurrent", "state_space", "blocks", "pipeline", "models"),
    "layers/attention": ("masks", "qkv", "biases", "caches", "cores", "."),
    "pjrt": ("abi", "plugin", "kernels", "compile", "."),
    "transform": (".", "remat", "shard_map", "taps", "control_flow", "linalg", "random", "kernel"),
    "train": ("record", "mup", "program", "evaluation", "config", "modifiers", "folder", "."),
}
# Folders beside the product -> the files above that may include them.
BESIDE = {"comparison": re.compile(r"cli/(?:verbs/eval_(?:layer|op)|arguments/comparison_arguments)\.(?:h|cpp)")}
# Lowest first; x.h and x.cpp stand together.
FILE_ORDER = {
    "config": (
        "config_type", "fields", "registry", "leaf", "register", "walk", "print", "missing", "construction", "carry",
        "replace", "set", "serialize",
    ),
}  # fmt: skip
INCLUDE = re.compile(r'^\s*#\s*include\s*(["<])([^">]+)[">]', re.MULTILINE)


CALL = re.compile(r"^axle_floor\(([^)]*)\)", re.MULTILINE)
KEYWORDS = ("FLOORS", "LIBRARIES", "TEST_FLOORS")


def cmake_floors(cmake_text, keyword):
    """Folder -> the folders that its axle_floor() call lists after the keyword, in the order of the calls."""
    found = {}
    for match in CALL.finditer(cmake_text):
        name, *words = match.group(1).split()
        current, found[name] = None, []
        for word in words:
            if word in KEYWORDS:
                current = word
            elif current == keyword:
                found[name].append(word)
    return found


def cmake_faults(used, named):
    """One line for each floor whose call in CMakeLists.txt does not agree with what its files include.

    `used`: folder -> the folders that its library files include. `named`: cmake_floors(text, "FLOORS").
    """
    below = {}
    for folder, floors in named.items():
        below[folder] = set(floors).union(*(below.get(floor, set()) for floor in floors))
    for folder, floors in named.items():
        includes = used.get(folder, set())
        for floor in sorted(includes - below[folder]):
            yield f"CMakeLists.txt: axle_floor({folder}): expected {floor} among FLOORS: its files include {floor}/"
        for floor in floors:
            if floor not in includes:
                yield f"CMakeLists.txt: axle_floor({folder}): expected no {floor} among FLOORS: no file includes {floor}/"


def used_floors(src):
    """Folder -> the other folders that its library files include."""
    used = {}
    for file in src.rglob("*"):
        if file.suffix in (".h", ".cpp") and not file.name.endswith(("_test.cpp", "_test.h")):
            folder = file.relative_to(src).parts[0]
            targets = {path.split("/")[0] for _, path in INCLUDE.findall(file.read_text(encoding="utf-8"))}
            used.setdefault(folder, set()).update(targets & FLOORS.keys() - {folder})
    return used


def subfolder(path, room):
    """Returns the subfolder of a path in a room below src/: in train, "record" for train/record/x.h, "." for train/x.h."""
    parts = pathlib.PurePath(path).relative_to(room).parts
    return parts[0] if len(parts) > 1 else "."


def order_fault(path, included):
    """Returns why a file may not include another one of its own folder; None if it may."""
    folder = path.split("/")[0]
    if folder in FILE_ORDER:
        own, target = pathlib.PurePath(path).stem, pathlib.PurePath(included).stem
        return rank_fault("FILE_ORDER", "file", FILE_ORDER[folder], own, target)
    for room, order in ORDER.items():
        inside = f"{room}/"
        if path.startswith(inside) and included.startswith(inside) and path != f"{folder}/{folder}.h":
            found = rank_fault("ORDER", "subfolder", order, subfolder(path, room), subfolder(included, room))
            if found:
                return found
    return None


def rank_fault(table, what, order, own, target):
    for name in (own, target):
        if name not in order:
            return f"expected a {what} of {table} in tools/check_floors.py, got '{name}'"
    if order.index(target) > order.index(own):
        return f"{own} comes before {target} in {table} of tools/check_floors.py and may not include it"
    return None


def fault(path, granted, quote, included):
    """Returns why the file with this path below src/ may not include `included`; None if it may."""
    folder, file = path.split("/")[0], pathlib.PurePath(path).name
    is_test = file.endswith(("_test.cpp", "_test.h"))
    target = included.split("/")[0]
    if quote == "<":
        return "expected quotes around a header of src/, got <>" if target == "axle" else None
    if "/" not in included or ".." in included:
        return f'expected a path from src/, like "{folder}/{pathlib.PurePath(included).name}"'
    if target == "xla" and file.endswith("_abi_test.cpp"):
        return None  # a test compares our declarations with this published header
    if target not in FLOORS:
        return f"expected a folder of the floors table, got '{target}'"
    if target == folder and not is_test:
        return order_fault(path, included)
    if target == folder or folder == "testing":
        return None
    if target == "testing":
        return None if is_test or folder == "axle" else "only test files may include testing/"
    if is_test and target in granted:
        return None
    if target in BESIDE and not is_test and not BESIDE[target].fullmatch(path):
        return f"{target}/ is beside the product: expected {BESIDE[target].pattern}"
    if FLOORS[target] >= FLOORS[folder]:
        return f"{folder}/ is on floor {FLOORS[folder]} and may not include {target}/ on floor {FLOORS[target]}"
    return None


def faults(src, grants):
    """Yields one line for each forbidden include below `src` and for each folder without a floor."""
    for folder in sorted(p for p in src.iterdir() if p.is_dir()):
        if folder.name not in FLOORS:
            yield f"src/{folder.name}: expected a folder of the floors table in tools/check_floors.py"
            continue
        for file in sorted(folder.rglob("*")):
            if file.suffix not in (".h", ".cpp"):
                continue
            text = file.read_text(encoding="utf-8")
            for match in INCLUDE.finditer(text):
                reason = fault(file.relative_to(src).as_posix(), grants.get(folder.name, []), *match.groups())
                if reason:
                    line = text.count("\n", 0, match.start(1)) + 1
                    yield f"src/{file.relative_to(src)}:{line}: {match.group(2)}: {reason}"


class SelfTest(unittest.TestCase):
    def check(self, path, text, grants={}):
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder, path)
            file.parent.mkdir(parents=True)
            file.write_text(text, encoding="utf-8")
            return list(faults(pathlib.Path(folder), grants))

    def test_includes_of_lower_floors_are_allowed(self):
        self.assertEqual(self.check("nn/layer.h", '#include <map>\n#include "nn/param.h"\n#include "ir/type.h"\n'), [])

    def test_an_include_of_a_higher_floor_is_refused_with_its_line(self):
        self.assertEqual(
            self.check("ir/type.h", '// x\n#include "ops/products/products.h"\n'),
            ["src/ir/type.h:2: ops/products/products.h: ir/ is on floor 1 and may not include ops/ on floor 2"],
        )

    def test_folders_on_one_floor_may_not_include_each_other(self):
        self.assertEqual(len(self.check("layers/dense/linear.h", '#include "runtime/runtime.h"\n')), 1)

    def test_subfolders_have_an_order(self):
        upwards = '#include "train/trainer.h"\n'
        self.assertEqual(
            self.check("train/record/x.cpp", upwards),
            ["src/train/record/x.cpp:1: train/trainer.h: record comes before . in ORDER of tools/check_floors.py and "
             "may not include it"],
        )  # fmt: skip
        self.assertEqual(self.check("train/trainer.cpp", '#include "train/record/x.h"\n'), [])
        self.assertEqual(self.check("train/program/x.cpp", '#include "train/program/y.h"\n'), [])
        self.assertEqual(self.check("train/record/x_test.cpp", upwards), [])
        self.assertEqual(len(self.check("train/attic/x.cpp", '#include "train/record/x.h"\n')), 1)
        self.assertEqual(len(self.check("layers/norms/norm.h", '#include "layers/blocks/stack.h"\n')), 1)
        masks = '#include "layers/attention/masks/attention_mask.h"\n'
        self.assertEqual(self.check("layers/attention/cores/x.cpp", masks), [])
        self.assertEqual(len(self.check("layers/attention/masks/x.h", '#include "layers/attention/attention.h"\n')), 1)
        self.assertEqual(len(self.check("transform/grad.h", '#include "transform/remat/remat.h"\n')), 1)
        self.assertEqual(self.check("transform/transform.h", '#include "transform/remat/remat.h"\n'), [])
        self.assertEqual(self.check("nn/high/x.cpp", '#include "nn/low/y.h"\n'), [])  # has no row

    def test_files_have_an_order(self):
        upwards = '#include "config/walk.h"\n'
        self.assertEqual(
            self.check("config/fields.cpp", upwards),
            ["src/config/fields.cpp:1: config/walk.h: fields comes before walk in FILE_ORDER of tools/check_floors.py "
             "and may not include it"],
        )  # fmt: skip
        self.assertEqual(self.check("config/walk.cpp", '#include "config/walk.h"\n#include "config/fields.h"\n'), [])
        self.assertEqual(self.check("config/fields_test.cpp", upwards), [])
        self.assertEqual(len(self.check("config/attic.cpp", upwards)), 1)

    def test_only_tests_may_include_testing(self):
        for file in ("ops/products/dot_test.cpp", "ops/dot_test.h"):
            self.assertEqual(self.check(file, '#include "testing/grad.h"\n'), [])
        self.assertEqual(len(self.check("ops/products/dot.cpp", '#include "testing/grad.h"\n')), 1)
        self.assertEqual(self.check("axle/testing.h", '#include "testing/grad.h"\n'), [])  # for users' tests

    def test_the_product_does_not_include_what_is_beside_it(self):
        text = '#include "comparison/eval_op.h"\n'
        self.assertEqual(self.check("cli/verbs/eval_op.cpp", text), [])
        self.assertEqual(self.check("cli/verbs/train_test.cpp", text), [])
        for file in ("cli/verbs/train.cpp", "cli/output.h", "train/trainer.cpp"):
            self.assertEqual(len(self.check(file, text)), 1, file)

    def test_granted_folders_are_for_tests_only(self):
        text = "axle_floor(base)\naxle_floor(layers FLOORS nn LIBRARIES x TEST_FLOORS runtime io)\naxle_floor(cli)"
        grants = cmake_floors(text, "TEST_FLOORS")
        self.assertEqual(grants, {"base": [], "layers": ["runtime", "io"], "cli": []})
        self.assertEqual(self.check("layers/dense/linear_test.cpp", '#include "runtime/runtime.h"\n', grants), [])
        self.assertEqual(len(self.check("layers/dense/linear.cpp", '#include "runtime/runtime.h"\n', grants)), 1)
        self.assertEqual(len(self.check("nn/layer_test.cpp", '#include "runtime/runtime.h"\n', grants)), 1)

    def test_cmake_agrees_with_the_includes(self):
        named = cmake_floors("axle_floor(base)\naxle_floor(ir FLOORS base)\naxle_floor(ops FLOORS ir)", "FLOORS")
        self.assertEqual(list(cmake_faults({"ir": {"base"}, "ops": {"base", "ir"}}, named)), [])
        missing = list(cmake_faults({"ir": {"base"}, "ops": {"ir", "config"}}, named))
        self.assertEqual(len(missing), 1)
        self.assertIn("expected config among FLOORS", missing[0])
        unused = list(cmake_faults({"ir": {"base"}, "ops": {"base"}}, named))
        self.assertEqual(len(unused), 1)
        self.assertIn("expected no ir among FLOORS", unused[0])

    def test_paths_start_at_src(self):
        for path in ("layer.h", "../ir/type.h", "nowhere/x.h"):
            self.assertEqual(len(self.check("nn/layer.cpp", f'#include "{path}"\n')), 1, path)

    def test_no_folder_may_include_the_umbrella_header(self):
        self.assertEqual(len(self.check("recipes/fuji.cpp", '#include "axle/axle.h"\n')), 1)
        self.assertEqual(len(self.check("recipes/fuji.cpp", "#include <axle/axle.h>\n")), 1)

    def test_a_folder_needs_a_floor(self):
        self.assertEqual(len(self.check("attic/x.h", "")), 1)


def main():
    if sys.argv[1:] == ["--self-test"]:
        return 0 if unittest.main(argv=sys.argv[:1], exit=False, verbosity=0).result.wasSuccessful() else 1
    root = pathlib.Path(__file__).resolve().parent.parent
    cmake_text = (root / "CMakeLists.txt").read_text(encoding="utf-8")
    found = list(faults(root / "src", cmake_floors(cmake_text, "TEST_FLOORS")))
    found += cmake_faults(used_floors(root / "src"), cmake_floors(cmake_text, "FLOORS"))
    print("\n".join(found + [f"floors: {len(found)} faults"]))
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
