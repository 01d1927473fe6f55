#!/usr/bin/env python3
"""Makes testdata/reference/tokenizers/named_tokens.json: what transformers 5 makes of small tokenizers whose files beside the
tokenizer.json (tokenizer_config.json, special_tokens_map.json, added_tokens.json) add tokens, or say what tokens are for.
"""

import json
import pathlib
import random
import tempfile

from tokenizer_json import FOLDER
from transformers import AutoTokenizer

NUM_RANDOM = 120
TEXTS = ["ab</s> <s> a", "AB ab  <x>  b<X>c", "<|im_start|>a<|im_end|> <p>b<t> c", "a<e>b<E> <b><y> <q> <n><im>"]
FLAGS = ["lstrip", "rstrip", "single_word", "normalized", "special"]


def token(content, **flags):
    return {"content": content} | dict.fromkeys(FLAGS[:4], False) | {"special": True} | flags


def named(content, **flags):
    return {"__type": "AddedToken"} | token(content, **flags)


def rows(first, *contents):
    return {str(first + i): token(content) for i, content in enumerate(contents)}


def document(added, texts, lower_case):
    vocab = {text: i for i, text in enumerate(texts)}
    return {
        "version": "1.0", "truncation": None, "padding": None, "pre_tokenizer": None, "post_processor": None, "decoder": None,
        "added_tokens": [{"id": vocab.get(row["content"], len(vocab))} | row for row in added],
        "normalizer": {"type": "Lowercase"} if lower_case else None,
        "model": {"type": "BPE", "vocab": vocab, "merges": [["a", "b"], ["ab", "c"]]},
    }  # fmt: skip


PIECES = ["a", "b", "ab", "abc", "c", "<s>", " ", "</s>", "<", "s", ">", "/", "AB", "x", "e"]
DOCUMENTS = {
    "lower": document([token("<s>"), token("<t>", special=False, normalized=True, lstrip=True)], PIECES, True),
    "plain": document([], PIECES[:7], False),
}
IDS = {name: len(made["model"]["vocab"]) + (name == "lower") for name, made in DOCUMENTS.items()}  # the next id

ENDS = rows(IDS["plain"], "<|im_start|>", "<|im_end|>")
NAMES = {"pad_token": "<p>", "mask_token": "<m>", "eos_token": "<e>", "bos_token": "<b>"}
CASES = [
    ("plain", {}),
    ("plain", {"tokenizer_config": {"added_tokens_decoder": ENDS, "eos_token": "<|im_end|>"}}),
    ("plain", {"tokenizer_config": {"added_tokens_decoder": rows(20, "<|im_start|>", "<|im_end|>")}}),  # the order alone counts
    ("plain", {"tokenizer_config": {"added_tokens_decoder": rows(2, "<|im_end|>", "<|im_start|>")}}),
    ("plain", {"tokenizer_config": NAMES | {"additional_special_tokens": ["<x>", "<s>", "<y>"]}}),
    ("plain", {"tokenizer_config": NAMES | {"added_tokens_decoder": ENDS, "additional_special_tokens": ["<x>", "<p>"]}}),
    ("plain", {"tokenizer_config": {"additional_special_tokens": ["<n>"], "extra_special_tokens": ["<x>", "<y>"]}}),
    ("plain", {"tokenizer_config": {"additional_special_tokens": ["<n>"], "extra_special_tokens": {"u": "<x>", "v_token": "<y>"},
                                    "image_token": "<im>", "add_bos_token": True, "model_token": None}}),
    ("plain", {"tokenizer_config": {"additional_special_tokens": ["<n>"], "extra_special_tokens": [], "image_token": "<im>"}}),
    ("plain", {"tokenizer_config": {"x_token": "<x>", "y_token": named("<y>", lstrip=True), "n_token": token("<n>")}}),
    ("plain", {"tokenizer_config": {"eos_token": None, "pad_token": "", "additional_special_tokens": None}}),
    ("plain", {"tokenizer_config": {"added_tokens_decoder": {"7": token("<x>"), "8": token("<x>", rstrip=True)}}}),
    ("lower", {"tokenizer_config": {"eos_token": "</s>", "unk_token": "AB"}}),  # tokens of the model become special ones
    ("lower", {"tokenizer_config": {"added_tokens_decoder": {"5": token("<s>", lstrip=True, rstrip=True)}}}),
    ("lower", {"tokenizer_config": {"added_tokens_decoder": {"5": token("<s>", special=False, normalized=True)}}}),
    ("lower", {"tokenizer_config": {"added_tokens_decoder": {"12": token("AB", special=False)}}}),
    ("lower", {"tokenizer_config": {"added_tokens_decoder": {"16": {"content": "<X>"}, "17": {"content": "<E>", "special": True}}}}),
    ("lower", {"tokenizer_config": {"added_tokens_decoder": {"16": {"content": "<X>"}}, "eos_token": "<X>"}}),
    ("lower", {"tokenizer_config": {"eos_token": "<e>", "bos_token": "<b>"},
               "special_tokens_map": {"eos_token": token("<E>", rstrip=True), "image_token": "<im>", "q_token": token("<q>")}}),
    ("lower", {"tokenizer_config": {"eos_token": "<E>"}, "added_tokens": {"<y>": 17, "<x>": 16, "<E>": 18}}),
    ("lower", {"added_tokens": {"<s>": 5, "<t>": 15, "<x>": 16}}),
    ("lower", {"added_tokens": {"<x>": 5, "<y>": 16}}),  # one id, two texts
    ("lower", {"tokenizer_config": {"eos_token": "<t>"}}),
    ("lower", {"tokenizer_config": {"eos_token": "<t>", "added_tokens_decoder": rows(16, "<x>")}}),
    ("lower", {"tokenizer_config": {"eos_token": "<t>",
                                    "added_tokens_decoder": {"15": token("<t>", special=False, normalized=True, lstrip=True)}}}),
    ("lower", {"tokenizer_config": {"added_tokens_decoder": rows(16, "<x>")}, "special_tokens_map": {"eos_token": "<e>"},
               "added_tokens": {"<y>": 17}}),  # the list alone counts
]  # fmt: skip


def random_case(r):
    contents = ["<X>", "<|im_start|>", "<|im_end|>", "<p>", "<b>", "<E>", "<y>", "<n>", "<q>", "<im>", "<s>", "<t>", "</s>", "AB", "c"]
    base = r.choice(list(DOCUMENTS))
    is_old = r.random() < 0.3

    def row(text):
        out = {name: r.random() < 0.3 for name in FLAGS if r.random() < 0.4}
        if text != text.lower():  # a special token is text for the library if normalizers change it
            out.pop("normalized", None)
        return {"content": text} | (out if r.random() < 0.5 else {})

    config, files = {}, {"tokenizer_config": {}}
    if is_old:
        files["added_tokens"] = {text: IDS[base] + i for i, text in enumerate(r.sample(contents, r.randrange(4)))}
    else:
        ids = r.sample(range(25), r.randrange(5))
        config["added_tokens_decoder"] = {str(i): row(text) for i, text in zip(ids, r.sample(contents, len(ids)))}
    for name in r.sample(["bos_token", "eos_token", "unk_token", "sep_token", "pad_token", "cls_token", "mask_token"], r.randrange(5)):
        text = r.choice(contents)
        config[name] = r.choice([text, text, {"__type": "AddedToken"} | row(text)])
    for name in r.sample(["image_token", "a_token"], r.randrange(3) if r.random() < 0.4 and not is_old else 0):
        config[name] = r.choice(contents)
    if r.random() < 0.6:
        listed = r.sample(contents, r.randrange(4))
        kind = r.randrange(2 if is_old else 3)
        if kind == 2:
            config["extra_special_tokens"] = {f"own{i}": text for i, text in enumerate(listed)}
        else:
            config["extra_special_tokens" if kind else "additional_special_tokens"] = listed
    items = list(config.items())
    r.shuffle(items)
    files["tokenizer_config"] = dict(items)
    return base, files


def expected(base, files):
    with tempfile.TemporaryDirectory() as folder:
        for name, content in {"tokenizer": DOCUMENTS[base], **files}.items():
            (pathlib.Path(folder) / f"{name}.json").write_text(json.dumps(content))
        tokenizer = AutoTokenizer.from_pretrained(folder)
    ids = [tokenizer.encode(text, add_special_tokens=False) for text in TEXTS]
    return {
        "with_special": ids,
        "plain": [tokenizer.encode(text, add_special_tokens=False, split_special_tokens=True) for text in TEXTS],
        "decoded": [tokenizer.decode(one, skip_special_tokens=True) for one in ids],
        "added": {str(i): str(added) for i, added in sorted(tokenizer.added_tokens_decoder.items())},
        "bos": tokenizer.bos_token_id, "eos": tokenizer.eos_token_id, "pad": tokenizer.pad_token_id,
        "vocab_size": len(tokenizer),
    }  # fmt: skip


def main():
    r = random.Random(7)
    cases = [*CASES, *(random_case(r) for _ in range(NUM_RANDOM))]
    out = [{"document": base, "files": files} | expected(base, files) for base, files in cases]
    text = json.dumps({"documents": DOCUMENTS, "texts": TEXTS, "cases": out}, separators=(",", ":"))
    (FOLDER / "named_tokens.json").write_text(text.replace('{"document":', '\n{"document":') + "\n")


if __name__ == "__main__":
    main()
