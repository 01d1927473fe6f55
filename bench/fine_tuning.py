#!/usr/bin/env python3
"""Fine-tuning beside transformers and peft: full, LoRA and QLoRA from one start, on the same rows in the same order. Prints
a table of losses, tokens a second and peak memory, and their ratios.

  ./dev foreign && ./dev bench peers peft
  bench/fine_tuning.py --axle build/release/axle --model .axle/foreign/gguf/smollm2-135m-instruct-q4_1.gguf

Both sides train in alternating runs, so that what else the machine does falls on both alike. Tokens a second are those of
the median step, gaps of rows included. The loss is the mean of the later half of the steps. Adapters start from the same
numbers, made by peft. QLoRA of a GGUF file is beside LoRA of peft on the numbers of the same file; with --nf4 it is beside
QLoRA of peft, which rounds them again to NF4 (needs bitsandbytes).
"""

import argparse
import json
import os
import pathlib
import random
import shutil
import statistics
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
PEER = ROOT / "bench" / "peers" / "fine_tune_peft.py"
LEARNING_RATES = {"full": 2e-5, "lora": 2e-4, "qlora": 2e-4}
RANK, ALPHA = 16, 32
WORDS = """amber birch cedar delta ember flint grove heron iris jade kite lotus maple north olive pearl quartz river stone
tulip""".split()


def conversations(count):
    """Questions whose answers have a form that the model does not know."""
    draw = random.Random(0)
    for _ in range(count):
        (first, second), number = draw.sample(WORDS, 2), draw.randint(2, 9)
        yield {"messages": [{"role": "user", "content": f"Pack {number} {first} with {second}."},
                            {"role": "assistant", "content": f"<{second}|{number}|{first}>"}]}  # fmt: skip


def run(*command):
    """What a program prints, and its peak memory in MiB."""
    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as err:
        child = subprocess.Popen([str(part) for part in command], stdout=out, stderr=err)
        _, status, usage = os.wait4(child.pid, 0)
        out.seek(0)
        err.seek(0)
        if status != 0:
            sys.exit(f"{' '.join(map(str, command))}: failed\n{err.read()[-3000:]}")
        return out.read(), usage.ru_maxrss / 1024


class Job:
    def __init__(self, args, folder):
        self.args, self.folder = args, pathlib.Path(folder)
        self.data, self.model, self.adapter = self.folder / "chat.jsonl", self.folder / "model", self.folder / "adapter"
        self.data.write_text("".join(json.dumps(line) + "\n" for line in conversations(4 * args.rows * args.steps)), encoding="utf-8")
        run(args.axle, "import", args.model, "--out", self.folder / "import")
        run(args.axle, "export", self.folder / "import", "--format", "hf", "--out", self.model)
        run(args.peft, PEER, "start", "--model", self.model, "--adapter", self.adapter, "--rank", RANK, "--alpha", ALPHA)
        self.runs = 0
        # The same adapters, whose model is the file itself.
        self.on_file = self.folder / "on_file"
        shutil.copytree(self.adapter, self.on_file)
        config = json.loads((self.on_file / "adapter_config.json").read_text(encoding="utf-8"))
        config["base_model_name_or_path"] = str(pathlib.Path(args.model).resolve())
        (self.on_file / "adapter_config.json").write_text(json.dumps(config), encoding="utf-8")

    def axle(self, method):
        """Losses, seconds of steps, and the peak memory."""
        args = self.args
        self.runs += 1
        folder = self.folder / f"run{self.runs}"
        start = {"full": self.model, "lora": self.adapter, "qlora": self.on_file}[method]
        command = [args.axle, "train", "--init-from", start, "--data", self.data,
                   "--steps", args.steps, "--dir", folder, "--set", f"learner.optimizer.learning_rate={LEARNING_RATES[method]}"]
        fields = {"input.seq_len": args.seq_len, "input.batch_size": args.rows, "input.shuffle": "none", "input.split": "all",
                  "evalers": "{}", "checkpointer.every_steps": 10 * args.steps}  # fmt: skip
        for path, value in fields.items():
            command += ["--set", f"{path}={value}"]
        if args.bf16:
            command += ["--set", "compute_dtype=bf16"]
        if method == "qlora":
            command += ["--modify", f"KeepAsCodes: {{from: {json.dumps(str(args.model))}}}"]
        _, memory = run(*command)
        records = [json.loads(line) for line in (folder / "metrics.jsonl").read_text(encoding="utf-8").splitlines()]
        ends = [record["wall_secs"] for record in records]
        return [record["loss"] for record in records], [end - begin for begin, end in zip(ends, ends[1:])], memory

    def peft(self, method):
        args = self.args
        if method == "qlora" and not args.nf4:
            method = "lora"
        out, memory = run(args.peft, PEER, method, "--model", self.model, "--adapter", self.adapter, "--data", self.data, "--rows", args.rows,
                          "--seq-len", args.seq_len, "--steps", args.steps, "--learning-rate", LEARNING_RATES[method],
                          *(["--bf16"] if args.bf16 else []))  # fmt: skip
        record = json.loads(out.splitlines()[-1])
        return record["losses"], record["step_s"], memory

    def compare(self, method):
        seconds, memories, losses = {"axle": [], "peft": []}, {"axle": [], "peft": []}, {}
        for _ in range(self.args.rounds):
            for side, train in (("axle", self.axle), ("peft", self.peft)):
                losses[side], times, memory = train(method)
                seconds[side].append(statistics.median(times))
                memories[side].append(memory)
                print(f"{method} {side}: {seconds[side][-1]:.2f} s a step, {memory:.0f} MiB, losses {losses[side][0]:.4f} .. {losses[side][-1]:.4f}",
                      file=sys.stderr, flush=True)  # fmt: skip
        tokens = self.args.rows * self.args.seq_len
        rate = {side: tokens / statistics.median(of) for side, of in seconds.items()}
        memory = {side: statistics.median(of) for side, of in memories.items()}
        late = {side: statistics.mean(of[len(of) // 2 :]) for side, of in losses.items()}
        first = max(abs(ours - theirs) / theirs for ours, theirs in zip(losses["axle"], losses["peft"]))
        print(f"| {method} | {losses['axle'][0]:.4f} / {losses['peft'][0]:.4f} | {late['axle']:.4f} / {late['peft']:.4f}: "
              f"**{100 * abs(late['axle'] / late['peft'] - 1):.2f} %** ({100 * first:.2f} %) | {rate['axle']:.0f} / {rate['peft']:.0f}: "
              f"**{rate['axle'] / rate['peft']:.2f}** | {memory['axle']:.0f} / {memory['peft']:.0f}: "
              f"**{memory['axle'] / memory['peft']:.2f}** |", flush=True)  # fmt: skip


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--axle", default=str(ROOT / "build/release/axle"), help="the program axle")
    parser.add_argument("--peft", default=str(ROOT / ".axle/peers/peft/bin/python"), help="Python with transformers and peft")
    parser.add_argument("--model", required=True, help="what training starts from: whatever `axle import` reads")
    parser.add_argument("--method", action="append", choices=LEARNING_RATES, help="default: all")
    parser.add_argument("--rows", type=int, default=4)
    parser.add_argument("--seq-len", type=int, default=256)
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--bf16", action="store_true", help="compute in bf16")
    parser.add_argument("--nf4", action="store_true", help="QLoRA of peft beside ours, not its LoRA")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        job = Job(args, folder)
        print("| | first loss | loss of the later half: apart (most in any step) | tokens a second: ratio | peak MiB: ratio |\n|---|---|---|---|---|")
        for method in args.method or LEARNING_RATES:
            job.compare(method)


if __name__ == "__main__":
    main()
