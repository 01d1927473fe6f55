#!/usr/bin/env python3
"""Makes testdata/reference/gguf/tokenizers: small GGUF files of tokens with scores, as those of Phi-3 and of others, and in
ids.json the ids that llama.cpp gives with them.

  python -m pip install gguf llama-cpp-python    # into a Python outside of the repository
  python tools/oracle/gguf_tokenizers.py

Of each text: the ids without and with special tokens in the text.
"""

import json
import pathlib

import gguf
import llama_cpp

FOLDER = pathlib.Path(__file__).resolve().parents[2] / "testdata" / "reference" / "gguf" / "tokenizers"
WORDS = "the they there then this that a an and any in into it is user end of text hello world say sun son ab aab abc".split()
NORMAL, UNKNOWN, CONTROL, USER_DEFINED, UNUSED, BYTE = range(1, 7)
# The tokens that Phi-3 adds, and two that Llama's library would keep whole in its merges.
ADDED = [("<|endoftext|>", CONTROL), ("<|user|>", CONTROL), ("<|end|>", CONTROL), ("<|tool|>", USER_DEFINED), ("ab", USER_DEFINED),
         ("the end", USER_DEFINED), ("<|unused|>", UNUSED)]  # fmt: skip
FILES = {  # the name of the model, and whether a space stands before a text
    "phi3": ("Phi-3-mini", True),
    "phi3_no_prefix": ("phi3", False),
    "other": ("Other", True),
    "other_no_prefix": ("Other", False),
}
TEXTS = [
    "", " ", "  ", "the", " the", "the user", "a\nb", "\n\n", "\t the\r\n", "hello  world", "caf\u00e9 \u732b \U0001f642", "ab",
    "aab abc", "xabx", "the end", "in the end of", "the ending", " the end ", "<|tool|>", "a<|tool|>b", "a <|tool|> b",
    "a  <|tool|>   b", "<|tool|>\n the", "<|tool|><|tool|>", "<|tool|> <|tool|>", "<|tool|>ab the end", "<s>", "</s>", "a</s>  b",
    "a<s>  b", "<unk> a", "<|user|>\nhello<|end|>\n<|user|> it is", "<|user|> \u00a0 hello", "<|end|>\u3000hello", "<|end|>\x0b\x0chi",
    "<|endoftext|> the", "a <|endoftext|>\n\nb", "<|user|>", "<|user|>  ", "  <|user|>the", "<|unused|> a", "<|us", "<|user|",
    "user|> <|end|><|end|>  <|tool|>  ", "ab<|end|>ab", "<|end|>ab <|end|> ab", "\u2581the\u2581end", "\u2581 \u2581<|end|>\u2581a",
]  # fmt: skip


def vocabulary():
    tokens, scores, types = [], [], []

    def add(text, score, kind):
        if text in tokens:
            return
        tokens.append(text)
        scores.append(score)
        types.append(kind)

    add("<unk>", 0.0, UNKNOWN)
    add("<s>", 0.0, CONTROL)
    add("</s>", 0.0, CONTROL)
    for byte in range(256):
        add(f"<0x{byte:02X}>", 0.0, BYTE)
    merged = []
    for word in WORDS:
        for text in ("\u2581" + word, word):
            merged += [text[:size] for size in range(2, len(text) + 1)]
    merged += ["\u2581\u2581", "\u2581\u2581\u2581\u2581"]
    own = dict(ADDED)
    for rank, text in enumerate(sorted({text for text in merged if text not in own}, key=lambda text: (len(text), text))):
        add(text, -1.0 - rank, NORMAL)
    for character in sorted(set("".join(merged)) | set("<|>/x")):
        add(character, -1000.0 - ord(character), NORMAL)
    for text, kind in ADDED:
        add(text, -10000.0 if kind == UNUSED else 0.0, kind)
    return tokens, scores, types


def write(path, name, has_prefix):
    tokens, scores, types = vocabulary()
    writer = gguf.GGUFWriter(path, "phi3")
    writer.add_name(name)
    writer.add_tokenizer_model("llama")
    writer.add_tokenizer_pre("default")
    writer.add_token_list(tokens)
    writer.add_token_scores(scores)
    writer.add_token_types(types)
    writer.add_unk_token_id(0)
    writer.add_bos_token_id(1)
    writer.add_eos_token_id(2)
    writer.add_add_space_prefix(has_prefix)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def ids(vocab, text, special):
    data, room = text.encode(), 4096
    out = (llama_cpp.llama_token * room)()
    count = llama_cpp.llama_tokenize(vocab, data, len(data), out, room, False, special)
    assert count >= 0
    return list(out[:count])


def main():
    FOLDER.mkdir(exist_ok=True)
    llama_cpp.llama_backend_init()
    params = llama_cpp.llama_model_default_params()
    params.vocab_only = True
    out = {"texts": TEXTS, "ids": {}}
    for file, (name, has_prefix) in FILES.items():
        path = FOLDER / f"{file}.gguf"
        write(path, name, has_prefix)
        model = llama_cpp.llama_model_load_from_file(str(path).encode(), params)
        assert model, file
        vocab = llama_cpp.llama_model_get_vocab(model)
        out["ids"][file] = [[ids(vocab, text, special) for special in (False, True)] for text in TEXTS]
        llama_cpp.llama_model_free(model)
    (FOLDER / "ids.json").write_text(json.dumps(out, separators=(",", ":")) + "\n")


if __name__ == "__main__":
    main()
