#!/usr/bin/env python3
"""Makes testdata/reference/tokenizers/frames.json: what transformers puts around a text, for the small tokenizers beside it with
other post-processors and with files tokenizer_config.json of many kinds.

Of two settings, add_bos_token and add_eos_token, it takes no notice where there is a tokenizer.json. Two of its classes take no
notice of the post-processor: GPTNeoXTokenizer puts nothing around a text, CodeLlamaTokenizer the begin token before it.
"""

import itertools
import json
import pathlib
import tempfile

from tokenizer_json import FOLDER
from tokenizers import Tokenizer
from transformers import AutoTokenizer

TEXT = "Hi there, 12 or 3"
BYTES = {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": False, "use_regex": True}
FLAGS = [True, False, None]
KEYS = [{}, *({"add_bos_token": flag} for flag in FLAGS), *({"add_eos_token": flag} for flag in FLAGS),
        {"add_bos_token": True, "add_eos_token": True}, {"add_bos_token": False, "add_eos_token": False}]  # fmt: skip
# A tokenizer, its begin and end tokens, and classes that cut and merge as it does.
KINDS = [
    ("gpt2", ["<|begin|>", "<|end|>"], [None, "PreTrainedTokenizerFast", "LlamaTokenizer", "LlamaTokenizerFast", "GPT2Tokenizer",
                                        "GPTNeoXTokenizer", "GPTNeoXTokenizerFast", "BloomTokenizerFast"]),
    ("llama2", ["<s>", "</s>"], [None, "PreTrainedTokenizer", "LlamaTokenizer", "LlamaTokenizerFast", "CodeLlamaTokenizer",
                                 "CodeLlamaTokenizerFast"]),
]  # fmt: skip


def template(tokenizer, before, behind):
    def parts(names):
        return [{"SpecialToken": {"id": name, "type_id": 0}} for name in names]

    single = [*parts(before), {"Sequence": {"id": "A", "type_id": 0}}, *parts(behind)]
    named = {name: {"id": name, "ids": [tokenizer.token_to_id(name)], "tokens": [name]} for name in before + behind}
    pair = [*single, {"Sequence": {"id": "B", "type_id": 1}}]
    return {"type": "TemplateProcessing", "single": single, "pair": pair, "special_tokens": named}


def post_processors(kind, tokenizer, begin, end):
    frames = [template(tokenizer, [begin], []), template(tokenizer, [begin], [end]), template(tokenizer, [end], [begin])]
    if kind != "gpt2":
        return [None, *frames]
    return [None, BYTES, *frames, {"type": "Sequence", "processors": [BYTES, frames[0]]}]


def ids_of(document, config):
    with tempfile.TemporaryDirectory() as folder:
        for name, content in ("tokenizer.json", document), ("tokenizer_config.json", config):
            (pathlib.Path(folder) / name).write_text(json.dumps(content))
        return AutoTokenizer.from_pretrained(folder)(TEXT).input_ids


def main():
    kinds = {}
    for kind, (begin, end), classes in KINDS:
        document = json.loads((FOLDER / f"{kind}.json").read_text())
        tokenizer = Tokenizer.from_str(json.dumps(document))
        ids = tokenizer.encode(TEXT, add_special_tokens=False).ids
        named = {"bos_token": begin, "eos_token": end, "unk_token": end if kind == "gpt2" else "<unk>"}
        configs = [{"tokenizer_class": name} | named | keys if name else named | keys for name in classes for keys in KEYS]
        processors = post_processors(kind, tokenizer, begin, end)
        frames = []
        for processor, config in itertools.product(processors, configs):
            got = ids_of(document | {"post_processor": processor}, config)
            at = next(i for i in range(len(got)) if got[i : i + len(ids)] == ids)
            frames.append([got[:at], got[at + len(ids) :]])
        kinds[kind] = {"post_processors": processors, "configs": configs, "frames": frames}
    text = json.dumps({"text": TEXT, "kinds": kinds}, separators=(",", ":"))
    for sign in ('"gpt2":', '"llama2":', '"configs":', '"frames":', '{"tokenizer_class"', '{"bos_token"', '{"type":"T', "[[[", "null,{"):
        text = text.replace(sign, "\n" + sign)
    (FOLDER / "frames.json").write_text(text + "\n")


if __name__ == "__main__":
    main()
