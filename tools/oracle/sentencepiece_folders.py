#!/usr/bin/env python3
"""Makes testdata/reference/tokenizers/pieces_*: folders with a SentencePiece model, tokens added to it by the files beside, and
no tokenizer.json; and in pieces.json what transformers gives for texts, by its tokenizers without Rust. Needs transformers 4.
"""

import json

import sentencepiece
from tokenizer_json import FOLDER, TEXTS, Random, digest, packed, random_text
from tokenizers_made import CORPUS
from transformers.models.llama.tokenization_llama import LlamaTokenizer

NUM_RANDOM = 5000
SIZE = 600
MORE_TEXTS = [
    "<|im_start|>user\nHi there<|im_end|>\n<|im_start|>assistant\n", "[INST] What? [/INST] This.</s>", "<tool> x</tool>",
    "x <left>  y", "<|im_start|>  two", "  <tool>  <left><one> z", "<s><s> a", "<|im_start|>", " <|im_start|> ", "▁<tool>▁a",
]  # fmt: skip
CHAT = "{% for m in messages %}<|im_start|>{{ m['role'] }}\n{{ m['content'] }}<|im_end|>\n{% endfor %}"


def model():
    text = FOLDER / "pieces.txt"
    text.write_text("\n".join(line for line in CORPUS if line) + "\n")
    prefix = str(FOLDER / "pieces")
    sentencepiece.SentencePieceTrainer.Train(
        input=str(text), model_prefix=prefix, vocab_size=SIZE, model_type="bpe", byte_fallback=True, num_threads=1,
        normalization_rule_name="identity", remove_extra_whitespaces=False, split_digits=True, minloglevel=2,
        character_coverage=0.98, control_symbols=["[INST]"], user_defined_symbols=["<one>"],
    )  # fmt: skip
    made = (FOLDER / "pieces.model").read_bytes()
    for name in ("pieces.txt", "pieces.model", "pieces.vocab"):
        (FOLDER / name).unlink()
    return made


def added(content, special=True, lstrip=False, rstrip=False):
    return {"content": content, "lstrip": lstrip, "normalized": False, "rstrip": rstrip, "single_word": False, "special": special}


BASE = {0: added("<unk>"), 1: added("<s>"), 2: added("</s>"), 3: added("[INST]")}
NEW = {SIZE: added("<|im_start|>", rstrip=True), SIZE + 1: added("<tool>", special=False), SIZE + 2: added("<left>", lstrip=True),
       SIZE + 5: added("<|im_end|>")}  # fmt: skip
FOLDERS = {
    # As folders were before added_tokens_decoder: what a token is for stands in another file.
    "old": {
        "added_tokens.json": {"<|im_end|>": SIZE + 1, "<|im_start|>": SIZE, "<tool>": SIZE + 2},
        "special_tokens_map.json": {
            "bos_token": "<s>", "eos_token": added("<|im_end|>"), "unk_token": "<unk>", "pad_token": "[PAD]",
            "additional_special_tokens": ["<|im_start|>"],
        },
        "tokenizer_config.json": {"tokenizer_class": "LlamaTokenizer", "bos_token": "<s>", "eos_token": "</s>"},
    },
    "legacy": {
        "tokenizer_config.json": {
            "tokenizer_class": "LlamaTokenizer", "added_tokens_decoder": BASE | NEW, "bos_token": "<s>", "eos_token": "<|im_end|>",
            "unk_token": "<unk>", "pad_token": "</s>", "legacy": True, "add_bos_token": True, "add_eos_token": True,
            "chat_template": CHAT,
        },
    },
    "single": {
        "tokenizer_config.json": {
            "tokenizer_class": "LlamaTokenizer", "added_tokens_decoder": BASE | NEW, "bos_token": "<s>", "eos_token": "<|im_end|>",
            "unk_token": "<unk>", "legacy": False, "add_bos_token": False,
        },
    },
}  # fmt: skip


def expected(folder):
    tokenizer = LlamaTokenizer.from_pretrained(str(folder))

    def ids(text):
        return tokenizer.convert_tokens_to_ids(tokenizer.tokenize(text))

    random = Random(7)
    return {
        "with_special": [ids(text) for text in TEXTS + MORE_TEXTS],
        "framed": tokenizer("Hi").input_ids,
        "random": digest(packed(ids(random_text(random))) for _ in range(NUM_RANDOM)),
        "bos": tokenizer.bos_token_id if tokenizer.add_bos_token else None,
        "eos": tokenizer.eos_token_id,
        "pad": tokenizer.pad_token_id,
        "added": sorted(i for i in tokenizer.added_tokens_decoder if i >= SIZE),
        "vocab_size": max(len(tokenizer), max(tokenizer.added_tokens_decoder) + 1),
    }


def main():
    made = model()
    out = {"texts": TEXTS + MORE_TEXTS, "num_random": NUM_RANDOM, "folders": {}}
    for name, files in FOLDERS.items():
        folder = FOLDER / f"pieces_{name}"
        folder.mkdir(exist_ok=True)
        (folder / "tokenizer.model").write_bytes(made)
        for file, content in files.items():
            (folder / file).write_text(json.dumps(content, indent=1) + "\n")
        out["folders"][name] = expected(folder)
    text = json.dumps(out, ensure_ascii=True, separators=(",", ":"))
    (FOLDER / "pieces.json").write_text(text.replace('},"', '},\n"') + "\n")


if __name__ == "__main__":
    main()
