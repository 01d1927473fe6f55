"""Tells the lines of a commit that brought several features by feature.

A file of parts (JSON) names each feature with the paths of its own files and with its identifiers. A file that is new or
gone counts to the first part whose `files` match its path. A hunk of an existing file counts, whole, to the part that most
of its changed lines name; where they name none, to the part that the line of the function around it names; where that
names none, to the remainder. Where two parts are named by as many lines, the first one gets the hunk.
"""

import dataclasses
import json
import pathlib
import re

REMAINDER = "renames and wider roles"


@dataclasses.dataclass(frozen=True)
class Part:
    name: str
    files: re.Pattern
    names: re.Pattern


def read(path):
    """The parts of a file."""
    try:
        rows = json.loads(pathlib.Path(path).read_text(encoding="utf-8"))
        return [Part(row["feature"], any_of(row["files"]), any_of(row["names"])) for row in rows]
    except (KeyError, TypeError, json.JSONDecodeError, re.error) as error:
        raise ValueError(f"{path}: expected a list of {{feature, files, names}} with patterns, got {error!r}") from error


def any_of(patterns):
    """A pattern that matches where one of them does; no patterns match nothing."""
    return re.compile("|".join(f"(?:{pattern})" for pattern in patterns) or r"(?!)")


def named_most(lines, parts):
    """The part that most of the lines name, the first one of several; None if none is named."""
    counts = [sum(bool(part.names.search(line)) for line in lines) for part in parts]
    most = max(counts, default=0)
    return parts[counts.index(most)] if most else None


def part_of(piece, parts):
    """The name of the part that a piece counts to."""
    if piece.hunk is None:
        part = next((part for part in parts if part.files.search(piece.path)), None)
    else:
        part = named_most(piece.hunk.removed + piece.hunk.added, parts) or named_most([piece.hunk.function], parts)
    return part.name if part else REMAINDER


def by_part(pieces, parts):
    """The sums of the scores of the pieces, by the names of their parts. Pieces of comments alone have no part."""
    totals = {}
    for piece in pieces:
        if any(dataclasses.astuple(piece.score)):
            name = part_of(piece, parts)
            totals[name] = totals[name] + piece.score if name in totals else piece.score
    return totals
