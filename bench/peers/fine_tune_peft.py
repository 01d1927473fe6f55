"""The fine-tuning job in transformers and peft: conversations of one question and one answer, packed as Axle packs them
(several in a row that do not see each other, the answers as targets), AdamW and clipping by global norm.

Prints a line of JSON: the loss of each step and the seconds of each but the first. `start` writes new adapters to a
folder, for both sides to start from.
"""

import argparse
import json
import time

import torch
import torch.nn.functional as F
from peft import LoraConfig, PeftModel, get_peft_model
from transformers import AutoModelForCausalLM, AutoTokenizer, BitsAndBytesConfig

parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("method", choices=["start", "full", "lora", "qlora"])
parser.add_argument("--model", required=True, help="folder of the model that training starts from")
parser.add_argument("--adapter", required=True, help="folder of the adapters that training starts from")
parser.add_argument("--rank", type=int, help="of new adapters")
parser.add_argument("--alpha", type=int, help="of new adapters")
parser.add_argument("--data", help="JSONL of conversations, read in order, again and again")
parser.add_argument("--rows", type=int)
parser.add_argument("--seq-len", type=int)
parser.add_argument("--steps", type=int)
parser.add_argument("--learning-rate", type=float)
parser.add_argument("--bf16", action="store_true", help="compute in bf16; what is trained stays f32")
args = parser.parse_args()


def examples(tokenizer):
    """Ids of whole conversations, and how many of them come before the answer."""
    for line in open(args.data, encoding="utf-8"):
        messages = json.loads(line)["messages"]
        text = tokenizer.apply_chat_template(messages, tokenize=False)
        asked = tokenizer.apply_chat_template(messages[:-1], tokenize=False, add_generation_prompt=True)
        whole = tokenizer(text[: text.rindex("<|im_end|>") + len("<|im_end|>")], add_special_tokens=False)["input_ids"]
        yield whole, len(tokenizer(asked, add_special_tokens=False)["input_ids"])


def packed_rows(documents):
    """Rows of (ids, labels, positions, segments). A conversation that does not fit into the rest of a row begins the next."""
    row = []
    for ids, asked in documents:
        size = len(ids) - 1
        if sum(len(part[0]) - 1 for part in row) + size > args.seq_len:
            yield row
            row = []
        row.append((ids, asked))
    if row:
        yield row


def tensors(rows):
    shape = (len(rows), args.seq_len)
    ids, positions, segments = (torch.zeros(shape, dtype=torch.long) for _ in range(3))
    labels = torch.full(shape, -100)
    for r, row in enumerate(rows):
        at = 0
        for number, (document, asked) in enumerate(row):
            end = at + len(document) - 1
            ids[r, at:end] = torch.tensor(document[:-1])
            labels[r, at + asked - 1 : end] = torch.tensor(document[asked:])
            positions[r, at:end] = torch.arange(end - at)
            segments[r, at:end] = number + 1
            at = end
    causal = torch.ones(args.seq_len, args.seq_len, dtype=torch.bool).tril()
    mask = causal & (segments[:, None, :, None] == segments[:, None, None, :])
    return ids, labels, positions, mask


def write_start():
    torch.manual_seed(0)
    model = AutoModelForCausalLM.from_pretrained(args.model, dtype=torch.float32)
    modules = ["q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"]
    get_peft_model(model, LoraConfig(r=args.rank, lora_alpha=args.alpha, target_modules=modules, task_type="CAUSAL_LM")).save_pretrained(args.adapter)


def load():
    frozen = args.method != "full"
    options = {"dtype": torch.bfloat16 if args.bf16 and frozen else torch.float32, "attn_implementation": "sdpa"}
    if args.method == "qlora":
        options["quantization_config"] = BitsAndBytesConfig(load_in_4bit=True, bnb_4bit_quant_type="nf4", bnb_4bit_compute_dtype=options["dtype"])
    model = AutoModelForCausalLM.from_pretrained(args.model, **options)
    return PeftModel.from_pretrained(model, args.adapter, is_trainable=True) if frozen else model


def train():
    rows = list(packed_rows(examples(AutoTokenizer.from_pretrained(args.model))))
    model = load().train()
    trained = [parameter for parameter in model.parameters() if parameter.requires_grad]
    optimizer = torch.optim.AdamW(trained, args.learning_rate, (0.9, 0.95), eps=1e-8, weight_decay=0.0, fused=True)
    losses, times = [], []
    for step in range(args.steps):
        begin = time.perf_counter()
        ids, labels, positions, mask = tensors([rows[(step * args.rows + i) % len(rows)] for i in range(args.rows)])
        with torch.autocast("cpu", torch.bfloat16, enabled=args.bf16):
            dtype = model.dtype
            bias = torch.zeros(mask.shape, dtype=dtype).masked_fill(~mask, torch.finfo(dtype).min)
            logits = model(input_ids=ids, position_ids=positions, attention_mask=bias, use_cache=False).logits
        loss = F.cross_entropy(logits.flatten(0, 1).float(), labels.flatten())
        loss.backward()
        torch.nn.utils.clip_grad_norm_(trained, 1.0)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        losses.append(loss.item())
        times.append(time.perf_counter() - begin)
    print(json.dumps({"losses": losses, "step_s": times[1:]}))


write_start() if args.method == "start" else train()
