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
# Comments, literals and preprocessor lines. A quote behind a digit separates digits.
NO_CODE = re.compile(
    r"""//[^\n]*|/\*.*?\*/|R"(?P<end>[^()\\\s]*)\(.*?\)(?P=end)"|"(?:\\.|[^"\\\n])*"|(?<![0-9a-fA-F])'(?:\\.|[^'\\\n])*'"""
    r"""|^[ \t]*#(?:[^\n]*\\\n)*[^\n]*""",
    re.DOTALL | re.MULTILINE,
)


def code_of(text):
    """The text with spaces for everything that is no code, so that places stay."""
    return NO_CODE.sub(lambda found: re.sub(r"[^\n]", " ", found[0]), text)


def comment_above(lines, row):
    """The `///` lines that end above row, as one text."""
    first = row
    while first > 0 and lines[first - 1].strip().startswith("///"):
        first -= 1
    return " ".join(" ".join(line.strip()[3:] for line in lines[first:row]).split())


def begin_of_struct(code, at):
    """Where the brace is that opens the struct around this place; none outside of a struct."""
    depth = 0
    for i in range(at - 1, -1, -1):
        depth += (code[i] == "}") - (code[i] == "{")
        if depth < 0:
            return i
    return None


def declarations(code, begin, end):
    """name -> place of the members declared directly between two places."""
    out = {}
    depth, start = 0, None
    for i in range(begin, end):
        if start is None and not code[i].isspace():
            start = i
        depth += code[i] in "{(["
        depth -= code[i] in "})]"
        if depth > 0 or start is None or code[i] not in ";}":
            continue
        statement = code[start : i + 1]
        is_body = code[i] == "}" and not code[i + 1 :].lstrip().startswith((";", "{", ","))
        if code[i] == "}" and not is_body:
            continue
        name = re.match(r"^.*?(\w+)\s*(?:=.*|\{.*\})?;$", statement, re.DOTALL)
        if name and not statement.startswith(("using ", "static ")):
            out[name.group(1)] = start
        start = None
    return out


def documented(path):
    """(owner, names of the fields, field or "", text) of each config struct of a file."""
    text = path.read_text(encoding="utf-8")
    lines, code = text.splitlines(), code_of(text)
    row_at = lambda at: text.count("\n", 0, at)
    for match in CONFIG.finditer(code):
        names = [name.strip() for name in match.group(1).split(",")]
        owner, fields = names[0], names[1:]
        brace = begin_of_struct(code, match.start())
        if brace is None:
            sys.exit(f"{path}:{row_at(match.start()) + 1}: expected AXLE_CONFIG in a struct, got it outside of one")
        head = row_at(max(code.rfind("struct", 0, brace), 0))
        if re.search(rf"\bstruct\b[^;{{]*\b{owner}\b", code[code.rfind("struct", 0, brace) : brace]):
            above = head
        else:
            classes = re.finditer(rf"\bclass\s+(?:\[\[[^\]]*\]\]\s*)*{owner}\b(?!\s*;)", code[:brace])
            above = max((row_at(found.start()) for found in classes), default=head)
        while above > 0 and lines[above - 1].strip().startswith("template"):
            above -= 1
        yield owner, ", ".join(fields), "", comment_above(lines, above)
        places = declarations(code, brace + 1, match.start())
        for field in fields:
            if field not in places:
                continue
            # In the line of its struct, the comment above belongs to that.
            row = row_at(places[field])
            yield owner, ", ".join(fields), field, comment_above(lines, row) if row > row_at(brace) else ""


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
        "// Written by cmake/config_docs.py.\n#include \"config/registry.h\"\n\nnamespace {\n\n"
        + (table if lines else "") + "\n}  // namespace\n"
    )
    if not out.exists() or out.read_text(encoding="utf-8") != code:
        out.write_text(code, encoding="utf-8")


if __name__ == "__main__":
    main()
