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
CCACHE = pathlib.Path(__file__).parents[2] / "cmake/axle_ccache.cmake"
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
    """Writes what differs, so that a second build compiles nothing again."""
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


def ccache_settings():
    """What Axle's own build tells ccache, by name of the variable."""
    return dict(re.findall(r"^ *(CCACHE_\w+)=(\S+)", CCACHE.read_text(encoding="utf-8"), re.M))


class Program:
    """The program of a project that holds the classes of the largest world and all features."""

    def __init__(self, folder, prefix, size, features, unity=0, jobs=2, optimize="0"):
        self.folder, self.build = pathlib.Path(folder) / "project", pathlib.Path(folder) / "build"
        self.prefix, self.size, self.unity, self.jobs, self.optimize = prefix, size, unity, jobs, optimize
        files = world_files(*size)
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
            environment |= ccache_settings() | {"CCACHE_BASEDIR": str(self.folder.parent)}
        self.run(["cmake", "-S", self.folder, "-B", self.build, "-G", "Ninja", "-DCMAKE_BUILD_TYPE=Debug",
                  f"-DCMAKE_CXX_FLAGS_DEBUG=-O{self.optimize}", f"-DCMAKE_PREFIX_PATH={self.prefix}",
                  f"-DWORLD_UNITY={self.unity}", *launcher], env=environment)
        self.run(["cmake", "--build", self.build, "--parallel", self.jobs], env=environment)

    def seconds_of_one_more_file(self):
        """Adds a layer, a class in a file of its own, and returns the seconds until the program has it."""
        path = self.folder / "features/one_more/one_more.cpp"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(variants.attention_class(self.size[1]), encoding="utf-8")
        begin = time.monotonic()
        self.run(["cmake", "--build", self.build, "--parallel", self.jobs])
        path.unlink()
        return time.monotonic() - begin

    def document(self, name, writer, pairs):
        """Writes the document of a world of these pairs. Returns its path."""
        path = self.build / f"{name}.json"
        path.write_text(json.dumps(parts.world(writer, pairs)), encoding="utf-8")
        return path

    def worlds(self, name, features, pairs):
        """Writes a world of these pairs, and one of twins for each feature. Returns the arguments of the program."""
        twins = [(f.name, self.document(f"{name}_{f.name}", f.twin(), pairs)) for f in features]
        return [self.document(name, parts.Defaults(), pairs), *(f"{feature}={path}" for feature, path in twins)]

    def call(self, *arguments):
        """The lines that the program prints, split at tabs."""
        return [line.split("\t") for line in self.run([self.build / "world", *arguments]).splitlines()]


@dataclasses.dataclass
class Applied:
    """What applying a feature to a world showed."""

    modules: int
    seconds: float
    changed: int  # experiments whose config changed
    idle: frozenset = frozenset()  # experiments whose config did not


def read_applied(feature, pairs, lines):
    """Throws WorldError if a config differs from its twin's, or if the feature does nothing."""
    rows = {kind: [line[2:] for line in lines if line[0] == kind and line[1] == feature.name]
            for kind in ("modules", "seconds", "config", "unchanged")}
    where = f"{feature.name}, world of {len(pairs)} experiments"
    for experiment, what in rows["config"]:
        raise WorldError(f"{where}: {experiment}: expected the config of its twin, got {what}")
    idle = frozenset(experiment for (experiment,) in rows["unchanged"])
    changed = len(pairs) - len(idle)
    if not changed:
        raise WorldError(f"{where}: expected some experiment to change, got none")
    return Applied(modules=int(rows["modules"][0][0]), seconds=float(rows["seconds"][0][0]), changed=changed, idle=idle)


def read_compared(feature, applied, lines):
    """The number of models that were compared with their twins, and of the numbers of these. Throws WorldError if numbers
    differ, or if they are those without the feature."""
    rows = [line[2:] for line in lines if line[0] == "numbers" and line[1] == feature.name]
    for experiment, _, differs, effect in rows:
        if differs:
            raise WorldError(f"{feature.name}: {experiment}: expected the numbers of its twin, got others: {differs}")
        if bool(effect) == (experiment in applied.idle):
            raise WorldError(f"{feature.name}: {experiment}: expected other numbers than without the feature if and only if its config changed")
    return len(rows), sum(int(row[1]) for row in rows)


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
