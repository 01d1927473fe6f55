"""Makes small tokenizers of every kind with Hugging Face's library, for tokenizer_json.py. Trained on text of this project."""

import base64
import json
import pathlib
import tempfile

import sentencepiece
from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

DOCS = pathlib.Path(__file__).parents[2] / "docs"
OWN = """Der Zug fährt über die Brücke, größer als gedacht. L'été dernier, nous étions à la plage. El niño comió piñas.
Привет, мир! Сегодня хорошая погода, и мы идём гулять. Γειά σου Κόσμε. שלום עולם. مرحبا بالعالم. नमस्ते दुनिया।
今日はいい天気ですね。猫が好きです。東京へ行きました。 안녕하세요 세계. 你好,世界!我们去吃饭吧。 สวัสดีชาวโลก
It's 1234567 and 3.14; they've said we'll see, I'm sure you'd agree... DON'T SHOUT! x = a[i] + b->c && (d || !e);\t\n
def f(x):\n    return x**2\n\n\nfor (int i = 0; i < 10; ++i) { sum += i; }\n😀 👍🏽 👨‍👩‍👧 ①② ½ ﬁ ﬀ ÅÅ
"""


def corpus():
    text = "".join((DOCS / name).read_text()[:20000] for name in ("command_line.md", "lora.md", "how_it_works.md"))
    return (text + OWN * 20).split("\n")


CORPUS = corpus()
GPT2 = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
LLAMA3 = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
QWEN2 = LLAMA3.replace(r"\p{N}{1,3}", r"\p{N}")
DEEPSEEK = (
    r"[!\"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+[\r\n]*|\s*[\r\n]+"
    r"|\s+(?!\S)|\s+"
)
O200K = (
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
    r"|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
    r"|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
SPECIAL = ["<|begin|>", "<|end|>", "<|im_start|>"]


def split(pattern, behavior="isolated", invert=False):
    return pre_tokenizers.Split(Regex(pattern), behavior, invert)


def bytes_last(*first):
    return pre_tokenizers.Sequence([*first, pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])


def framed(tokenizer, single):
    names = [part for part in single.split() if part[0] != "$"]
    return processors.TemplateProcessing(single=single, special_tokens=[(n, tokenizer.token_to_id(n)) for n in names])


def byte_level(pre_tokenizer, size=360, normalizer=None, special=SPECIAL, **options):
    tokenizer = Tokenizer(models.BPE(**options))
    tokenizer.pre_tokenizer = pre_tokenizer
    if normalizer:
        tokenizer.normalizer = normalizer
    tokenizer.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(vocab_size=size, special_tokens=special, initial_alphabet=alphabet, show_progress=False)
    tokenizer.train_from_iterator(CORPUS, trainer)
    return tokenizer


def gpt2():
    return byte_level(pre_tokenizers.ByteLevel(add_prefix_space=False))


def llama3():
    tokenizer = byte_level(bytes_last(split(LLAMA3)), size=700, ignore_merges=True)
    tokenizer.post_processor = processors.Sequence(
        [processors.ByteLevel(trim_offsets=False), framed(tokenizer, "<|begin|> $A")]
    )
    return tokenizer


def qwen2():
    tokenizer = byte_level(bytes_last(split(QWEN2)), normalizer=normalizers.NFC())
    tokenizer.add_tokens([AddedToken("<tool>", normalized=False), AddedToken("</tool>", normalized=False)])
    return tokenizer


def smollm():
    return byte_level(
        pre_tokenizers.Sequence(
            [pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.ByteLevel(add_prefix_space=False)]
        )
    )


def deepseek():
    return byte_level(bytes_last(split(r"\p{N}{1,3}"), split("[一-龥぀-ゟ゠-ヿ]+"), split(DEEPSEEK)))


def o200k():
    return byte_level(bytes_last(split(O200K)))


def roberta():
    tokenizer = byte_level(pre_tokenizers.ByteLevel(add_prefix_space=True), special=["<s>", "</s>", "<mask>"])
    tokenizer.add_special_tokens([AddedToken("<mask>", lstrip=True)])
    tokenizer.post_processor = processors.RobertaProcessing(("</s>", 1), ("<s>", 0))
    return tokenizer


def splits(behavior, invert=False):
    return lambda: byte_level(bytes_last(split(r"[aeiou .]|\d\d", behavior, invert)), size=300)


def cutters():
    return byte_level(
        bytes_last(
            pre_tokenizers.CharDelimiterSplit("_"),
            pre_tokenizers.Split("ab", "merged_with_next"),
            pre_tokenizers.Punctuation("merged_with_previous"),
            pre_tokenizers.Digits(individual_digits=False),
            pre_tokenizers.WhitespaceSplit(),
            pre_tokenizers.FixedLength(7),
        ),
        size=300,
    )


def bytes_first():
    """The bytes are mapped before the text is cut, and by a normalizer."""
    tokenizer = byte_level(
        pre_tokenizers.Sequence(
            [pre_tokenizers.ByteLevel(add_prefix_space=True, use_regex=False), split("Ġ", "merged_with_next")]
        ),
        size=300,
    )
    return tokenizer


def byte_pairs(pre_tokenizer=None, normalizer=None, decoder=None, size=300, prefix=None, suffix=None, train=None, **options):
    tokenizer = Tokenizer(models.BPE(**options))
    trained = Tokenizer(models.BPE(unk_token=options.get("unk_token")))
    trained.normalizer = normalizer or normalizers.Sequence([])
    trained.pre_tokenizer = train or pre_tokenizer or pre_tokenizers.Sequence([])
    special = ["<unk>", "<s>", "</s>"] + [f"<0x{b:02X}>" for b in range(256) if options.get("byte_fallback")]
    more = {"continuing_subword_prefix": prefix} if prefix else {}
    more |= {"end_of_word_suffix": suffix} if suffix else {}
    trainer = trainers.BpeTrainer(
        vocab_size=size + len(special), special_tokens=special, limit_alphabet=90, show_progress=False, **more
    )
    trained.train_from_iterator(CORPUS, trainer)
    made = json.loads(trained.to_str())
    made["model"] |= options
    made["added_tokens"] = made["added_tokens"][:3]
    tokenizer = Tokenizer.from_str(json.dumps(made))
    if pre_tokenizer:
        tokenizer.pre_tokenizer = pre_tokenizer
    if decoder:
        tokenizer.decoder = decoder
    return tokenizer


def sentence_decoder(strip=True):
    steps = [decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse()]
    return decoders.Sequence(steps + ([decoders.Strip(" ", 1, 0)] if strip else []))


def llama2():
    normalizer = normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])
    tokenizer = byte_pairs(
        None, normalizer, sentence_decoder(), unk_token="<unk>", fuse_unk=True, byte_fallback=True,
        train=pre_tokenizers.Metaspace(),
    )  # fmt: skip
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([])
    tokenizer.post_processor = framed(tokenizer, "<s> $A")
    made = json.loads(tokenizer.to_str())
    made["pre_tokenizer"] = None
    return Tokenizer.from_str(json.dumps(made))


def mistral():
    tokenizer = byte_pairs(
        pre_tokenizers.Metaspace(prepend_scheme="first", split=False), None, sentence_decoder(), unk_token="<unk>",
        fuse_unk=True, byte_fallback=True, train=pre_tokenizers.Metaspace(),
    )  # fmt: skip
    return tokenizer


def gemma():
    return byte_pairs(
        pre_tokenizers.Split(" ", "merged_with_previous"), normalizers.Replace(" ", "▁"), sentence_decoder(False),
        unk_token="<unk>", fuse_unk=True, byte_fallback=True, train=pre_tokenizers.Metaspace(),
    )  # fmt: skip


def suffixes():
    normalizer = normalizers.Sequence([normalizers.NFC(), normalizers.Replace(Regex(r"\s+"), " "), normalizers.Lowercase()])
    return byte_pairs(pre_tokenizers.WhitespaceSplit(), normalizer, unk_token="<unk>", suffix="</w>", end_of_word_suffix="</w>")


def prefixes():
    return byte_pairs(
        pre_tokenizers.Whitespace(), normalizers.NFKD(), unk_token="<unk>", fuse_unk=True, prefix="##",
        continuing_subword_prefix="##",
    )  # fmt: skip


def wire_fields(message):
    """The fields of a protobuf message that are bytes."""
    at = 0

    def varint():
        nonlocal at
        value = shift = 0
        while True:
            byte = message[at]
            at += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    while at < len(message):
        key = varint()
        if key & 7 == 2:
            size = varint()
            yield key >> 3, message[at : at + size]
            at += size
        elif key & 7 == 5:
            at += 4
        else:
            varint()


def small_chars_map():
    rules = ["FB01\t66 69", "2460\t31", "FF21\t41", "3000\t20", "41 30A\tC5", "65 301\tE9", "AD\t", "1100 1161\tAC00", "BD\t31 2044 32"]
    with tempfile.TemporaryDirectory() as folder:
        rule_file, text_file, model = (f"{folder}/{name}" for name in ("rules.tsv", "text", "m"))
        pathlib.Path(rule_file).write_text("\n".join(rules) + "\n")
        pathlib.Path(text_file).write_text("\n".join(line for line in CORPUS if line.isascii()))
        sentencepiece.SentencePieceTrainer.Train(
            input=text_file, model_prefix=model, vocab_size=200, hard_vocab_limit=False, normalization_rule_tsv=rule_file,
            character_coverage=0.98, minloglevel=2,
        )  # fmt: skip
        normalizer = dict(wire_fields(pathlib.Path(model + ".model").read_bytes()))[3]
    return dict(wire_fields(normalizer))[2]


def unigram(normalizer, pre_tokenizer, decoder=None, **options):
    tokenizer = Tokenizer(models.Unigram())
    tokenizer.normalizer = normalizer
    tokenizer.pre_tokenizer = pre_tokenizer
    special = ["<s>", "<pad>", "</s>", "<unk>"]
    trainer = trainers.UnigramTrainer(
        vocab_size=400, special_tokens=special, unk_token="<unk>", show_progress=False, max_piece_length=8
    )
    tokenizer.train_from_iterator([line for line in CORPUS if line.isascii()], trainer)
    made = json.loads(tokenizer.to_str())
    made["model"] |= options
    if options.get("byte_fallback"):
        made["model"]["vocab"] += [[f"<0x{b:02X}>", -20.0] for b in range(256)]
    tokenizer = Tokenizer.from_str(json.dumps(made))
    if decoder:
        tokenizer.decoder = decoder
    tokenizer.post_processor = framed(tokenizer, "<s> $A </s>")
    return tokenizer


def t5():
    table = normalizers.Precompiled(small_chars_map())
    return unigram(
        table, pre_tokenizers.Sequence([pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Metaspace()]), decoders.Metaspace()
    )


def nmt():
    normalizer = normalizers.Sequence(
        [normalizers.Nmt(), normalizers.NFKC(), normalizers.Replace(Regex(" {2,}"), " "), normalizers.Strip()]
    )
    never = pre_tokenizers.Metaspace(prepend_scheme="never")
    return unigram(normalizer, never, decoders.Metaspace(prepend_scheme="never"), byte_fallback=True)


def word_pieces(cased):
    tokenizer = Tokenizer(models.WordPiece(unk_token="[UNK]", max_input_chars_per_word=20))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=not cased, strip_accents=None)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.decoder = decoders.WordPiece()
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]"]
    trainer = trainers.WordPieceTrainer(vocab_size=500, special_tokens=special, limit_alphabet=120, show_progress=False)
    tokenizer.train_from_iterator(CORPUS, trainer)
    tokenizer.post_processor = processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
    return tokenizer


def words():
    tokenizer = Tokenizer(models.WordLevel(unk_token="<unk>"))
    tokenizer.normalizer = normalizers.Sequence(
        [normalizers.NFD(), normalizers.StripAccents(), normalizers.Lowercase(), normalizers.Strip(left=True, right=False)]
    )
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    trainer = trainers.WordLevelTrainer(vocab_size=300, special_tokens=["<unk>"], show_progress=False)
    tokenizer.train_from_iterator(CORPUS, trainer)
    return tokenizer


def flags():
    """Added tokens with every flag, and text that is normalized."""
    tokenizer = byte_level(pre_tokenizers.ByteLevel(add_prefix_space=False), normalizer=normalizers.Lowercase())
    tokenizer.add_tokens(
        [
            AddedToken("Word", single_word=True, normalized=True),
            AddedToken("<left>", lstrip=True, normalized=False),
            AddedToken("<right>", rstrip=True, normalized=False),
            AddedToken("<BOTH>", lstrip=True, rstrip=True, normalized=True),
            AddedToken("<one>", single_word=True, normalized=False),
            AddedToken("<one><two>", normalized=False),
            AddedToken("é è", normalized=False),
        ]
    )
    tokenizer.add_special_tokens([AddedToken("<mask>", lstrip=True), AddedToken("<Norm>", normalized=True)])
    return tokenizer


KINDS = {
    "gpt2": gpt2, "llama3": llama3, "qwen2": qwen2, "smollm": smollm, "deepseek": deepseek, "o200k": o200k,
    "roberta": roberta, "removed": splits("removed"), "merged_with_previous": splits("merged_with_previous"),
    "merged_with_next": splits("merged_with_next"), "contiguous": splits("contiguous"),
    "inverted": splits("merged_with_previous", True), "cutters": cutters, "bytes_first": bytes_first, "llama2": llama2,
    "mistral": mistral, "gemma": gemma, "suffixes": suffixes, "prefixes": prefixes, "t5": t5, "nmt": nmt,
    "bert": lambda: word_pieces(False), "bert_cased": lambda: word_pieces(True), "words": words, "flags": flags,
}  # fmt: skip
