#!/usr/bin/env python3
"""Writes testdata/reference/chat/templates.json: what Jinja2, set up as transformers does, makes of awkward templates.

  python3 -m venv VENV && VENV/bin/pip install jinja2 transformers
  VENV/bin/python tools/oracle/chat_templates.py

The templates are those of chat_template_cases.py and chat_template_conversations.py, written for this test. Spans of
`generation` blocks are stored as bytes. `strftime_now` stands at noon of 26 July 2024.
"""

import datetime
import json
import pathlib

import jinja2
from chat_template_cases import CASES
from chat_template_conversations import CONVERSATIONS
from transformers.utils import chat_template_utils as library

NOW = datetime.datetime(2024, 7, 26, 12, 0, 0)
FILE = pathlib.Path(__file__).resolve().parents[2] / "testdata" / "reference" / "chat" / "templates.json"


def bytes_before(text, characters):
    return len(text[:characters].encode())


def result(template, variables):
    try:
        compiled = library._compile_jinja_template(template)
        compiled.globals["strftime_now"] = NOW.strftime
        blocks, spans = [], []
        with compiled.environment.activate_tracker(blocks, spans):
            blocks.extend(compiled.generate(**variables))
        text = "".join(blocks)
    except jinja2.exceptions.TemplateError as error:
        is_refusal = type(error) is jinja2.exceptions.TemplateError
        return {"error": "refusal" if is_refusal else "error", "said": str(error)[:100]}
    except Exception as error:  # Python's own errors come through as they are
        return {"error": "error", "said": f"{type(error).__name__}: {error}"[:100]}
    out = {"text": text}
    if spans:
        out["generations"] = [[bytes_before(text, begin), bytes_before(text, end)] for begin, end in spans]
    return out


def main():
    cases = []
    for name, template, inputs in CASES + CONVERSATIONS:
        runs = [{"variables": variables, **result(template, variables)} for variables in inputs]
        cases.append({"name": name, "template": template, "runs": runs})
        for run in runs:
            print(f"{name}: {run.get('said', 'ok')}")
    FILE.parent.mkdir(parents=True, exist_ok=True)
    lines = ",\n".join(json.dumps(case, ensure_ascii=False) for case in cases)
    FILE.write_text(f"[\n{lines}\n]\n", encoding="utf-8")


if __name__ == "__main__":
    main()
