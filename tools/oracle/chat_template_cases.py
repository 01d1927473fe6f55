"""Templates that try what Jinja2 does, one subject each: (name, template, inputs)."""

TEXTS = {"xs": ["b", "A", "c"], "n": 7, "f": 2.5, "t": "Grüße, 猫 🐈\tend", "e": [], "none": None, "d": {"b": 1, "a": [1, {"k": None}]}}

CASES = [
    ("white space around tags", """\
  {% if true %}
    a
  {% endif %}
b {% if true %} c {% endif %} d
{%- if true -%}  e  {%- endif -%}
   {{ 'f' }}
   {{- 'g' -}}
   {%+ if true %} h {% endif +%}
i{# gone #}
  {#- gone -#}
j
{% raw %}  {{ not }} {% if %} {% endraw %}
k
{%- raw -%}
  l
{%- endraw -%}
  m
  {% set x = 1 %}  
  {%- set y = 2 %}
n
  {% if x %}{% endif %}
""", [{}]),
    ("line ends of other systems", "a\r\n{% if true %}\r\n  b\r{% endif %}\r\nc\n\n", [{}]),
    ("a template of blanks", "  \n  ", [{}]),
    ("loops", """\
{% for x in xs %}{{ loop.index }}{{ loop.index0 }}{{ loop.revindex }}{{ loop.revindex0 }}{{ loop.first }}{{ loop.last }}\
{{ loop.length }}{{ loop.cycle('odd', 'even') }} {{ loop.previtem }}<{{ x }}>{{ loop.nextitem }}|{% endfor %}
{% for x in e %}no{% else %}none{% endfor %}
{% for x in missing %}no{% else %}undefined{% endfor %}
{% for x in xs if x != 'A' %}{{ loop.index }}{{ x }}{{ loop.length }}{% endfor %}
{% for x in xs %}{% if x == 'A' %}{% continue %}{% endif %}{{ x }}{% else %}else{% endfor %}
{% for x in xs %}{% break %}{% else %}else after break{% endfor %}
{% for k, v in d.items() %}{{ k }}={{ v }};{% endfor %}
{% for k in d %}{{ k }}{% endfor %}
{% for a, (b, c) in [(1, (2, 3)), (4, [5, 6])] %}{{ a }}{{ b }}{{ c }} {% endfor %}
{% for c in t %}{{ c }}.{% endfor %}
{% for x in xs %}{% for y in xs %}{{ loop.index }}{% endfor %}{{ loop.index }}{% endfor %}
{% for x in xs %}{{ loop.changed(x == 'A') }}{% endfor %}
{% for i in range(3) %}{{ i }}{% endfor %}{% for i in range(5, 0, -2) %}{{ i }}{% endfor %}
""", [TEXTS]),
    ("texts that are marked as safe", """\
{{ '<a>' | safe + '<b>' + '&' }} {{ '<' + '<' | safe }} {{ '<' | safe ~ '&' ~ 1 ~ none }} {{ '<' ~ '>' }}
{{ '<' | e + '>' }} {{ '<a' | escape | upper + "'" }} {{ ('<' | safe) * 2 + '"' }} {{ ' < ' | safe | trim + '&' }}
{% set x = '<' | safe %}{{ x + '<' }} {{ x | e }} {{ '<' | e | e }} {{ x | string + '<' }} {{ x == '<' }} {{ x | length }}
{{ x in '<>' }} {{ {'a': x} | tojson }} {{ [x + '<'] }} {{ 7 | safe + '<' }} {{ x + t }} {{ d.b | string + x }}
""", [TEXTS]),
    ("recursive loops", """\
{% for node in tree recursive %}{{ loop.depth }}:{{ node.name }}{% if node.kids %}({{ loop(node.kids) }}){% endif %}\
{{ ',' if not loop.last }}{% endfor %}
""", [{"tree": [{"name": "a", "kids": [{"name": "b"}, {"name": "c", "kids": [{"name": "d"}]}]}, {"name": "e"}]}]),
    ("names in blocks", """\
{% set x = 1 %}{% for i in xs %}{{ x }}{% set x = i %}{{ x }} {% endfor %}{{ x }}
{% if true %}{% set x = 2 %}{% endif %}{{ x }}
{% set ns = namespace(found=false, n=0) %}{% for i in xs %}{% set ns.n = ns.n + 1 %}{% set ns.found = true %}{% endfor %}\
{{ ns.n }}{{ ns.found }}
{% with x = 5, y = x %}{{ x }}{{ y }}{% set x = 6 %}{{ x }}{% endwith %}{{ x }}
{% set a, b = 1, 2 %}{{ a }}{{ b }}{% set c = 1, %}{{ c }}
{% set block %}  [{{ x }}]{% set x = 9 %}  {% endset %}{{ block }}{{ x }}
{% set block | trim | upper %}  abc  {% endset %}{{ block }}.
{% filter upper | replace('A', 'z') %}banana {{ x }}{% endfilter %}
{% for x in [1] %}{% set loop_only = x %}{% endfor %}{{ loop_only is defined }}
{% set data = namespace({'a': 1}, b=2) %}{{ data.a }}{{ data['b'] }}{{ data.c is defined }}
""", [TEXTS]),
    ("a macro with a star", "{% macro m(a, *, b=3) %}x{% endmacro %}", [{}]),
    ("macros with defaults", """\
{%- macro field(name, value='none', size=name|length) -%}
<{{ name }}={{ value }}/{{ size }}{{ varargs }}{{ kwargs }}>
{%- endmacro -%}
{{ field('a') }}{{ field('ab', 'v') }}{{ field('a', size=9) }}{{ field(value='w', name='q') }}{{ field('a', 1, 2, 3, k=4) }}
{%- macro wrap(tag) %}[{{ tag }}:{{ caller('in', n=2) }}]{% endmacro %}
{% call(a, n=1) wrap('t') %}{{ a }}{{ n }}{{ outer }}{% endcall %}
{% macro fact(n) %}{{ n if n < 2 else n * fact(n - 1)|int }}{% endmacro %}{{ fact(10) }}
{% macro late() %}{{ after }}{% endmacro %}{% set after = 'set later' %}{{ late() }}
{% macro bare() %}{{ caller is defined }}{% endmacro %}{{ bare() }}{{ bare.name }}{{ field.arguments }}
{% macro missing(a) %}{{ a is defined }}{{ a }}{% endmacro %}{{ missing() }}
{{ field(*['p', 'q'], **{'size': 1}) }}
""", [{"outer": "o"}]),
    ("too many arguments of a macro", "{% macro m(a) %}{% endmacro %}{{ m(1, 2) }}", [{}]),
    ("a keyword that a macro lacks", "{% macro m(a) %}{% endmacro %}{{ m(b=2) }}", [{}]),
    ("undefined values", """\
[{{ missing }}][{{ d.missing }}][{{ d['missing'] }}][{{ missing is defined }}][{{ missing is none }}][{{ missing|length }}]
[{{ missing|default('x') }}][{{ ''|default('x') }}][{{ ''|default('x', true) }}][{{ none|d('x') }}][{{ none|d('x', boolean=true) }}]
[{{ missing == other_missing }}][{{ missing == none }}][{{ missing ~ 'a' }}][{{ missing or 'or' }}][{{ not missing }}]
[{{ 'a' in missing }}][{{ missing|join(',') }}][{{ missing is iterable }}][{{ missing is sequence }}][{{ missing is mapping }}]
[{{ xs[10] }}][{{ xs['a'] }}][{{ t[100] }}][{{ none.a }}][{{ n.a }}][{{ [missing] }}][{{ (1 if false) is defined }}]
[{{ xs[1:1]|first is defined }}][{{ 'a' if missing is defined and missing.b else 'c' }}]
""", [TEXTS]),
    ("an attribute of an undefined value", "{{ missing.a }}", [{}]),
    ("a sum with an undefined value", "{{ 1 + missing }}", [{}]),
    ("a call of an undefined value", "{{ missing() }}", [{}]),
    ("an undefined value as JSON", "{{ missing|tojson }}", [{}]),
    ("a text and a number", "{{ 'a' + 1 }}", [{}]),
    ("numbers", """\
{{ 7 // 2 }} {{ -7 // 2 }} {{ 7 % 3 }} {{ -7 % 3 }} {{ 7 / 2 }} {{ 4 / 2 }} {{ 2 ** 10 }} {{ 2 ** -1 }} {{ -2 ** 2 }} {{ 2 ** 3 ** 2 }}
{{ 1_000 + 0x1f + 0b11 + 0o17 }} {{ 1.5e3 }} {{ 1e22 }} {{ 1e16 }} {{ 1e15 }} {{ 0.1 + 0.2 }} {{ 1e-5 }} {{ 0.0001 }} {{ 3.0 }}
{{ 7.5 // 2 }} {{ -7.5 % 2 }} {{ 1 == 1.0 }} {{ true + 1 }} {{ 3 > 2 > 1 }} {{ 3 > 2 < 1 }} {{ 1 < 2 == 2 }}
{{ 'a' * 3 }} {{ 2 * [1, 2] }} {{ [1] + [2] }} {{ (1,) + (2,) }} {{ 'a' < 'b' }} {{ [1, 2] < [1, 3] }} {{ 'Z' < 'a' }} {{ +3 }} {{ - 3 }}
{{ n|abs }} {{ -2.5|abs }} {{ f|round }} {{ 2.675|round(2) }} {{ 3.14159|round(3, 'floor') }} {{ 42|round }} {{ 1234.5|round(-2) }}
{{ '12'|int }} {{ '1.9'|int }} {{ 'x'|int(5) }} {{ 'ff'|int(base=16) }} {{ '3'|float }} {{ 'x'|float(1.5) }} {{ none|int }} {{ ' 4 '|int }}
{{ 10|string + '!' }} {{ [1, 2, 3]|sum }} {{ [3, 1, 2]|max }} {{ [3, 1, 2]|min }} {{ ['b', 'A']|min }} {{ []|max is defined }}
{{ 5 is odd }} {{ 4 is even }} {{ 9 is divisibleby 3 }} {{ 9 is divisibleby(4) }} {{ 1 is eq 1 }} {{ 2 is gt 1 }} {{ 1 is in [1] }}
""", [TEXTS]),
    ("texts", """\
{{ '  a b '|trim }}|{{ 'xxaxx'.strip('x') }}|{{ ' a '.lstrip() }}|{{ ' a '.rstrip() }}|{{ 'a,b,,c'.split(',') }}|{{ ' a  b '.split() }}
{{ 'a,b,c'.split(',', 1) }}|{{ 'a,b,c'.rsplit(',', 1) }}|{{ 'a b c'.split(maxsplit=1) }}|{{ ' a b c '.rsplit(None, 1) }}|{{ 'ab'.partition('x') }}
{{ 'abc'.startswith('ab') }}|{{ 'abc'.endswith(('x', 'c')) }}|{{ 'aXbX'.replace('X', '-') }}|{{ 'aXbX'.replace('X', '-', 1) }}|{{ 'ab'.replace('', '.') }}
{{ t.upper() }}|{{ t.lower() }}|{{ 'hello wORLD-x it\\'s'.title() }}|{{ 'hello wORLD-x it\\'s'|title }}|{{ 'hELLO'|capitalize }}|{{ 'aB'.swapcase() }}
{{ t|length }}|{{ t[0] }}|{{ t[-1] }}|{{ t[2:5] }}|{{ t[::-1] }}|{{ t[-3:] }}|{{ t[:100] }}|{{ t[5:2] }}|{{ t|first }}|{{ t|last }}|{{ t|reverse }}
{{ '-'.join(xs) }}|{{ xs|join }}|{{ xs|join(', ') }}|{{ [1, none, 'a']|join('/') }}|{{ 'abc'|join('.') }}|{{ 'a\\nb\\r\\nc'.splitlines() }}
{{ 'a' ~ 1 ~ none ~ true ~ 1.0 ~ [1] }}|{{ 'a' in 'cat' }}|{{ 'x' not in 'cat' }}|{{ '猫' in t }}|{{ 'abc'.find('c') }}|{{ 'aXbX'.rfind('X') }}|{{ 'banana'.count('an') }}
{{ 'a\\tb\\x41\\u732b\\'"' }}|{{ "it's" }}|{{ 'one' 'two' }}|{{ '\\q' }}|{{ 'ß'.upper() }}|{{ 'x'.center(5, '*') }}|{{ 'x'.ljust(3) }}|{{ '7'.zfill(3) }}
{{ 'a\\n\\nb'|indent }}|{{ 'a\\nb'|indent(2, first=true) }}|{{ 'a\\n\\nb'|indent('> ', blank=true) }}|{{ 'a<b>&\\''|e }}|{{ 'one two'|wordcount }}
{{ 'abc'.isalpha() }}|{{ '12'.isdigit() }}|{{ 'a1'.isalnum() }}|{{ ' '.isspace() }}|{{ 'AB'.isupper() }}|{{ 'ab' is lower }}|{{ 'prefix-x'.removeprefix('prefix-') }}
{{ '%s is %d, %05.1f%% %r' % ('a', 3, 2.25, 'q') }}|{{ '%s' % 'one' }}|{{ '%(k)s' % {'k': 1} }}|{{ '{} {1}'.format(1, 2) if false else '{0} {x:>4} {y!r:<4}|'.format(1, x=2, y='z') }}
{{ '%s-%s'|format('a', 'b') }}|{{ '{:,.2f} {:03d} {:+}'.format(1234567.891, 7, 3) }}|{{ 'a b c d e f g h i j'|truncate(10) }}|{{ 'x'|center(5) }}|
""", [TEXTS]),
    ("lists and mappings", """\
{{ [1, 'a', none, true, 2.0, [], {}, ()] }}|{{ (1,) }}|{{ {'a': 1, "b'": 'c"', 'd\\n': '\\\\'} }}|{{ {1: 2, 'k': {'n': []}} }}
{{ xs[0] }}{{ xs[-1] }}{{ xs[1:] }}{{ xs[:-1] }}{{ xs[::2] }}{{ xs[::-1] }}{{ xs|first }}{{ xs|last }}{{ xs|length }}{{ xs|count }}
{{ xs|sort }}{{ xs|sort(case_sensitive=true) }}{{ xs|sort(reverse=true) }}{{ xs|reverse|list }}{{ xs|map('upper')|list }}{{ xs|unique|list }}
{{ [3, 1, 2]|sort }}{{ ['a', 'A', 'b']|unique|join }}{{ [1, 2, 3, 4]|select('even')|list }}{{ [0, 1, '', 'a']|select|list }}{{ [1, 2]|reject('eq', 1)|list }}
{{ ms|selectattr('role', 'equalto', 'user')|list|length }}{{ ms|selectattr('name')|map(attribute='name')|join }}{{ ms|rejectattr('role', 'in', ['user'])|map(attribute='role')|list }}
{{ ms|map(attribute='f.g', default='-')|list }}{{ ms|map(attribute='role')|unique|list }}{{ ms|sort(attribute='role')|map(attribute='role')|join(',') }}
{{ d|items|list }}{{ d.items()|list }}{{ d.keys()|list }}{{ d.values()|list }}{{ d|dictsort }}{{ d|length }}{{ 'a' in d }}{{ d.get('x') }}{{ d.get('x', 5) }}{{ d.a }}{{ d['a'][1].k }}
{{ d.items() }}{{ d.keys()|length }}{{ {'items': 1}.items is defined }}{{ {'items': 1}['items'] }}{{ {'x': 1}['keys'] is callable }}
{{ d == {'a': [1, {'k': none}], 'b': 1} }}{{ [1] == (1,) }}{{ dict(a=1, **{'b': 2}) }}{{ dict([('x', 1)]) }}{{ range(4)[1] }}{{ range(4)|list }}{{ range(3) }}
{{ [1, 2, 3, 4, 5]|batch(2)|list }}{{ [1, 2, 3]|batch(2, 'x')|list }}{{ [1, 2, 3, 4]|slice(3)|list }}{{ [[1, 2], [3]]|sum(start=[]) }}{{ ms|sum(attribute='w') }}
{{ 1 in [1.0] }}{{ 'a' not in xs }}{{ xs.index('c') }}{{ xs.count('b') }}{{ (xs|map('lower')) is iterable }}{{ (xs|map('lower')) is sequence }}{{ 'x' if xs|select('eq', 'zzz') else 'y' }}
{% set gen = xs|map('lower') %}{{ gen|first }}{{ gen|list }}{{ gen|list }}
""", [{**TEXTS, "ms": [{"role": "user", "f": {"g": 1}, "w": 2}, {"role": "bot", "name": "N", "w": 3.5}]}]),
    ("tests of types", """\
{% for v in [none, true, 1, 1.5, 'a', [1], (1,), {'a': 1}, missing] %}{{ v is none }}{{ v is boolean }}{{ v is integer }}{{ v is float }}\
{{ v is number }}{{ v is string }}{{ v is sequence }}{{ v is iterable }}{{ v is mapping }}{{ v is true }}{{ v is false }}{{ v is defined }}{{ v is callable }}
{% endfor %}
{{ 1 is sameas 1 }}{{ 1 is not none }}{{ 'a' is in 'abc' }}{{ 'upper' is filter }}{{ 'none' is test }}{{ not 1 is none }}{{ 1 is none or 2 is number }}{{ 3 is ne 3 }}
""", [TEXTS]),
    ("values as JSON", """\
{{ d|tojson }}
{{ d|tojson(indent=2) }}
{{ t|tojson }}{{ t|tojson(ensure_ascii=true) }}{{ '"\\\\/\\x01\\x7f<>&\\''|tojson }}{{ [1.0, 1e30, -0.5, true, none, (1, 2)]|tojson }}
{{ {'b': 1, 'a': {1: none, true: 2}}|tojson(sort_keys=false) }}{{ {'b': 1, 'a': []}|tojson(sort_keys=true, indent=1) }}{{ []|tojson(indent=4) }}{{ {}|tojson(indent=4) }}
{{ d|tojson(separators=(',', ':')) }}{{ d|tojson(indent='\\t') }}{{ d|tojson(indent=0) }}
""", [TEXTS]),
    ("inline conditions", """\
{{ 'a' if n == 7 else 'b' }}{{ 'a' if n == 8 else 'b' if n == 7 else 'c' }}{{ ('x' if false) ~ '|' }}{{ 1 if e else 0 }}{{ [1 if true else 2, 3] }}
{{ n and f }}{{ e or 'or' }}{{ not e }}{{ not not e }}{{ n > 3 and f < 3 }}{{ true and false or true }}{{ 1 + 2 if true else 0 }}{{ none or false or 0 or '' or e }}
{{ n is defined and n is number and n > 3 }}{{ (n, f) }}{{ 1, 2 }}{{ 'a'|upper if true else 'b'|upper }}{{ -n|abs }}{{ (2 + 3 * 4) ~ 'x' }}{{ 10 - 2 - 3 }}
""", [TEXTS]),
    ("helpers", """\
{% set c = cycler('a', 'b') %}{{ c.next() }}{{ c.next() }}{{ c.next() }}{{ c.current }}{{ c.reset() }}{{ c.current }}
{% set j = joiner('; ') %}{% for x in xs %}{{ j() }}{{ x }}{% endfor %}
{{ strftime_now('%d %B %Y') }}|{{ strftime_now('%Y') is string }}|{{ strftime_now is defined }}
""", [TEXTS]),
    ("corners that random templates found", """\
{{ missing|last is defined }}{{ 0|select|list }}{{ none|map('upper')|list }}{{ 'a' % [1] }}{{ 'a' % missing }}{{ ()|truncate(6) }}
{{ [{'a': {'b': 1}}, {}]|map(attribute='a.b', default='-')|join }}{{ (xs|map('lower'))|first }}{{ 'abc'|sort }}{{ d|list|last }}
""", [TEXTS]),
    ("a slice of a number", "{{ n[1:] }}", [TEXTS]),
    ("an indent of a number", "{{ n|indent }}", [TEXTS]),
    ("a filter that is not there, in a loop in a dead branch", "{% if false %}{% for x in [] %}{{ 1|no_such_filter }}{% endfor %}{% endif %}ok", [{}]),
    ("a refusal", "{% if n > 3 %}{{ raise_exception('n is ' ~ n) }}{% endif %}ok", [{"n": 2}, {"n": 4}]),
    ("a list that would change", "{% set x = [] %}{% set _ = x.append(1) %}", [{}]),
    ("a filter that is not there, in a dead branch", "{% if false %}{{ 1|no_such_filter }}{% endif %}ok", [{}]),
    ("a filter that is not there", "{{ 1|no_such_filter }}", [{}]),
    ("a test that is not there", "{{ 1 is no_such_test }}", [{}]),
    ("an end that is missing", "{% for x in [1] %}", [{}]),
    ("a bracket that is not closed", "{{ (1 }}", [{}]),
    ("break outside of a loop", "{% break %}", [{}]),
    ("a field of something else", "{% set x = {} %}{% set x.a = 1 %}", [{}]),
    ("a private field", "{% set ns = namespace() %}{% set ns._a = 1 %}", [{}]),
    ("too few values", "{% for a, b in [(1, 2, 3)] %}{% endfor %}", [{}]),
    ("a range that is too long", "{{ range(100001)|length }}", [{}]),
    ("a division by zero", "{{ 1 // 0 }}", [{}]),
]
