#!/usr/bin/env python3
"""Trains the tokenizers testdata/reference/tokenizers/trained_* on the texts of a folder (`./dev foreign` lays it out): kinds
of which that folder has no published one. tokenizer_foreign.py asks for their ids.
"""

import pathlib
import sys
import tempfile

import sentencepiece
from tokenizer_json import FOLDER
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers

SIZE = 6000
TEXTS = ["english", "japanese", "code"]
BYTES = {"japanese": 820_773}  # later versions of the folder have more behind


def lines(folder):
    texts = [(folder / f"text/{name}.txt").read_bytes()[: BYTES.get(name)].decode() for name in TEXTS]
    return [line for text in texts for line in text.splitlines() if line]


def word_pieces(corpus):
    tokenizer = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.decoder = decoders.WordPiece()
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    trainer = trainers.WordPieceTrainer(vocab_size=SIZE, special_tokens=special, limit_alphabet=2000, show_progress=False)
    tokenizer.train_from_iterator(corpus, trainer)
    return tokenizer


def unigram(corpus):
    tokenizer = Tokenizer(models.Unigram())
    tokenizer.normalizer = normalizers.NFKC()
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    tokenizer.decoder = decoders.Metaspace()
    trainer = trainers.UnigramTrainer(
        vocab_size=SIZE, special_tokens=["<s>", "<pad>", "</s>", "<unk>"], unk_token="<unk>", show_progress=False
    )
    tokenizer.train_from_iterator(corpus, trainer)
    return tokenizer


def sentence_pieces(corpus, path, **options):
    """With the normalizer that most published models have, whose table is most of the file."""
    with tempfile.TemporaryDirectory() as folder:
        text = pathlib.Path(folder) / "text"
        text.write_text("\n".join(corpus) + "\n")
        sentencepiece.SentencePieceTrainer.Train(
            input=str(text), model_prefix=f"{folder}/m", vocab_size=SIZE, model_type="unigram", num_threads=1,
            character_coverage=0.9995, user_defined_symbols=["<tool>", "<one>"], minloglevel=2, **options,
        )  # fmt: skip
        path.write_bytes((pathlib.Path(folder) / "m.model").read_bytes())


def main():
    corpus = lines(pathlib.Path(sys.argv[1]))
    for name, train in (("word_pieces", word_pieces), ("unigram", unigram)):
        (FOLDER / f"trained_{name}.json").write_text(train(corpus).to_str(pretty=False))
    sentence_pieces(corpus, FOLDER / "trained_unigram.model")


if __name__ == "__main__":
    main()
