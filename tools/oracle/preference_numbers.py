#!/usr/bin/env python3
"""Makes testdata/reference/preferences: pairs of answers, and how a tiny model learns from them, in plain torch.

  python -m pip install torch transformers    # into a Python outside of the repository
  python tools/oracle/preference_numbers.py

The model is testdata/reference/lm_eval/begun. pairs.jsonl and chat.jinja are what `axle train --dpo` reads; numbers.json holds
loss, rewards and the norm of the gradient of each step, by the share of labels that are taken for wrong. Each conversation is
computed alone. Direct preference optimization: Rafailov et al. 2023, arXiv 2305.18290, equation 7; the share: Mitchell 2023,
"A note on DPO with noisy preferences", equation 3.
"""

import copy
import json
import pathlib

import torch
import transformers
from torch.nn.functional import logsigmoid

REFERENCE = pathlib.Path(__file__).resolve().parents[2] / "testdata" / "reference"
MODEL, FOLDER = REFERENCE / "lm_eval" / "begun", REFERENCE / "preferences"
BETA, STEPS, LEARNING_RATE, CLIP = 0.5, 5, 3e-3, 1.0
# No token crosses the line end that answers begin behind.
TEMPLATE = (
    "{% for m in messages %}({{ m.role }}){{ '\\n' + m.content }}{% if m.role == 'assistant' %}{{ eos_token }}{% else %};"
    "{% endif %}{% endfor %}{% if add_generation_prompt %}(assistant){{ '\\n' }}{% endif %}"
)


def said(*texts):
    return [{"role": ("user", "assistant")[i % 2], "content": text} for i, text in enumerate(texts)]


PAIRS = [
    (said("red or blue"), "blue, as the sea", "no"),
    (said("one more"), "two", "one and one and one"),
    (said("hi", "oh", "so?"), "go on", "so"),
    (said("caf\u00e9?"), "na\u00efve", "\u65e5\u672c"),
    (said("say nothing"), "-", "nothing at all"),
    (said("a b c"), "d e f", "d e g"),
]


def encoded(tokenizer, prompt, answer):
    """The ids of a conversation, and which of them are of the answer and its end."""
    before = tokenizer.apply_chat_template(prompt, chat_template=TEMPLATE, tokenize=False, add_generation_prompt=True)
    text = tokenizer.apply_chat_template(
        prompt + [{"role": "assistant", "content": answer}], chat_template=TEMPLATE, tokenize=False)
    assert text.startswith(before)
    out = tokenizer(text, add_special_tokens=False, return_offsets_mapping=True)
    return torch.tensor(out["input_ids"]), torch.tensor([begin >= len(before) for begin, _ in out["offset_mapping"]])


def log_likelihood(model, ids, is_answer):
    logs = model(ids[None]).logits[0, :-1].log_softmax(-1)
    return logs.gather(1, ids[1:, None])[is_answer[1:]].sum()


def steps_of(tokenizer, smoothing):
    model = transformers.AutoModelForCausalLM.from_pretrained(MODEL, dtype=torch.float32, attn_implementation="eager").eval()
    reference = copy.deepcopy(model).requires_grad_(False)
    pairs = [[encoded(tokenizer, prompt, answer) for answer in answers] for prompt, *answers in PAIRS]
    optimizer = torch.optim.AdamW(model.parameters(), LEARNING_RATE, (0.9, 0.95), eps=1e-8, weight_decay=0.0)
    out = []
    for _ in range(STEPS):
        rewards = torch.stack([
            torch.stack([BETA * (log_likelihood(model, *one) - log_likelihood(reference, *one)) for one in pair]) for pair in pairs])
        margins = rewards[:, 0] - rewards[:, 1]
        loss = -((1 - smoothing) * logsigmoid(margins) + smoothing * logsigmoid(-margins)).mean()
        optimizer.zero_grad()
        loss.backward()
        norm = torch.nn.utils.clip_grad_norm_(model.parameters(), CLIP)
        optimizer.step()
        chosen, rejected = rewards.mean(0)
        out.append({"loss": loss.item(), "margin": margins.mean().item(), "chosen_reward": chosen.item(),
                    "rejected_reward": rejected.item(), "preferred": ((margins > 0) + (margins == 0) / 2).float().mean().item(),
                    "grad_norm": norm.item()})  # fmt: skip
    return out


def main():
    tokenizer = transformers.AutoTokenizer.from_pretrained(MODEL)
    FOLDER.mkdir(exist_ok=True)
    lines = [json.dumps({"prompt": p, "chosen": said("", c)[1:], "rejected": said("", r)[1:]}) + "\n" for p, c, r in PAIRS]
    (FOLDER / "pairs.jsonl").write_text("".join(lines))
    (FOLDER / "chat.jinja").write_text(TEMPLATE)
    numbers = {"beta": BETA, "learning_rate": LEARNING_RATE, "steps": {str(s): steps_of(tokenizer, s) for s in (0.0, 0.1)}}
    (FOLDER / "numbers.json").write_text(json.dumps(numbers, indent=1) + "\n")


if __name__ == "__main__":
    main()
