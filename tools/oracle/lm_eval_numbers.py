#!/usr/bin/env python3
"""Makes testdata/reference/lm_eval: tiny random models with tokenizers, and what lm-evaluation-harness says of them.

  python -m pip install lm-eval torch transformers tokenizers    # into a Python outside of the repository
  HF_HUB_OFFLINE=1 python tools/oracle/lm_eval_numbers.py

The folder `tasks` holds tasks with their documents, which are written by hand in this repository. A folder for each model:
config.json, model.safetensors and the files of the tokenizer as save_pretrained writes them, and numbers.json: for each
task its metrics with their standard errors, and for each document the requests with their log-likelihoods, or the answer.
"""

import json
import os
import pathlib
import sys
import tempfile

os.environ["HF_HOME"] = tempfile.mkdtemp()
os.environ["HF_HUB_OFFLINE"] = "1"
os.environ["TOKENIZERS_PARALLELISM"] = "false"

import lm_eval  # noqa: E402
import torch  # noqa: E402
import transformers  # noqa: E402
from lm_eval.models.huggingface import HFLM  # noqa: E402
from lm_eval.tasks import TaskManager  # noqa: E402
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers  # noqa: E402

FOLDER = pathlib.Path(__file__).resolve().parents[2] / "testdata" / "reference" / "lm_eval"
TASKS = FOLDER / "tasks"


def texts():
    """All texts of the documents, to train tokenizers on."""
    for path in sorted(TASKS.glob("*.jsonl")):
        yield path.read_text(encoding="utf-8")


def tokenizer_of(specials, frames):
    """A byte-level BPE whose first ids are the special tokens; with `frames`, it begins texts with the first of them."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=340, special_tokens=specials, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), show_progress=False)
    tokenizer.train_from_iterator(texts(), trainer)
    if frames:
        tokenizer.post_processor = processors.TemplateProcessing(single=f"{specials[0]} $A", special_tokens=[(specials[0], 0)])
    return transformers.PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, bos_token=specials[0], eos_token=specials[-1], clean_up_tokenization_spaces=False)


def random_model(kind, seed, **fields):
    torch.manual_seed(seed)
    config = transformers.AutoConfig.for_model(kind, **fields)
    model = transformers.AutoModelForCausalLM.from_config(config, attn_implementation="eager", dtype=torch.float32)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if parameter.dim() > 1:
                parameter.normal_(0, 0.15)
    return model.eval()


def make_models():
    """Yields the name of each model and its parts."""
    begun = tokenizer_of(["<s>", "</s>"], frames=True)
    yield "begun", begun, random_model(
        "llama", 1, vocab_size=len(begun), hidden_size=32, intermediate_size=48, num_hidden_layers=2,
        num_attention_heads=4, num_key_value_heads=2, max_position_embeddings=96, bos_token_id=0, eos_token_id=1)
    # Names a begin token, and puts it before no text: only an empty context has it.
    named = tokenizer_of(["<s>", "</s>"], frames=False)
    yield "named", named, random_model(
        "llama", 3, vocab_size=len(named), hidden_size=32, intermediate_size=48, num_hidden_layers=2,
        num_attention_heads=4, num_key_value_heads=2, max_position_embeddings=96, bos_token_id=0, eos_token_id=1)
    plain = tokenizer_of(["<|endoftext|>"], frames=False)
    yield "plain", plain, random_model(
        "gpt2", 2, vocab_size=len(plain), n_embd=32, n_layer=2, n_head=4, n_positions=64, bos_token_id=0, eos_token_id=0)


def sample_of(sample):
    scores = {name: sample[name] for name in sample["metrics"]}  # some are what an aggregation needs
    scores = {name: float(score) for name, score in scores.items() if isinstance(score, (int, float))}
    out = {"metrics": scores, "filter": sample["filter"]}
    if isinstance(sample["filtered_resps"][0], str):
        return out | {
            "context": sample["arguments"][0][0], "answer": sample["resps"][0][0], "filtered": sample["filtered_resps"][0]}
    resps = [resp[0] for resp in sample["resps"]]
    if isinstance(resps[0], float):
        return out | {"text": sample["arguments"][0][0], "log_likelihood": resps[0]}
    requests = []
    for (context, continuation), (likelihood, is_greedy) in zip(sample["arguments"], resps):
        requests.append({"context": context, "continuation": continuation, "log_likelihood": float(likelihood),
                         "is_greedy": bool(is_greedy)})
    return out | {"requests": requests}


def numbers_of(tokenizer, model):
    os.chdir(TASKS)  # the paths of the documents are relative
    names = sorted(path.stem for path in TASKS.glob("*.yaml"))
    result = lm_eval.simple_evaluate(
        model=HFLM(pretrained=model, tokenizer=tokenizer, batch_size=4), tasks=names, log_samples=True,
        task_manager=TaskManager(include_path=str(TASKS), include_defaults=False))
    out = {}
    for name in names:
        metrics = []
        for key, value in result["results"][name].items():
            metric, _, chain = key.partition(",")
            if not chain or metric.endswith("_stderr"):
                continue
            error = result["results"][name].get(f"{metric}_stderr,{chain}")
            metrics.append({"metric": metric, "filter": chain, "value": float(value),
                            "standard_error": error if isinstance(error, float) else None})
        samples = sorted(result["samples"][name], key=lambda one: (one["filter"], one["doc_id"]))
        out[name] = {"metrics": metrics, "samples": [sample_of(one) for one in samples]}
    return out


def main():
    for name, tokenizer, model in make_models():
        folder = FOLDER / name
        model.save_pretrained(folder)
        tokenizer.save_pretrained(folder)
        numbers = numbers_of(tokenizer, model)
        text = json.dumps(numbers, indent=1, ensure_ascii=False)
        (folder / "numbers.json").write_text(text + "\n", encoding="utf-8")
        print(name, {task: [(m["metric"], round(m["value"], 4)) for m in one["metrics"]] for task, one in numbers.items()})


if __name__ == "__main__":
    sys.exit(main())
