#!/usr/bin/env python3
"""Writes a C++ file with the documentation of config structs: the `///` comments above them and their fields.

    config_docs.py OUT.cpp FILE...      the structs with AXLE_CONFIG in these headers and sources

`axle config describe` prints it. A field's documentation is the comment right above its declaration; that of a struct
`Config` is the comment above the class that owns it.
"""

import re
import sys
from pathlib import Path

CONFIG = re.compile(r"\bAXLE_CONFIG\(([^)]*)\)")
COMMENT_OR_MACRO = re.compile(r"//.*|^[ \t]*#.*", re.MULTILINE)


def comment_above(lines, row):
    """The `///` lines that end above row, as one text."""
    first = row
    while first > 0 and lines[first - 1].strip().startswith("///"):
        first -= 1
    return " ".join(" ".join(line.strip()[3:] for line in lines[first:row]).split())


def row_of_struct(lines, row, column):
    """Where the struct around this place begins."""
    depth = 0
    for i in range(row, -1, -1):
        code = (lines[i] if i < row else lines[i][:column]).split("//")[0]
        depth += code.count("}") - code.count("{")
        if depth < 0:
            return i
    raise ValueError("AXLE_CONFIG outside of a struct")


def declarations(lines, first, last):
    """name -> row of the members declared directly in the struct whose head is row first."""
    out = {}
    depth = 0
    statement, begin = "", None
    for i in range(first + 1, last):
        code = lines[i].split("//")[0].strip()
        if depth == 0 and code and begin is None:
            begin = i
        statement += code + " "
        depth += code.count("{") - code.count("}")
        if depth == 0 and code.endswith((";", "}")):
            name = re.match(r"^.*?(\w+)\s*(?:=.*)?;$", statement.strip(), re.DOTALL)
            if name and not statement.startswith(("using ", "static ")):
                out[name.group(1)] = begin
            statement, begin = "", None
    return out


def documented(path):
    """(owner, names of the fields, field or "", text) of each config struct of a file."""
    text = path.read_text(encoding="utf-8")
    lines = text.splitlines()
    blanked = COMMENT_OR_MACRO.sub(lambda found: " " * len(found[0]), text)
    for match in CONFIG.finditer(blanked):
        names = [name.strip() for name in match.group(1).split(",")]
        owner, fields = names[0], names[1:]
        row = text.count("\n", 0, match.start())
        column = match.start() - text.rfind("\n", 0, match.start()) - 1
        head = row_of_struct(lines, row, column)
        if re.search(rf"\bstruct {owner}\b", lines[head]):
            above = head
        else:
            above = next((i for i in range(head, -1, -1) if re.search(rf"^\s*class {owner}\b", lines[i])), head)
        while above > 0 and lines[above - 1].strip().startswith("template"):
            above -= 1
        yield owner, ", ".join(fields), "", comment_above(lines, above)
        rows = declarations([*lines[:row], lines[row][:column]], head, row + 1)
        for field in fields:
            if field in rows:
                yield owner, ", ".join(fields), field, comment_above(lines, rows[field])


def quoted(text):
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def main():
    out, *files = map(Path, sys.argv[1:])
    rows = {}
    for path in files:
        for owner, fields, field, text in documented(path):
            # Of structs without a name of their own, `Dims`, the first comment stands for all.
            if text and rows.setdefault((owner, fields, field), text) != text and field:
                sys.exit(f"{path}: expected one struct {owner} with the fields {fields}, got two that are documented differently")
    lines = [f"    {{{', '.join(map(quoted, (*key, text)))}}},\n" for key, text in sorted(rows.items())]
    # C++ has no arrays without elements.
    table = (
        "const axle::ConfigDoc kDocs[] = {\n" + "".join(lines) + "};\n"
        "[[maybe_unused]] const bool entered = axle::register_docs(kDocs);\n"
    )
    code = (
        "// Written by cmake/config_docs.py.\n#include \"config/docs.h\"\n\nnamespace {\n\n"
        + (table if lines else "") + "\n}  // namespace\n"
    )
    if not out.exists() or out.read_text(encoding="utf-8") != code:
        out.write_text(code, encoding="utf-8")


if __name__ == "__main__":
    main()
