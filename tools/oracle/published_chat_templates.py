#!/usr/bin/env python3
"""Makes testdata/reference/chat/published.json: hashes of what Jinja2, set up as transformers does, makes of the chat templates
in a folder (*.jinja; `./dev foreign` lays out such a folder), with many conversations: turns of all roles, tools and calls of them,
thoughts, contents in parts, wrong orders.

  VENV/bin/python tools/oracle/published_chat_templates.py FOLDER
  VENV/bin/python tools/oracle/published_chat_templates.py FOLDER NAME > one.json    the texts of one template, for
  AXLE_RANDOM_TEMPLATES=one.json build/release/data_parity_test --gtest_filter='TemplateReference.*'
"""

import json
import pathlib
import sys

from chat_template_conversations import LONG, NAMES, PARTS, SHORT, TOOLS, WEATHER
from chat_templates import result
from tokenizer_json import digest


def say(role, content, **more):
    return {"role": role, "content": content, **more}


def call(arguments, content):
    function = {"name": "weather", "arguments": arguments}
    return say("assistant", content, tool_calls=[{"id": "abcdef123", "type": "function", "function": function}])


ANSWER = say("tool", '{"t": 3.5}', name="weather", tool_call_id="abcdef123")
CONVERSATIONS = [
    SHORT[:1], SHORT, LONG, PARTS, TOOLS, [SHORT[1]], [SHORT[0], SHORT[0]], [LONG[0]],
    [say("user", "x"), say("assistant", "<think>\nhm\n</think>\n\ny"), say("user", "z"), say("assistant", "<think>b</think>w")],
    [LONG[0], say("user", "weather?"), call({"city": "Zürich", "days": 2}, None), ANSWER],
    [say("user", "weather?"), call('{"city": "Zürich"}', ""), ANSWER, ANSWER, say("assistant", "3.5"), say("user", "thanks")],
    [say("user", "日本語 🎉 <|im_end|> {{x}} <b> \"q\" & 'r'"), say("assistant", "ok"), say("user", "")],
    [say("developer", "dev"), say("user", "x")],
    [say("user", "x"), say("assistant", "y", reasoning_content="because", thinking="t"), say("user", "z")],
    [say("user", "x"), say("unheard of", "y")],
]  # fmt: skip
MORE = [
    {},
    {"enable_thinking": False},
    {"enable_thinking": True, "thinking": True, "date_string": "01 Jan 2025", "builtin_tools": ["wolfram"],
     "tools_in_user_message": False, "reasoning_effort": "high", "custom_tools": None},
]  # fmt: skip


FILE = pathlib.Path(__file__).parents[2] / "testdata" / "reference" / "chat" / "published.json"


def inputs(messages):
    for tools in (None, [WEATHER], [WEATHER, WEATHER]):
        for prompt in (False, True):
            for more in MORE:
                yield {"messages": messages, "tools": tools, "documents": None, "add_generation_prompt": prompt, **NAMES, **more}


def all_texts(name, template):
    runs = [{"variables": v, **result(template, v)} for messages in CONVERSATIONS for v in inputs(messages)]
    json.dump({"variables": {}, "cases": [{"name": name, "template": template, "runs": runs}]}, sys.stdout)


def hashed(template, messages):
    """Of the texts, and of the kinds of errors."""
    runs = [result(template, variables) for variables in inputs(messages)]
    return digest((run.get("error", "text") + "\n" + run.get("text", "")).encode() for run in runs)


def main():
    templates = {path.stem: path.read_bytes().decode() for path in sorted(pathlib.Path(sys.argv[1]).glob("*.jinja"))}
    if len(sys.argv) > 2:
        return all_texts(sys.argv[2], templates[sys.argv[2]])
    hashes = {name: [hashed(template, m) for m in CONVERSATIONS] for name, template in templates.items()}
    made = {"conversations": CONVERSATIONS, "tools": [None, [WEATHER], [WEATHER, WEATHER]], "more": MORE, "names": NAMES}
    rows = [f"{json.dumps(key)}: {json.dumps(value, ensure_ascii=False)}" for key, value in made.items()]
    rows.append('"hashes": {\n' + ",\n".join(f"{json.dumps(n)}: {json.dumps(h)}" for n, h in hashes.items()) + "\n}")
    FILE.write_text("{\n" + ",\n".join(rows) + "\n}\n", encoding="utf-8")


if __name__ == "__main__":
    main()
