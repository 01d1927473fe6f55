"""Worlds on disk: their files, the diffs that features make in them, their programs, and what these print."""

import dataclasses
import json
import os
import pathlib
import re
import shutil
import subprocess
import time

import parts
import variants
from features import feature_files

TEMPLATE = pathlib.Path(__file__).parent / "world"
AUTHOR = ["-c", "user.name=world", "-c", "user.email=world@localhost", "-c", "commit.gpgsign=false", "-c", "core.hooksPath=/dev/null"]


class WorldError(Exception):
    """A world that can't be built, or whose numbers are wrong."""


def world_files(num_models, num_attention):
    """Path -> text of all files of a world without features."""
    files = {str(path.relative_to(TEMPLATE)): path.read_text(encoding="utf-8") for path in sorted(TEMPLATE.rglob("*")) if path.is_file()}
    for index in range(num_models):
        files[f"models/{variants.model_name(index)}.cpp"] = variants.model_class(index)
    for index in range(num_attention):
        files[f"attention/{variants.attention_name(index)}.cpp"] = variants.attention_class(index)
    return files


def write_files(root, files):
    """Writes what differs, so that a second build compiles nothing anew."""
    for path, text in files.items():
        target = pathlib.Path(root, path)
        target.parent.mkdir(parents=True, exist_ok=True)
        if not target.is_file() or target.read_text(encoding="utf-8") != text:
            target.write_text(text, encoding="utf-8")


def edited(files, edits):
    """The files with the edits of a feature: [(text, its replacement)] in existing files."""
    out = {}
    for path, text in files.items():
        for old, new in edits:
            if path.startswith(("models/", "attention/", "world/")):
                text = text.replace(old, new)
        out[path] = text
    return out


def modifier_lines(files, name):
    """Number of code lines in the body of the function that applies a feature."""
    for text in files.values():
        match = re.search(rf"^void add_{name}\(ConfigRef world\) \{{(.*?)\}}\nAXLE_REGISTER", text, re.MULTILINE | re.DOTALL)
        if match:
            return sum(bool(line.strip()) and not line.strip().startswith("//") for line in match.group(1).splitlines())
    raise WorldError(f"{name}: expected a function void add_{name}(ConfigRef world) in its files")


@dataclasses.dataclass
class Diff:
    existing: int = 0  # lines changed in files that the world has
    new: int = 0  # lines of new files
    changed: tuple = ()  # the existing files


class Repository:
    """A world under version control, so that the diff of a feature is that of git."""

    def __init__(self, root, num_models, num_attention):
        self.root, self.files = pathlib.Path(root), world_files(num_models, num_attention)
        shutil.rmtree(self.root, ignore_errors=True)
        write_files(self.root, self.files)
        self.git("init", "--quiet", "--initial-branch=main")
        self.commit("The world")
        self.git("tag", "before")

    def git(self, *arguments):
        environment = {**os.environ, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull}
        done = subprocess.run(["git", *AUTHOR, *arguments], cwd=self.root, env=environment, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise WorldError(f"git {' '.join(arguments)}: {done.stderr.strip()}")
        return done.stdout

    def commit(self, message):
        self.git("add", "--all")
        self.git("commit", "--quiet", "--allow-empty", "-m", message)

    def diff(self, feature):
        """Commits a feature on top of the world, measures, and goes back."""
        write_files(self.root, edited(self.files, feature.edits))
        write_files(self.root, feature_files(feature))
        self.commit(feature.what)
        out = Diff()
        for line in self.git("diff", "--numstat", "--no-renames", "before", "HEAD").splitlines():
            added, removed, path = line.split("\t")
            if path in self.files:
                out.existing += max(int(added), int(removed))
                out.changed += (path,)
            else:
                out.new += int(added)
        self.git("reset", "--quiet", "--hard", "before")
        return out


class Programs:
    """The programs of a project that holds the largest world and all features: one for each size."""

    def __init__(self, folder, prefix, sizes, features, unity=0, jobs=2):
        self.folder, self.build = pathlib.Path(folder) / "project", pathlib.Path(folder) / "build"
        self.prefix, self.sizes, self.unity, self.jobs = prefix, sizes, unity, jobs
        self.largest = max(sizes)
        files = world_files(*self.largest)
        for feature in features:
            files = edited(files, feature.edits) | feature_files(feature)
        if self.folder.is_dir():  # of an earlier run with other features
            for path in [path for path in self.folder.rglob("*.cpp") if str(path.relative_to(self.folder)) not in files]:
                path.unlink()
        write_files(self.folder, files)

    def run(self, command, **options):
        done = subprocess.run(list(map(str, command)), capture_output=True, text=True, check=False, **options)
        if done.returncode != 0:
            errors = [line for line in (done.stdout + done.stderr).splitlines() if "error" in line.lower()] or [(done.stdout + done.stderr)[-500:]]
            raise WorldError(f"{' '.join(map(str, command[:3]))}: exit code {done.returncode}: " + "\n".join(errors[:5]))
        return done.stdout

    def make(self):
        environment = dict(os.environ)
        launcher = []
        if shutil.which("ccache"):
            launcher = ["-DCMAKE_CXX_COMPILER_LAUNCHER=ccache"]
            environment |= {"CCACHE_BASEDIR": str(self.folder.parent), "CCACHE_NOHASHDIR": "1", "CCACHE_SLOPPINESS": "pch_defines,time_macros"}
        sizes = ";".join(f"{n}x{m}" for n, m in self.sizes)
        self.run(["cmake", "-S", self.folder, "-B", self.build, "-G", "Ninja", "-DCMAKE_BUILD_TYPE=Debug", "-DCMAKE_CXX_FLAGS_DEBUG=-O0",
                  f"-DCMAKE_PREFIX_PATH={self.prefix}", f"-DWORLD_SIZES={sizes}", f"-DWORLD_UNITY={self.unity}", *launcher], env=environment)
        self.run(["cmake", "--build", self.build, "--parallel", self.jobs], env=environment)

    def seconds_of_one_more_file(self):
        """Adds a layer, a class in a file of its own, and returns the seconds until all programs have it."""
        path = self.folder / "features/one_more/one_more.cpp"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(variants.attention_class(self.largest[1]), encoding="utf-8")
        begin = time.monotonic()
        self.run(["cmake", "--build", self.build, "--parallel", self.jobs])
        path.unlink()
        return time.monotonic() - begin

    def document(self, name, writer, size):
        """Writes the document of a world. Returns its path."""
        path = self.build / f"{name}_{size[0]}x{size[1]}.json"
        path.write_text(json.dumps(parts.world(writer, *size)), encoding="utf-8")
        return path

    def call(self, size, *arguments):
        """The lines that the program of a size prints, split at tabs."""
        text = self.run([self.build / f"world_{size[0]}x{size[1]}", *arguments])
        return [line.split("\t") for line in text.splitlines()]


@dataclasses.dataclass
class Applied:
    """What applying a feature to a world showed."""

    modules: int
    seconds: float
    changed: int  # experiments whose config changed
    compared: int  # experiments whose numbers were compared with the twin's
    numbers: int  # numbers of these


def read_applied(feature, size, lines):
    """Throws WorldError if a model differs from its twin, or if the feature does nothing."""
    rows = {kind: [line[1:] for line in lines if line[0] == kind] for kind in ("modules", "seconds", "config", "unchanged", "numbers")}
    where = f"{feature.name}, world {size[0]} x {size[1]}"
    for experiment, what in rows["config"]:
        raise WorldError(f"{where}: {experiment}: expected the config of its twin, got {what}")
    idle = {experiment for (experiment,) in rows["unchanged"]}
    for experiment, _, differs, effect in rows["numbers"]:
        if differs:
            raise WorldError(f"{where}: {experiment}: expected the numbers of its twin, got others: {differs}")
        if bool(effect) == (experiment in idle):
            raise WorldError(f"{where}: {experiment}: expected other numbers than without the feature if and only if its config changed")
    changed = size[0] * size[1] - len(idle)
    if not changed:
        raise WorldError(f"{where}: expected some experiment to change, got none")
    return Applied(modules=int(rows["modules"][0][0]), seconds=float(rows["seconds"][0][0]), changed=changed,
                   compared=len(rows["numbers"]), numbers=sum(int(row[1]) for row in rows["numbers"]))


def covering_pairs(num_models, num_attention):
    """Pairs in which every model and every attention class takes part."""
    return [(i % num_models, i % num_attention) for i in range(max(num_models, num_attention))]


def all_pairs(num_models, num_attention):
    return [(model, attention) for model in range(num_models) for attention in range(num_attention)]


def names(pairs):
    return [parts.experiment_name(*pair) for pair in pairs]


def check_op_counts(lines):
    """Throws WorldError if two variants have the same op counts."""
    seen = {}
    for _, name, *counts in lines:
        other = seen.setdefault(tuple(counts), name)
        if other != name:
            raise WorldError(f"{name}: expected op counts of its own, got those of {other}")
    return len(seen)
