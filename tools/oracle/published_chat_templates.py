#!/usr/bin/env python3
"""Prints what Jinja2, set up as transformers does, makes of the chat templates in a folder (*.jinja), with many conversations:
turns of all roles, tools and calls of them, thoughts, contents in parts, wrong orders. Archives of programs have such folders
(vendor/llama.cpp/models/templates of the package llama-cpp-python).

  VENV/bin/python tools/oracle/published_chat_templates.py FOLDER > published.json
  AXLE_RANDOM_TEMPLATES=published.json build/release/data_parity_test --gtest_filter='TemplateReference.*'
"""

import json
import pathlib
import sys

from chat_template_conversations import LONG, NAMES, PARTS, SHORT, TOOLS, WEATHER
from chat_templates import result


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


def inputs():
    for messages in CONVERSATIONS:
        for tools in (None, [WEATHER], [WEATHER, WEATHER]):
            for prompt in (False, True):
                for more in MORE:
                    yield {"messages": messages, "tools": tools, "documents": None, "add_generation_prompt": prompt, **NAMES, **more}


def main():
    cases = []
    for path in sorted(pathlib.Path(sys.argv[1]).glob("*.jinja")):
        template = path.read_text(encoding="utf-8")
        runs = [{"variables": variables, **result(template, variables)} for variables in inputs()]
        cases.append({"name": path.name, "template": template, "runs": runs})
    json.dump({"variables": {}, "cases": cases}, sys.stdout)


if __name__ == "__main__":
    main()
