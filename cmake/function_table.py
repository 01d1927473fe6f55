#!/usr/bin/env python3
"""Writes the C++ file that makes the public tensor functions callable by name, from their declarations.

    function_table.py OUT.cpp SRC FOLDER

Public is what the headers declare that ops/ops.h and transform/transform.h of SRC include. A function of them that returns
tensors has a row: its name, the names of its parameters and their defaults. Structs and enums that the parameters name are
read from their fields and enumerators. SRC/FOLDER has function_row.h, which says how C++ calls a row, and adapters.h, whose
functions stand for the public ones of their names: what data can't say has an adapter there, or a reason in WITHOUT_ROW.
"""

import re
import sys
from pathlib import Path

from config_docs import code_of, quoted

ROOTS = ("ops/ops.h", "transform/transform.h")
# Namespace -> the C++ function that adds its rows.
SPACES = {"axle": "add_functions", "axle::random": "add_random_functions"}
# Public functions without a row -> why.
WITHOUT_ROW = {
    "shard_map": "a case says shard_map: {...}",
    "emit_broadcast": "it takes a row of the table of ops",
    "emit_with_number": "it takes a row of the table of ops",
    "full_for": "it takes the name of the function that calls it",
    "all_gather_over": "it takes axes of a mesh, which only rules have",
    "reduce_scatter_over": "it takes axes of a mesh, which only rules have",
    "add_to_selected": "it takes padding that only windows compute",
    "kernel_call": "it takes a kernel of C++; gated_silu is one",
}  # fmt: skip
# Headers with functions that could have a row, but are not public -> why.
INTERNAL = {
    "ops/collectives/collective.h": "rules",
    "ops/movement/window_rules.h": "interpreter",
    "ops/products/scaled_integers.h": "8-bit products and caches",
    "ops/random/random_part.h": "dropout by blocks",
    "ops/random/threefry_keys.h": "rules",
    "ops/rules.h": "rules",
    "transform/bodies.h": "rules",
    "transform/linalg/matrices.h": "parts",
    "transform/linearize.h": "differentiation",
    "transform/taps/observe.h": "pass",
}
# Fields that data does not set: C++ alone has a use for them.
WITHOUT_FIELD = {"ScanOptions": ("may_keep_values", "names")}
RENAMED = {"random::key_words": "random::key"}
OPERATORS = {
    "+": "add", "-": "sub", "*": "mul", "/": "div", "&": "bitwise_and", "|": "bitwise_or", "^": "bitwise_xor",
    "~": "bitwise_not", "<<": "shift_left", ">>": "shift_right", "<": "less", "<=": "less_equal", ">": "greater",
    ">=": "greater_equal",
}  # fmt: skip
# The types that function.h and attribute_value.h read.
READ = {
    *("bool int int64_t uint32_t double std::string std::string_view Scalar DType Shape Tensor Values HostTensor Key Padding "
      "DimAxes PartitionSpec RematPolicy TensorFunction ScanBody WhileCondition WhileBody AssociativeCombine").split(),
    "std::function<Values(const Tensor& i, const Values& carry)>",
}  # fmt: skip
TENSORS = {"Tensor", "Values", "Key", "HostTensor"}
FUNCTION = re.compile(r"(?:inline |constexpr )*(?P<type>\S.*?)\s+(?P<name>operator[^\s(]+|\w+)\s*\((?P<rest>.*)", re.DOTALL)
INCLUDE = re.compile(r'^#include "((?:ops|transform)/[^"]+)"', re.MULTILINE)


class Fault(Exception):
    """What is wrong with a header, as one line."""


def spans(text, separator):
    """(begin, end) of the parts of a list. Separators in brackets belong to a part."""
    depth, start = 0, 0
    for i, c in enumerate(text + separator):
        depth += (c in "({[<") - (c in ")}]>")
        if c == separator and depth == 0:
            yield start, i
            start = i + 1


def split(text, separator=","):
    """The parts of a list, without spaces around them and without empty ones."""
    parts = (text[begin:end].strip() for begin, end in spans(text, separator))
    return [part for part in parts if part]


def end_of(code, begin):
    """Where the bracket closes that opens at `begin`."""
    depth = 0
    for i in range(begin, len(code)):
        depth += (code[i] in "({[") - (code[i] in ")}]")
        if depth == 0:
            return i
    return len(code)


def statements(code):
    """(begin, end, namespace) of what stands in namespaces."""
    spaces, start, i = [], 0, 0
    while i < len(code):
        if code[i] == "}":
            spaces.pop()
            start = i + 1
        elif code[i] in "({":
            head = re.fullmatch(r"\s*(?:inline )?namespace\s*([\w:]*)\s*", code[start:i]) if code[i] == "{" else None
            if head:
                spaces.append(head[1])
                start = i + 1
            else:
                is_body = code[i] == "{" and re.search(r"\)\s*(?:const)?\s*$", code[start:i])
                i = end_of(code, i)
                if is_body:
                    yield start, i + 1, "::".join(spaces)
                    start = i + 1
        elif code[i] == ";":
            yield start, i, "::".join(spaces)
            start = i + 1
        i += 1


def snake(enumerator):
    """kPromiseInBounds -> promise_in_bounds"""
    return re.sub(r"(?<!^)(?<![A-Z\d])(?=[A-Z])", "_", enumerator.removeprefix("k")).lower()


def plain(type_):
    """A type without const, & and spaces at its end."""
    return re.sub(r"^const |\s*&+$", "", type_.strip()).strip()


class Parameter:
    def __init__(self, code, text):
        """`text` has the literals that `code` lacks."""
        declared, default = code.partition("=")[0].strip(), None
        if "=" in code:
            default = " ".join(text[code.index("=") + 1 :].split())
        named = re.fullmatch(r"(.*?[\s&>])\s*(\w+)", declared, re.DOTALL)
        self.type = " ".join((named[1] if named else declared).split())
        self.name = named[2] if named else ""
        self.default = default

    def default_text(self):
        """The default in YAML. Raises ValueError for an expression of another form."""
        value = self.default
        if value == "{}":
            return "none" if plain(self.type).startswith("std::optional") else "[]"
        if re.fullmatch(r'-?[\d.e+-]+|true|false|"[^"]*"', value):
            return value.strip('"')
        if re.fullmatch(r"\{[-\d., ]+\}", value):
            return f"[{value[1:-1]}]"
        if re.fullmatch(r"[\w:]+::k\w+", value):
            return snake(value.rsplit("::", 1)[1])
        if re.fullmatch(r"\w+\(\)", value):
            return value[:-2]
        raise ValueError(value)


class Function:
    def __init__(self, space, type_, name, parameters, where):
        self.space = space.removesuffix("::by_data")
        self.type, self.name, self.parameters, self.where = type_, name, parameters, where

    @property
    def cpp_name(self):
        return (self.space + "::" + self.name).removeprefix("axle::")

    @property
    def row_name(self):
        sign = self.name.removeprefix("operator")
        if sign in OPERATORS and sign != self.name:
            return "neg" if sign == "-" and len(self.parameters) == 1 else OPERATORS[sign]
        return RENAMED.get(self.cpp_name, self.cpp_name)


class Declarations:
    """What headers declare at namespace level."""

    def __init__(self, src):
        self.src = src
        self.functions = []
        self.structs = {}  # name -> (namespace, [Parameter])
        self.enums = {}  # name -> (namespace, enumerators)
        self.aliases = {}  # name -> type
        self.have_texts = set()  # enums with a hand-written texts_of

    def read(self, header, with_functions=True):
        text = (self.src / header).read_text(encoding="utf-8")
        code = code_of(text)
        self.have_texts |= set(re.findall(r"\btexts_of\((\w+)\)", code))
        for begin, end, space in statements(code):
            begin += re.match(r"(?:\s|\[\[[^\]]*\]\])*", code[begin:end]).end()
            one = code[begin:end]
            where = f"src/{header}:{text.count(chr(10), 0, begin) + 1}"
            if found := re.match(r"struct (\w+)\s*\{", one):
                self.structs[found[1]] = (space, self.fields(begin + found.end(), begin + one.rfind("}"), code, text))
            elif found := re.match(r"enum class (\w+)[^{]*\{(.*)\}", one, re.DOTALL):
                self.enums[found[1]] = (space, re.findall(r"\bk\w+", found[2]))
            elif found := re.match(r"using (\w+)\s*=\s*(.*)", one, re.DOTALL):
                self.aliases[found[1]] = " ".join(found[2].split())
            elif with_functions and "(" in one and not re.match(r"(?:template|struct|class|enum|using|friend|extern|static)\b", one):
                self.add_function(begin, one, space, where, code, text)

    def add_function(self, begin, one, space, where, code, text):
        found = FUNCTION.fullmatch(one)
        if not found or "detail" in space:
            return
        first = begin + found.start("rest")
        last = end_of(code, first - 1)
        parameters = self.parameters(code[first:last], text[first:last])
        self.functions.append(Function(space, " ".join(found["type"].split()), found["name"], parameters, where))

    @staticmethod
    def parameters(code, text):
        return [Parameter(code[begin:end], text[begin:end]) for begin, end in spans(code, ",") if code[begin:end].strip()]

    def fields(self, begin, end, code, text):
        """The data members: `int a = 1, b;` has two."""
        out = []
        for one in split(code[begin:end], ";"):
            parts = split(one)
            if not parts or "(" in parts[0].partition("=")[0] or not re.match(r"[\w:<>, ]+?[\s&>*]\w+\s*(?:=|$)", parts[0]):
                continue  # a member function, or a member of another form
            first = Parameter(parts[0], parts[0])
            out.append(first)
            out += [Parameter(f"{first.type} {part}", f"{first.type} {part}") for part in parts[1:]]
        return out

    def holds_tensors(self, type_):
        """True for what a tensor function returns."""
        type_ = plain(type_)
        inner = re.fullmatch(r"std::(?:vector|pair)<(.*)>", type_)
        if inner and type_ != "std::vector<HostTensor>":
            return all(self.holds_tensors(part) for part in split(inner[1]))
        if type_ in self.structs:
            return all(plain(field.type) in ("Tensor", "Values") for field in self.structs[type_][1])
        return type_ in TENSORS

    def unread(self, type_):
        """The first part of a type that neither C++ nor this file reads; none if both do."""
        type_ = plain(type_)
        if type_ in READ or type_ in self.enums:
            return None
        if type_ in self.aliases:
            return self.unread(self.aliases[type_])
        inner = re.fullmatch(r"std::(?:vector|pair|optional)<(.*)>", type_)
        parts = split(inner[1]) if inner else []
        if type_ in self.structs:
            parts = [field.type for field in self.fields_of(type_)]
        return next(filter(None, map(self.unread, parts)), None) if parts else type_

    def fields_of(self, struct):
        return [field for field in self.structs[struct][1] if field.name not in WITHOUT_FIELD.get(struct, ())]

    def named_by(self, types):
        """The structs and enums that the types name, and those that these name."""
        found, left = [], list(types)
        while left:
            for word in re.findall(r"\w+", left.pop()):
                if word in self.aliases:
                    left.append(self.aliases[word])
                if word in READ or word in found or (word not in self.structs and word not in self.enums):
                    continue
                found.append(word)
                left += [field.type for field in self.fields_of(word)] if word in self.structs else []
        return found


def included(src, headers):
    """These headers and those of ops/ and transform/ that they include, lowest first."""
    out = []

    def visit(header):
        if header in out:
            return
        for lower in INCLUDE.findall((src / header).read_text(encoding="utf-8")):
            visit(lower)
        out.append(header)

    for header in headers:
        visit(header)
    return list(dict.fromkeys(out))


def rows_of(declared, adapters):
    """The functions that get a row. Raises Fault for one that data can't call and that is not in WITHOUT_ROW."""
    adapted = {function.name for function in adapters}
    rows = []
    for function in declared.functions:
        if not declared.holds_tensors(function.type) or function.name in WITHOUT_ROW or function.name in adapted:
            continue
        if function.space not in SPACES:
            raise Fault(f"{function.where}: {function.name}: expected a namespace of {list(SPACES)}, got {function.space}")
        for parameter in function.parameters:
            if not parameter.name:
                raise Fault(f"{function.where}: {function.name}: expected a name for each parameter, got '{parameter.type}'")
            if unread := declared.unread(parameter.type):
                raise Fault(
                    f"{function.where}: {function.cpp_name}: expected parameters that data can say, got '{unread}'; "
                    "write an adapter in adapters.h, or a reason in WITHOUT_ROW of cmake/function_table.py"
                )
        rows.append(function)
    known = {function.name for function in declared.functions}
    for name in (*WITHOUT_ROW, *adapted):
        if name not in known:
            raise Fault(f"{name}: expected a public function, got a reason or an adapter for one that no header declares")
    return rows + adapters


def check_hidden(src, public):
    """Raises Fault for a header that is not public, but has a function that could have a row."""
    reasons = set(INTERNAL)
    for path in sorted([*src.glob("ops/**/*.h"), *src.glob("transform/**/*.h")]):
        header = path.relative_to(src).as_posix()
        if header in public or header.endswith("_test.h"):
            continue
        declared = Declarations(src)
        declared.read(header)
        for function in declared.functions:
            unread = any(declared.unread(parameter.type) for parameter in function.parameters)
            if unread or not function.parameters or not declared.holds_tensors(function.type):
                continue
            if header not in INTERNAL:
                raise Fault(
                    f"{function.where}: {function.cpp_name}: expected its header in ops/ops.h or transform/transform.h, "
                    "or a reason in INTERNAL of cmake/function_table.py"
                )
            reasons.discard(header)
    if reasons:
        raise Fault(f"{min(reasons)}: expected a header with a function that could have a row, got a reason for no such header")


def row_text(function, namespace):
    names = []
    for parameter in function.parameters:
        try:
            text = parameter.default and parameter.default_text()
        except ValueError as error:
            raise Fault(
                f"{function.where}: {function.cpp_name}: {parameter.name}: expected a default that "
                f"cmake/function_table.py can write as YAML, got '{error}'"
            ) from None
        names.append(parameter.name if parameter.default is None else f"{parameter.name}={text}")
    types = ", ".join(parameter.type for parameter in function.parameters)
    texts = ", ".join(map(quoted, (function.row_name, function.cpp_name, ";".join(names))))
    return f"  detail::add_row<{function.type}({types})>(out, {texts}, {namespace}{function.name});\n"


def type_text(declared, name):
    """How C++ reads a struct or an enum; nothing if a header says it."""
    if name in declared.enums:
        if name in declared.have_texts:
            return ""
        rows = ", ".join(f'{{{name}::{one}, "{snake(one)}"}}' for one in declared.enums[name][1])
        return f"constexpr auto texts_of({name}) {{ return std::to_array<EnumText<{name}>>({{{rows}}}); }}\n"
    visits = " ".join(f'visit("{field.name}", o.{field.name});' for field in declared.fields_of(name))
    return f"template <class F>\nvoid visit_fields({name}& o, F visit) {{ {visits} }}\n"


def result_text(declared, name):
    """How C++ reads the tensors of a result."""
    adds = " ".join(f"add_result(x.{field.name}, out);" for field in declared.structs[name][1])
    return f"inline void add_result(const {name}& x, Values& out) {{ {adds} }}\n"


def read_rows(src, folder):
    """The declarations of public headers, and the functions that get a row: the public ones, then the adapters."""
    public = [header for root in ROOTS for header in INCLUDE.findall((src / root).read_text(encoding="utf-8"))]
    declared = Declarations(src)
    for header in included(src, public):
        declared.read(header, with_functions=header in public)
    adapters, readers = Declarations(src), Declarations(src)
    adapters.read(f"{folder}/adapters.h")
    readers.read(f"{folder}/attribute_value.h")
    declared.have_texts |= readers.have_texts
    check_hidden(src, public)
    return declared, rows_of(declared, adapters.functions), adapters.functions


def table(src, folder):
    """The C++ file."""
    declared, rows, adapters = read_rows(src, folder)
    types = declared.named_by(parameter.type for row in rows for parameter in row.parameters)
    results = [name for name in declared.named_by(row.type for row in rows) if name in declared.structs]
    out = ["// Written by cmake/function_table.py.\n"]
    out += [f'#include "{header}"\n' for header in (f"{folder}/adapters.h", f"{folder}/function_row.h", *ROOTS)]
    for space, functions in SPACES.items():
        of_space = lambda name: (declared.structs.get(name) or declared.enums[name])[0] == space
        out.append(f"\nnamespace {space} {{\n\n")
        out += [type_text(declared, name) for name in reversed(types) if of_space(name)]
        out += [result_text(declared, name) for name in results if of_space(name)]
        out.append(f"\nvoid {functions}(std::vector<Function>& out) {{\n")
        out += [row_text(row, "by_data::" if row in adapters else "") for row in rows if row.space == space]
        out.append(f"}}\n\n}}  // namespace {space}\n")
    return "".join(out)


def main():
    out, src, folder = Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3]
    try:
        code = table(src, folder)
    except Fault as fault:
        sys.exit(str(fault))
    if not out.exists() or out.read_text(encoding="utf-8") != code:
        out.write_text(code, encoding="utf-8")


if __name__ == "__main__":
    main()
