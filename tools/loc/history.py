"""Scores commits: lines changed in interfaces that existed before, against lines in new files.

An interface is what other code is written against: each line of a C++ header, the signatures and fields of Python
classes and functions, the flags that argparse declares, the keys of YAML and TOML files. A line that is replaced counts
once. Blank lines and comments do not count. A class or function that is new is no change of an existing interface, also
where it stands in an existing Python file.
"""

import ast
import dataclasses
import re
import subprocess

import split

HEADERS = (".h", ".hpp", ".hh", ".cuh", ".inc")
SOURCES = HEADERS + (".cpp", ".cc", ".cu", ".c", ".py", ".cmake", ".sh")
KEYS = (".yml", ".yaml", ".toml")
TEST = re.compile(r"(^|/)(tests?|testing|testdata|test_data|unit_tests|functional_tests)/|(^|/)test_|_test\.|_tests?\.py$|(^|/)conftest\.py$")
HUNK = re.compile(r"^@@ -(\d+)(?:,\d+)? \+(\d+)(?:,\d+)? @@ ?(.*)")
COMMENT = re.compile(r"\s*(//|#(?!include|define|pragma|if|el|endif)|\*|/\*|$)")


@dataclasses.dataclass
class Score:
    interface: int = 0  # lines changed in interfaces that existed before
    existing: int = 0  # other lines changed in existing sources
    new: int = 0  # lines of new sources
    tests: int = 0
    rest: int = 0  # documents, data

    def __add__(self, other):
        return Score(*(a + b for a, b in zip(dataclasses.astuple(self), dataclasses.astuple(other))))


@dataclasses.dataclass
class Hunk:
    """Lines that a diff without context replaces at one place."""

    first_old: int
    first_new: int
    function: str  # the line that git shows of the function around it
    removed: list = dataclasses.field(default_factory=list)
    added: list = dataclasses.field(default_factory=list)


@dataclasses.dataclass
class Piece:
    """What a commit changes and the scorer counts at once: a file that is new or gone, or a hunk of another file."""

    path: str
    score: Score
    hunk: Hunk | None = None  # None: the whole file


def git(repo, *arguments):
    done = subprocess.run(["git", "-C", str(repo), *arguments], capture_output=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"git {' '.join(arguments)}: {done.stderr.decode(errors='replace').strip()}")
    return done.stdout.decode("utf-8", errors="replace")


def kind_of(path):
    """test, source, keys or rest."""
    if TEST.search(path):
        return "test"
    if path.endswith(SOURCES) or path.rsplit("/", 1)[-1] == "CMakeLists.txt":
        return "source"
    return "keys" if path.endswith(KEYS) else "rest"


def spans(node, name, found):
    """Adds (first line, last line, outermost name) for each part of a public interface below a node of Python."""
    for child in ast.iter_child_nodes(node):
        outer = name or getattr(child, "name", "")
        if isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef)):
            if not child.name.startswith("_") or child.name == "__init__":
                first = min([child.lineno] + [d.lineno for d in child.decorator_list])
                found.append((first, max(child.lineno, child.body[0].lineno - 1), outer))
            spans(child, outer, found)
        elif isinstance(child, ast.ClassDef):
            found.append((child.lineno, max(child.lineno, child.body[0].lineno - 1), outer))
            fields = [field for field in child.body if isinstance(field, (ast.AnnAssign, ast.Assign))]
            found += [(field.lineno, field.end_lineno, outer) for field in fields]
            spans(child, outer, found)
        elif isinstance(child, (ast.AnnAssign, ast.Assign)) and isinstance(node, ast.Module):
            target = child.targets[0] if isinstance(child, ast.Assign) else child.target
            found.append((child.lineno, child.end_lineno, getattr(target, "id", "")))
        elif isinstance(child, ast.Call) and getattr(child.func, "attr", "") == "add_argument":
            found.append((child.lineno, child.end_lineno, outer))
            spans(child, outer, found)
        else:
            spans(child, outer, found)
    return found


def names_of(tree):
    """The names that a Python file declares at its top level."""
    return {outer for _, _, outer in spans(tree, "", [])}


def python_interface(before, after):
    """Line numbers of existing interfaces in the old and in the new text. What only the new text declares is left out."""
    try:
        old, new = ast.parse(before), ast.parse(after)
    except (SyntaxError, ValueError):
        return set(), set()
    known = names_of(old)
    lines = lambda tree: {n for first, last, name in spans(tree, "", []) if name in known for n in range(first, last + 1)}
    return lines(old), lines(new)


def hunks(diff):
    """The hunks of a diff without context."""
    found = []
    for line in diff.splitlines():
        match = HUNK.match(line)
        if match:
            found.append(Hunk(int(match[1]), int(match[2]), match[3]))
        elif found and line[:1] == "-":
            found[-1].removed.append(line[1:])
        elif found and line[:1] == "+":
            found[-1].added.append(line[1:])
    return found


def counted(first, lines, interface):
    """How many of the lines are interface and how many are not; blank lines and comments are neither."""
    code = [first + i for i, line in enumerate(lines) if not COMMENT.match(line)]
    inside = len(code) if interface is None else sum(number in interface for number in code)
    return inside, len(code) - inside


def score_change(path, kind, before, after, diff):
    """(hunk, score) of each hunk of a change to an existing file."""
    if path.endswith(".py"):
        old, new = python_interface(before, after)
    elif path.endswith(HEADERS) or kind == "keys":
        old = new = None  # all of it
    else:
        old = new = set()
    for hunk in hunks(diff):
        gone, come = counted(hunk.first_old, hunk.removed, old), counted(hunk.first_new, hunk.added, new)
        interface, whole = max(gone[0], come[0]), max(sum(gone), sum(come))
        changed = Score(interface=interface, existing=max(whole - interface, 0))
        yield hunk, {"test": Score(tests=whole), "rest": Score(rest=whole)}.get(kind, changed)


def lines_of(text):
    return sum(not COMMENT.match(line) for line in text.splitlines())


def pieces(repo, commit):
    """The pieces of a commit against its first parent."""
    parent = f"{commit}^"
    listing = git(repo, "diff-tree", "-r", "-M", "--no-commit-id", "--name-status", "-z", parent, commit).split("\0")
    fields = iter(field for field in listing if field)
    for status in fields:
        path = next(fields)
        source = path
        if status[0] in "RC":
            path = next(fields)
        kind = kind_of(path)
        if status[0] == "A":
            count = lines_of(git(repo, "show", f"{commit}:{path}"))
            yield Piece(path, {"test": Score(tests=count), "rest": Score(rest=count)}.get(kind, Score(new=count)))
        elif status[0] in "MRC":
            before = git(repo, "show", f"{parent}:{source}") if path.endswith(".py") else ""
            after = git(repo, "show", f"{commit}:{path}") if path.endswith(".py") else ""
            diff = git(repo, "diff", "-M", "-U0", "--no-color", parent, commit, "--", f":(top,literal){source}", f":(top,literal){path}")
            for hunk, score in score_change(path, kind, before, after, diff):
                yield Piece(path, score, hunk)
        elif status[0] == "D" and kind in ("source", "keys"):
            count = lines_of(git(repo, "show", f"{parent}:{source}"))
            interface = count if path.endswith(HEADERS) or kind == "keys" else 0
            yield Piece(path, Score(interface=interface, existing=count - interface))


def score_commit(repo, commit):
    """The score of a commit against its first parent."""
    return sum((piece.score for piece in pieces(repo, commit)), Score())


def commits_of(repo, range_):
    """(hash, subject) of one commit or of those of a range, oldest first, without merges but with what they brought."""
    log = git(repo, "log", "--reverse", "--no-merges", "--no-walk=sorted", "--format=%H%x09%s", range_)
    return [tuple(line.split("\t", 1)) for line in log.splitlines()]


def adds(repo, commit, pattern):
    """True if the commit adds a file whose path matches."""
    added = git(repo, "diff-tree", "-r", "-M", "--no-commit-id", "--diff-filter=A", "--name-only", f"{commit}^", commit)
    return any(re.search(pattern, path) for path in added.splitlines())


def score_range(repo, range_, groups=(), adding=None, parts=()):
    """(feature, number of commits, score) in order.

    A commit whose subject matches a group counts for it, any other for itself. With parts, each commit is told by them.
    """
    totals = {part.name: (0, Score()) for part in parts}
    for commit, subject in commits_of(repo, range_):
        if adding and not adds(repo, commit, adding):
            continue
        if parts:
            told = split.by_part(pieces(repo, commit), parts)
        else:
            feature = next((name for name, pattern in groups if re.search(pattern, subject)), f"{commit[:8]} {subject}")
            told = {feature: score_commit(repo, commit)}
        for feature, score in told.items():
            count, before = totals.get(feature, (0, Score()))
            totals[feature] = (count + 1, before + score)
    return [(feature, count, score) for feature, (count, score) in totals.items() if count]


COLUMNS = ("existing interfaces", "other existing lines", "new files", "tests", "documents and data")


def table(rows):
    """Markdown: a row for each feature, with a sum."""
    head = "| feature | " + " | ".join(COLUMNS) + " |"
    lines = [head, "|---|" + "---:|" * len(COLUMNS)]
    total = Score()
    for feature, _, score in rows:
        total += score
        lines.append(f"| {feature.replace('|', '/')} | " + " | ".join(map(str, dataclasses.astuple(score))) + " |")
    lines.append(f"| **{len(rows)} in all** | " + " | ".join(map(str, dataclasses.astuple(total))) + " |")
    return "\n".join(lines)
