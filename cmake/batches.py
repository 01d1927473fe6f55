#!/usr/bin/env python3
"""Writes batches: files that include several sources, so that the headers and templates of these are compiled once.

    batches.py OUT NAME BYTES OVERLOADS ROOT SOURCE...      writes OUT/NAME_0.cpp and so on, and prints their paths

A batch takes sources until it has so many bytes. Each source joins the first batch with room that declares none of its
file-level names: two anonymous namespaces of one compilation are one. OVERLOADS: 1 if functions may have the name of others
that take something else, 0 if they count by their names alone. Includes are relative to ROOT, because an absolute path would
be part of what the compiler cache hashes.
"""

import os
import re
import sys
from pathlib import Path

# Types that convert to each other without a word: a call may mean another overload than the one of its own source.
NUMBER = re.compile(r"\b(?:(?:unsigned|signed)(?: (?:int|long|char|short))*|bool|char|short|int|long(?: long)?|float|double"
                    r"|(?:std::)?(?:size_t|ptrdiff_t|u?int\d+_t))\b")
TEXT = re.compile(r"\bstd::string(?:_view)?\b|\bconst char\s*\*")
ANONYMOUS = re.compile(r"^namespace \{$(.*?)^\}  // namespace$", re.DOTALL | re.MULTILINE)
# At the begin of a line: a type, a function with its first parameters, or a variable. `const Type kA = 1, kB(2);`
# declares two variables.
TYPE = re.compile(r"^(?:class|struct|enum class|enum|union)\s+(?:\[\[\w+\]\]\s+)?(\w+)\b(?!\s*;)", re.MULTILINE)
OTHER = r"^(?!(?:class|struct|enum|union|using|namespace|return|template|TEST))[A-Za-z_:][^;={(\n]*[\s&*>]"
FUNCTION = re.compile(OTHER + r"(\w+\s*\(.*)", re.MULTILINE)
VARIABLE = re.compile(OTHER + r"(\w+)\s*[{\[=;]", re.MULTILINE)
CONSTANTS = re.compile(r"^const.*", re.MULTILINE)
CONSTANT = re.compile(r"\bk[A-Z]\w*(?=\s*[={\[(,;])")
# Macros of tests define classes, named after their first argument or arguments.
LAWS = re.compile(r"^(?!TEST|INSTANTIATE)[A-Z][A-Z_]+(\(\w+)", re.MULTILINE)
SUITE = re.compile(r"^INSTANTIATE\w+\(\w+, \w+", re.MULTILINE)
# The same alias may be declared again.
ALIAS = re.compile(r"^using\s+(\w+)\s*=([^;]*)", re.MULTILINE)


def signature(function):
    """A function with its first parameters, without their names: "run(const A& a, int b) {" is "run(A&,#". Types that
    convert to each other are alike."""
    name, parameters = function.split("(", 1)
    parameters = re.sub(r"\)\s*(?:const|noexcept|override|->.*)?\s*\{.*|\)?;.*", "", parameters)
    types = NUMBER.sub("#", TEXT.sub("$", parameters))
    types = re.sub(r"\bconst\b|[&\s]+(?=[,)]|$)|=[^,]*", " ", types)
    types = re.sub(r"(?<=[\w>#$&*])[\s&*]+\w+\s*(?=,|$)", "", types)  # their names
    return name.rstrip() + "(" + re.sub(r"[\s&]", "", types).rstrip(",")


def names_of(text, overloads):
    """What each file-level name of anonymous namespaces stands for; None: its own thing."""
    out = {}
    for part in ANONYMOUS.findall(text):
        out.update(ALIAS.findall(part))
        functions = FUNCTION.findall(part)
        constants = CONSTANT.findall("\n".join(CONSTANTS.findall(part)))
        own = [signature(function) if overloads else function.split("(")[0].rstrip() for function in functions]
        own += TYPE.findall(part) + VARIABLE.findall(part) + LAWS.findall(part) + SUITE.findall(part) + constants
        out.update(dict.fromkeys(own))
    return out


class Batch:
    def __init__(self):
        self.bytes, self.names, self.sources = 0, {}, []

    def has_room_for(self, names, limit):
        common = self.names.keys() & names.keys()
        return self.bytes < limit and all(names[name] is not None and names[name] == self.names[name] for name in common)

    def add(self, source, text, names):
        self.bytes += len(text)
        self.names.update(names)
        self.sources.append(source)


def batches_of(sources, limit, overloads):
    """Batches of (path, text)."""
    out = []
    for source, text in sources:
        names = names_of(text, overloads)
        batch = next((b for b in out if b.has_room_for(names, limit)), None)
        if batch is None:
            batch = Batch()
            out.append(batch)
        batch.add(source, text, names)
    return out


def write_if_new(path, text):
    """Leaves the file's time as it is where nothing changed, or it would be compiled again."""
    if not path.exists() or path.read_text(encoding="utf-8") != text:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


def main(out, name, limit, overloads, root, *paths):
    sources = [(os.path.relpath(path, root), Path(path).read_text(encoding="utf-8")) for path in paths]
    for number, batch in enumerate(batches_of(sources, int(limit), overloads == "1")):
        path = Path(out) / f"{name}_{number}.cpp"
        includes = "".join(f'#include "{source}"\n' for source in batch.sources)
        write_if_new(path, f"// Written by cmake/batches.py.\n{includes}")
        print(path)


if __name__ == "__main__":
    main(*sys.argv[1:])
