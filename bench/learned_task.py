#!/usr/bin/env python3
"""Whether fine-tuning teaches a model what it does not know and leaves it the rest: exact answers to questions that are held
out, and the loss on other text, before and after. Prints a table with a row for each method.

  ./dev foreign
  bench/learned_task.py --axle build/release/axle --model .axle/foreign/gguf/smollm2-135m-instruct-q4_1.gguf

The questions are those of fine_tuning.py; their answers have a form made up for it. The other text is the first 16 kB of the
English one that `./dev foreign` fetches, unless --text names another. Answers are greedy. --chat-text says how the model's chat template puts a question.
"""

import argparse
import json
import pathlib
import sys
import tempfile

from fine_tuning import conversations, run

METHODS = {"full": (), "lora": ("--lora", "rank=16,alpha=32"), "qlora": ("--qlora", "rank=16,alpha=32")}
LEARNING_RATES = {"full": 2e-5, "lora": 2e-4, "qlora": 2e-4}
CHATML = (
    "<|im_start|>system\nYou are a helpful AI assistant named SmolLM, trained by Hugging Face<|im_end|>\n"
    "<|im_start|>user\n{{question}}<|im_end|>\n<|im_start|>assistant\n"
)


class Lesson:
    """What is learned, and what is asked of those that learned it."""

    def __init__(self, args, folder):
        self.args, self.folder = args, pathlib.Path(folder)
        self.data, self.task = self.folder / "chat.jsonl", self.folder / "task.yaml"
        lines, seen = [], set()
        for line in conversations(args.conversations + 10 * args.questions):
            question = line["messages"][0]["content"]
            if question not in seen:
                seen.add(question)
                lines.append(line)
        if len(lines) < 2 * args.questions:
            sys.exit(f"--questions {args.questions}: expected at most half of {len(lines)} that differ; ask fewer")
        asked, learned = lines[: args.questions], lines[args.questions :]
        self.data.write_text("".join(json.dumps(line) + "\n" for line in learned), encoding="utf-8")
        documents = [dict(zip(("question", "answer"), (part["content"] for part in line["messages"]))) for line in asked]
        (self.folder / "asked.jsonl").write_text("".join(json.dumps(line) + "\n" for line in documents), encoding="utf-8")
        task = {"task": "packing", "dataset_path": "json", "dataset_kwargs": {"data_files": {"test": str(self.folder / "asked.jsonl")}},
                "test_split": "test", "output_type": "generate_until", "doc_to_text": args.chat_text, "doc_to_target": "{{answer}}",
                "generation_kwargs": {"until": ["<|im_end|>", "\n"], "max_gen_toks": 24, "do_sample": False},
                "metric_list": [{"metric": "exact_match"}]}  # fmt: skip
        self.task.write_text(json.dumps(task), encoding="utf-8")  # JSON is YAML
        self.text = self.folder / "other.txt"
        text = pathlib.Path(args.text).read_text(encoding="utf-8")[: args.text_characters]
        self.text.write_text(text, encoding="utf-8")

    def train(self, method):
        folder = self.folder / method
        run(self.args.axle, "train", "--init-from", self.args.model, "--data", self.data, *METHODS[method], "--steps", self.args.steps,
            "--dir", folder, "--set", f"learner.optimizer.learning_rate.peak={LEARNING_RATES[method]}",
            "--set", f"input.seq_len={self.args.seq_len}", "--set", f"input.batch_size={self.args.rows}", "--set", "evalers={}")  # fmt: skip
        return folder

    def examine(self, model):
        """(the part of exact answers, the loss on the other text)"""
        answers = json.loads(run(self.args.axle, "eval", "--from", model, "--task", self.task, "--json")[0])
        text = json.loads(run(self.args.axle, "eval", "--from", model, "--data", self.text, "--json",
                              "--set", f"input.seq_len={self.args.seq_len}", "--set", "input.batch_size=4")[0])  # fmt: skip
        return answers["tasks"]["packing"]["metrics"][0]["value"], text["metrics"]["loss"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--axle", required=True, help="the program axle")
    parser.add_argument("--model", required=True, help="what training starts from: whatever `axle train --init-from` reads")
    parser.add_argument("--text", default=".axle/foreign/text/english.txt", help="a file of other text")
    parser.add_argument("--text-characters", type=int, default=16000, help="how many of its first characters count")
    parser.add_argument("--method", action="append", choices=METHODS, help="default: all")
    parser.add_argument("--chat-text", default=CHATML, help="a question as the chat template puts it (default: that of SmolLM2)")
    parser.add_argument("--conversations", type=int, default=2000)
    parser.add_argument("--questions", type=int, default=100)
    parser.add_argument("--rows", type=int, default=4)
    parser.add_argument("--seq-len", type=int, default=256)
    parser.add_argument("--steps", type=int, default=60)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        lesson = Lesson(args, folder)
        exact, loss = lesson.examine(args.model)
        print("| | exact answers | loss on other text |\n|---|---|---|", flush=True)
        print(f"| before | {exact:.1%} | {loss:.4f} |", flush=True)
        for method in args.method or METHODS:
            learned, after = lesson.examine(lesson.train(method))
            print(f"| {method} | **{learned:.1%}** | {after:.4f}: **{after / loss - 1:+.2%}** |", flush=True)


if __name__ == "__main__":
    main()
