#!/usr/bin/env python3
"""Makes inputs of the measurements in RESULTS.md that no package has.

  bench/inputs.py questions FOLDER           FOLDER/q.yaml: a task of 40 made-up questions, four solved ones before each
  bench/inputs.py weights FOLDER             a Llama of 16 layers of width 1536 in bf16, 1.06 GB, as Hugging Face's programs
                                             write one; its numbers are drawn
  bench/inputs.py sources FILE FROM... [--suffix .py] [--megabytes 1200]
                                             FILE: the files of the folders FROM with this ending, one after the other
"""

import argparse
import json
import pathlib
import random

from fine_tuning import WORDS

NUM_QUESTIONS, NUM_SOLVED = 40, 4
LAYERS, WIDTH, HIDDEN, HEADS, VOCAB = 16, 1536, 4096, 12, 50304


def questions(args):
    """What four words in a row are called, with four choices of two words."""
    args.folder.mkdir(parents=True, exist_ok=True)
    draw = random.Random(0)

    def document():
        words = draw.sample(WORDS, 8)
        choices = [" ".join(words[i : i + 2]) for i in range(0, 8, 2)]
        label = draw.randrange(4)
        return {"question": f"Which pair of crates stands beside the {draw.choice(WORDS)} door?", "choices": choices, "label": label}

    for name, count in (("asked", NUM_QUESTIONS), ("solved", NUM_SOLVED)):
        lines = [json.dumps(document()) + "\n" for _ in range(count)]
        (args.folder / f"{name}.jsonl").write_text("".join(lines), encoding="utf-8")
    files = {split: str((args.folder / f"{name}.jsonl").resolve()) for split, name in (("test", "asked"), ("train", "solved"))}
    task = {"task": "q", "dataset_path": "json", "dataset_kwargs": {"data_files": files}, "output_type": "multiple_choice",
            "test_split": "test", "fewshot_split": "train", "fewshot_config": {"sampler": "first_n"}, "num_fewshot": NUM_SOLVED,
            "doc_to_text": "Question: {{question}}\nAnswer:", "doc_to_choice": "{{choices}}", "doc_to_target": "{{label}}",
            "metric_list": [{"metric": "acc"}, {"metric": "acc_norm"}]}  # fmt: skip
    (args.folder / "q.yaml").write_text(json.dumps(task, indent=1) + "\n", encoding="utf-8")  # JSON is YAML


def shapes():
    yield "model.embed_tokens.weight", [VOCAB, WIDTH]
    for i in range(LAYERS):
        layer = f"model.layers.{i}"
        for name in "qkvo":
            yield f"{layer}.self_attn.{name}_proj.weight", [WIDTH, WIDTH]
        for name, shape in (("gate", [HIDDEN, WIDTH]), ("up", [HIDDEN, WIDTH]), ("down", [WIDTH, HIDDEN])):
            yield f"{layer}.mlp.{name}_proj.weight", shape
        yield f"{layer}.input_layernorm.weight", [WIDTH]
        yield f"{layer}.post_attention_layernorm.weight", [WIDTH]
    yield "model.norm.weight", [WIDTH]


def weights(args):
    args.folder.mkdir(parents=True, exist_ok=True)
    config = {"architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": WIDTH, "intermediate_size": HIDDEN,
              "num_hidden_layers": LAYERS, "num_attention_heads": HEADS, "num_key_value_heads": HEADS, "vocab_size": VOCAB,
              "max_position_embeddings": 2048, "rms_norm_eps": 1e-6, "rope_theta": 10000.0, "hidden_act": "silu",
              "tie_word_embeddings": True, "dtype": "bfloat16"}  # fmt: skip
    (args.folder / "config.json").write_text(json.dumps(config, indent=1) + "\n", encoding="utf-8")
    header, at = {"__metadata__": {"format": "pt"}}, 0
    for name, shape in shapes():
        size = 2 * shape[0] * (shape[1] if len(shape) > 1 else 1)
        header[name] = {"dtype": "BF16", "shape": shape, "data_offsets": [at, at + size]}
        at += size
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    # Both signs, any fraction, magnitudes of 2^-7 to 2^-3.
    highs = bytes(sign | 0x3C | part for sign in (0, 0x80) for part in (0, 1)) * 64
    draw = random.Random(0)
    with (args.folder / "model.safetensors").open("wb") as out:
        out.write(len(text).to_bytes(8, "little") + text)
        while at > 0:
            numbers = bytearray(draw.randbytes(min(at, 1 << 20)))
            numbers[1::2] = numbers[1::2].translate(highs)
            out.write(numbers)
            at -= len(numbers)


def sources(args):
    rest = round(args.megabytes * 1e6)
    with args.file.open("wb") as out:
        for path in sorted(path for folder in args.folders for path in folder.rglob(f"*{args.suffix}")):
            text = path.read_bytes()[:rest] if path.is_file() else b""
            out.write(text.decode("utf-8", "ignore").encode())
            rest -= len(text)
    print(f"{args.file}: {args.file.stat().st_size / 1e6:.0f} MB")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    kinds = parser.add_subparsers(required=True)
    for name, make in (("questions", questions), ("weights", weights)):
        kind = kinds.add_parser(name)
        kind.add_argument("folder", type=pathlib.Path)
        kind.set_defaults(make=make)
    kind = kinds.add_parser("sources")
    kind.add_argument("file", type=pathlib.Path)
    kind.add_argument("folders", type=pathlib.Path, nargs="+")
    kind.add_argument("--suffix", default=".py")
    kind.add_argument("--megabytes", type=float, default=1200)
    kind.set_defaults(make=sources)
    args = parser.parse_args()
    args.make(args)


if __name__ == "__main__":
    main()
