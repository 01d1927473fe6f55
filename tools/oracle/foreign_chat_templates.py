#!/usr/bin/env python3
"""Prints the hashes of src/data/chat/chat_template_foreign_test.cpp: templates of real models, rendered by transformers.

  VENV/bin/pip install gguf
  VENV/bin/python tools/oracle/foreign_chat_templates.py FOLDER      FOLDER as `./dev foreign` fills it
"""

import hashlib
import pathlib
import sys

import gguf
from chat_template_conversations import LONG, SHORT
from chat_templates import result


def in_gguf(path):
    field = gguf.GGUFReader(path).fields["tokenizer.chat_template"]
    return bytes(field.parts[field.data[0]]).decode()


def main():
    folder = pathlib.Path(sys.argv[1])
    templates = {"smollm2": in_gguf(folder / "gguf/smollm2-135m-instruct-q4_1.gguf")}
    for name, template in templates.items():
        for messages in (SHORT, LONG, LONG[:-1]):
            for prompt in (False, True):
                got = result(template, {"bos_token": "<s>", "messages": messages, "tools": None, "documents": None, "add_generation_prompt": prompt})
                print(name, len(messages), prompt, hashlib.sha256(got.get("text", got.get("said")).encode()).hexdigest()[:16])


if __name__ == "__main__":
    main()
