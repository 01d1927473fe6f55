#!/usr/bin/env python3
"""Prints random templates with what Jinja2 makes of them, as chat_templates.py does for those written by hand.

  VENV/bin/python tools/oracle/random_chat_templates.py 150 1 > testdata/reference/chat/random_templates.json
  VENV/bin/python tools/oracle/random_chat_templates.py 2000 2 > random.json
  AXLE_RANDOM_TEMPLATES=random.json build/release/data_parity_test --gtest_filter='TemplateReference.*'
"""

import copy
import json
import random
import sys

from chat_templates import result

VARIABLES = {
    "s": " Ab cé,猫 ", "u": "x-y_z", "n": 7, "z": 0, "f": 2.5, "b": True, "none": None, "xs": [3, "b", None, 1.5, "A"], "ns": [4, 2, 9, 2],
    "ws": ["pear", "Apple", "fig", "apple"], "d": {"k": 1, "Key": "v", "l": [1, 2]}, "e": [],
    "ms": [{"role": "user", "content": "hi", "n": 2}, {"role": "assistant", "content": " yes\n", "n": 1}, {"role": "user", "content": "", "t": {"a": 5}}],
}
NAMES = [*VARIABLES, "x", "y", "missing", "(loop.index if loop is defined)", "(loop.last if loop is defined)", "(loop.previtem if loop is defined)"]
TESTS = ["defined", "undefined", "none", "string", "number", "mapping", "sequence", "iterable", "boolean", "integer", "float", "true", "false",
         "odd", "even", "lower", "upper", "eq 2", "in ns", "divisibleby 2", "sameas none", "gt 1", "callable"]
FILTERS = ["upper", "lower", "trim", "title", "capitalize", "length", "first", "last", "list", "join(',')", "join", "reverse", "sort", "unique|list",
           "tojson", "string", "int", "float", "abs", "default('D')", "default('D', true)", "replace('a', 'b')", "map('string')|list", "select|list",
           "reject('none')|list", "max", "min", "sum", "items|list", "dictsort", "batch(2)|list", "indent(2)", "round", "round(1)", "wordcount",
           "map(attribute='role')|list", "selectattr('n')|list", "rejectattr('t', 'defined')|map(attribute='content')|join", "sort(reverse=true)",
           "tojson(indent=1)", "truncate(6)", "center(9)", "list|length", "slice(2)|list", "sort(attribute='role')", "tojson"]
METHODS = ["upper()", "strip()", "split()", "split(',')", "title()", "startswith('x')", "replace('-', '')", "items()|list", "keys()|list", "get('k')",
           "get('q', 1)", "lstrip()", "rstrip('_z ')", "find('b')", "count('b')", "role", "k", "splitlines()", "isdigit()", "append(1)", "swapcase()"]


class Maker:
    def __init__(self, seed):
        self.random = random.Random(seed)
        self.in_generation = False

    def pick(self, values):
        return self.random.choice(values)

    def atom(self):
        return self.pick([lambda: self.pick(NAMES), lambda: str(self.random.randint(-3, 12)), lambda: self.pick(["'a'", "'bA '", '"é\\n"', "''"]),
                          lambda: self.pick(["true", "none", "1.5", "[]", "{}", "()"]), lambda: self.pick(NAMES)])()

    def expression(self, depth):
        if depth <= 0:
            return self.atom()
        sub = lambda: self.expression(depth - 1 - self.random.randint(0, 1))  # noqa: E731
        return self.pick([
            self.atom,
            lambda: f"({sub()}) {self.pick(['+', '-', '*', '/', '//', '%', '~', '~', '+'])} ({sub()})",
            lambda: f"{sub()} {self.pick(['==', '!=', '<', '>=', 'in', 'not in'])} {sub()}",
            lambda: f"{sub()} {self.pick(['and', 'or'])} {sub()}", lambda: f"not {sub()}", lambda: f"-{self.atom()}",
            lambda: f"{self.atom()}|{self.pick(FILTERS)}", lambda: f"({sub()})|{self.pick(FILTERS)}", lambda: f"{self.atom()}.{self.pick(METHODS)}",
            lambda: f"{self.atom()} is {self.pick(['', 'not '])}{self.pick(TESTS)}", lambda: f"({sub()} if {sub()} else {sub()})",
            lambda: f"({sub()} if {sub()})", lambda: f"[{sub()}, {sub()}]", lambda: f"({sub()}, {sub()})", lambda: f"{{'q': {sub()}, {self.atom()}: {sub()}}}",
            lambda: f"{self.atom()}[{self.pick(['0', '-1', repr('k'), '5'])}]",
            lambda: f"{self.pick(['s', 'u', 'n', 'xs', 'ns', 'ws', 'd', 'x', 'missing'])}[{self.pick(['1:', ':-1', '::-1', '::2', '-2:', '1:9:3'])}]", lambda: f"range({self.random.randint(0, 5)})",
            lambda: f"{self.atom()}|{self.pick(FILTERS)}|{self.pick(FILTERS)}", lambda: f"m({sub()})", 
            lambda: f"'%s|%5s' % ({sub()}, {sub()})", lambda: f"dict(a={sub()})",
        ])()

    def space(self):
        return self.pick(["", "", " ", "\n", "  ", "\n  ", " \n\n", "a", " b\n", "\tc "])

    def tag(self, inside):
        return "{%" + self.pick(["", "", "-", "+"]) + f" {inside} " + self.pick(["", "", "-"]) + "%}"

    def generation(self, body):
        """Not inside of another one: the library counts from the wrong place there."""
        if self.in_generation:
            return body()
        self.in_generation = True
        text = self.tag("generation") + body() + self.tag("endgeneration")
        self.in_generation = False
        return text

    def statement(self, depth):
        if depth <= 0:
            return "{{" + self.pick(["", "-"]) + " " + self.expression(2) + " " + self.pick(["", "-"]) + "}}"
        body = lambda: self.body(depth - 1)  # noqa: E731
        condition = self.expression(1)
        return self.pick([
            lambda: self.statement(0), lambda: self.statement(0),
            lambda: self.tag(f"if {condition}") + body() + self.pick(["", self.tag("else") + body(), self.tag(f"elif {self.atom()}") + body()]) + self.tag("endif"),
            lambda: self.tag(f"for x in {self.pick(['xs', 'ns', 'ws', 'ms', 's', 'd', 'e', 'range(3)', self.expression(1)])}" +
                             self.pick(["", "", f" if {self.expression(1)}"])) + body() +
            self.pick(["", self.tag("else") + body(), self.tag("if loop.index == 2") + self.tag(self.pick(["break", "continue"])) + self.tag("endif") + body()]) +
            self.tag("endfor"),
            lambda: self.tag(f"set {self.pick(['x', 'y', 'sp.v', 'n'])} = {self.expression(2)}"), lambda: self.tag("set y") + body() + self.tag("endset"),
            lambda: self.tag(f"filter {self.pick(['upper', 'trim', 'replace(1, 2)'])}") + body() + self.tag("endfilter"),
            lambda: self.tag(f"with x = {self.expression(1)}") + body() + self.tag("endwith"), lambda: "{#" + self.pick(["", "-"]) + " c " + self.pick(["", "-"]) + "#}",
            lambda: self.tag("raw") + " {{ x }} " + self.tag("endraw"), lambda: self.tag("call m(1)") + body() + self.tag("endcall"),
            lambda: self.generation(body), lambda: "{{ sp.v }}",
        ])()

    def body(self, depth):
        return "".join(self.space() + self.statement(depth) for _ in range(self.random.randint(1, 3))) + self.space()


def main():
    count, seed = int(sys.argv[1]), int(sys.argv[2])
    cases = []
    for i in range(count):
        maker = Maker(seed * 1_000_000 + i)
        template = "{% set sp = namespace(v=0) %}{% macro m(a, b=2) %}<{{ a }}{{ b }}{{ caller() if caller }}>{% endmacro %}" + maker.body(3)
        cases.append({"name": f"random {seed}/{i}", "template": template, "runs": [result(template, copy.deepcopy(VARIABLES))]})
    print(json.dumps({"variables": VARIABLES, "cases": cases}, indent=0))


if __name__ == "__main__":
    main()
