#!/usr/bin/env python3
"""Finds figures of README.md that are stale: each one stands in the section of the results that is linked beside it.

A table row, a list item or a paragraph is looked at alone. Where it links to a page, every number outside of its links has to stand
in the linked section (`page.md#section`, or the whole page). Where it does not, a number with a unit is a fault: nobody could check
it. Blocks of code are left out.

    check_figures.py [PAGE...]     look at pages (default: README.md)
    check_figures.py --self-test
"""

import pathlib
import re
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent
CODE = re.compile(r"^```.*?^```\s*$|`[^`\n]*`", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\[([^\]]*)\]\(([^)\s]+\.md)(?:#([\w-]+))?\)")
NUMBER = re.compile(r"(?<![\w.,])\d[\d,]*(?:\.\d+)?(?![\w]|\.\d)")
WITH_UNIT = re.compile(rf"({NUMBER.pattern})[  ]?(?:ms|s|min|minutes|seconds|kB|MB|GB|KiB|MiB|GiB|%|x|tokens|tests|lines)(?!\w)")
HEADING = re.compile(r"^(#+) (.*)$", re.MULTILINE)


def anchor_of(title):
    return re.sub(r"[^\w\- ]", "", title.lower()).strip().replace(" ", "-")


def section(text, anchor):
    """The text below a heading, up to the next one of its level; None without such a heading."""
    headings = list(HEADING.finditer(CODE.sub(lambda m: re.sub(r"[^\n]", " ", m[0]), text)))
    for i, one in enumerate(headings):
        if anchor_of(text[one.start(2) : one.end(2)]) != anchor:
            continue
        later = (h.start() for h in headings[i + 1 :] if len(h[1]) <= len(one[1]))
        return text[one.end() : next(later, len(text))]
    return None


def numbers(text):
    return {m[0].replace(",", "") for m in NUMBER.finditer(text)}


def parts(text):
    """(line, text) of each paragraph, list item and table row, without blocks of code."""
    plain = CODE.sub(lambda m: "\n" * m[0].count("\n"), text)
    begin, lines = 0, []
    for i, line in enumerate(plain.split("\n") + [""]):
        if lines and (not line.strip() or re.match(r"\s*(\||[*-] |#)", line)):
            yield begin + 1, "\n".join(lines)
            lines = []
        if line.strip() and not line.startswith("#"):
            begin = begin if lines else i
            lines.append(line)


def faults_in(name, text, read):
    """Lines that say what is wrong; read(path) returns a page's text, or None."""
    for line, part in parts(text):
        links, rest = list(LINK.finditer(part)), LINK.sub("", part)
        if not links:
            for found in WITH_UNIT.finditer(rest):
                yield f"{name}:{line}: expected a link to the section that {found[0]!r} is from, got none"
            continue
        known = set()
        for _, page, anchor in (link.groups() for link in links):
            whole = read(page)
            there = whole if whole is None or not anchor else section(whole, anchor)
            if there is None:
                yield f"{name}:{line}: expected a page or section {page}{'#' + anchor if anchor else ''}, got none"
            else:
                known |= numbers(there)
        for number in sorted(numbers(rest) - known):
            yield f"{name}:{line}: expected figures of the linked section, got {number}"


def read_page(path):
    file = ROOT / path
    return file.read_text(encoding="utf-8") if file.is_file() else None


class Figures(unittest.TestCase):
    RESULTS = "# R\n\n## A step (s)\n\nIt takes 1,416 ms.\n\n### More\n\n| 0.5 |\n\n## Other\n\n7 s\n"

    def found(self, text):
        return list(faults_in("p.md", text, {"r.md": self.RESULTS}.get))

    def test_figures_of_the_section(self):
        self.assertEqual(self.found("| [a step](r.md#a-step-s) | 1416 ms | 0.5 |\n"), [])
        self.assertEqual(self.found("A step takes 1,416 ms\nand 7 s ([there](r.md)).\n"), [])

    def test_stale_figures(self):
        self.assertEqual(self.found("x\n\n| [a step](r.md#a-step-s) | 1417 ms |\n"),
                         ["p.md:3: expected figures of the linked section, got 1417"])  # fmt: skip
        self.assertEqual(len(self.found("* [a step](r.md#a-step-s): 7 s\n* [it](r.md#other): 7 s\n")), 1)

    def test_figures_without_a_link(self):
        self.assertEqual(len(self.found("It takes 5 s.\n")), 1)
        self.assertEqual(self.found("Debian 12, arXiv 2507.05411, `5 s`\n\n```\n5 s\n```\n"), [])

    def test_missing_sections(self):
        self.assertEqual(len(self.found("[a](r.md#none) [b](none.md)\n")), 2)


if __name__ == "__main__":
    if sys.argv[1:] == ["--self-test"]:
        unittest.main(argv=sys.argv[:1])
    faults = [fault for page in sys.argv[1:] or ["README.md"] for fault in faults_in(page, read_page(page) or "", read_page)]
    print("\n".join([*faults, f"figures: {len(faults)} faults"]))
    sys.exit(1 if faults else 0)
