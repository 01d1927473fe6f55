#!/usr/bin/env python3
"""Makes testdata/reference/tokenizers/training.json: the merges that Hugging Face's BpeTrainer learns.

The text is made by a seeded generator, which src/data/tokenizers/training/train_tokenizer_parity_test.cpp has, too. For each
pattern that cuts text: a hash of the merges; and for one of them the merges themselves.
"""

import json

import tokenizers
from tokenizer_json import FOLDER, Random, digest, random_text
from tokenizers import Tokenizer, models, pre_tokenizers, trainers
from tokenizers_made import DEEPSEEK, GPT2, LLAMA3, O200K, QWEN2, bytes_last, split

SIZE, CHARACTERS_SIZE, MIN_FREQUENCY, SPECIAL = 700, 5000, 2, ["<|first|>", "<|last|>"]
SYLLABLES = ["ba", "ke", "ti", "lo", "mu", "sha", "ren", "dor", "vi", "an", "est", "our", "in", "g", "ng", "ét", "öl", "猫", "です"]
MARKS = [",", ".", "'s", "!", " 1984", "12345", "_x", "(a)", "\t", "'LL", " - ", "\r"]
FAMILIES = {
    "gpt2": [GPT2], "llama3": [LLAMA3], "cl100k": [LLAMA3], "qwen2": [QWEN2], "o200k": [O200K], "smollm": [r"\p{N}", GPT2],
    "deepseek-v3": [r"\p{N}{1,3}", "[一-龥぀-ゟ゠-ヿ]+", DEEPSEEK],
}  # fmt: skip


def training_text():
    random = Random(11)
    words = []
    for _ in range(400):
        words.append("".join(SYLLABLES[random.below(len(SYLLABLES))] for _ in range(1 + random.below(4))))
    out = []
    for _ in range(3000):
        if random.below(10) == 0:
            out.append(" " * random.below(5))
        for i in range(1 + random.below(12)):
            if i > 0:
                out.append(" ")
            most = 1 + random.below(len(words))  # the first words are frequent
            out.append(words[random.below(most)])
            mark = random.below(40)
            if mark < len(MARKS):
                out.append(MARKS[mark])
        if random.below(8) == 0:
            out.append(random_text(random).replace("\0", "").replace("<0x41>", ""))
        out.append("\n\n" if random.below(6) == 0 else "\n")
    return "".join(out)


def merges_of(patterns, text):
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = bytes_last(*(split(pattern) for pattern in patterns))
    trainer = trainers.BpeTrainer(
        vocab_size=SIZE, min_frequency=MIN_FREQUENCY, special_tokens=SPECIAL, show_progress=False,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
    )  # fmt: skip
    tokenizer.train_from_iterator([text], trainer)
    model = json.loads(tokenizer.to_str())["model"]
    assert sorted(model["vocab"].values()) == list(range(len(model["vocab"])))
    return [" ".join(merge) for merge in model["merges"]]


def merges_of_characters(text):
    tokenizer = Tokenizer(models.BPE())
    words = pre_tokenizers.Metaspace(prepend_scheme="never")
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([words, split(r"\n+")])
    special = SPECIAL + [f"<0x{byte:02X}>" for byte in range(256)]
    trainer = trainers.BpeTrainer(
        vocab_size=CHARACTERS_SIZE, min_frequency=MIN_FREQUENCY, special_tokens=special, show_progress=False
    )
    tokenizer.train_from_iterator([text], trainer)
    merges = [" ".join(merge) for merge in json.loads(tokenizer.to_str())["model"]["merges"]]
    assert len(merges) > 300
    return merges


def main():
    text = training_text()
    merges = {family: merges_of(patterns, text) for family, patterns in FAMILIES.items()}
    characters = digest(merge.encode() for merge in merges_of_characters(text))
    out = {
        "made_by": f"tokenizers {tokenizers.__version__}", "text": digest([text.encode()]), "syllables": SYLLABLES, "marks": MARKS,
        "vocab_size": SIZE, "min_frequency": MIN_FREQUENCY, "special": SPECIAL, "llama3": merges["llama3"],
        "characters": characters, "characters_size": CHARACTERS_SIZE,
        "merges": {family: digest(merge.encode() for merge in made) for family, made in merges.items()},
    }  # fmt: skip
    (FOLDER / "training.json").write_text(json.dumps(out, ensure_ascii=True, separators=(",", ":")) + "\n")


if __name__ == "__main__":
    main()
