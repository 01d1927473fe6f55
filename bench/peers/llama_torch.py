"""The job in PyTorch, on a GPU if there is one (pip install -r torch.txt)."""

import time

START = time.perf_counter()
import torch
import torch.nn.functional as F
from job import BETAS, LEARNING_RATE, MAX_NORM, SIZES, WEIGHT_DECAY, arguments, report, timed
from torch import nn

IMPORTED = time.perf_counter()
args = arguments(__doc__, compile="by torch.compile instead of eager")
size = SIZES[args.size]
head_dim = size.dim // size.heads
torch.manual_seed(0)
device = "cuda" if torch.cuda.is_available() else "cpu"
torch.set_default_device(device)


def rope(t, cos, sin):
    even, odd = t[..., ::2], t[..., 1::2]
    return torch.stack([even * cos - odd * sin, even * sin + odd * cos], -1).flatten(-2)


class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.attention_norm, self.ffn_norm = nn.RMSNorm(size.dim, 1e-6), nn.RMSNorm(size.dim, 1e-6)
        self.qkv = nn.Linear(size.dim, 3 * size.dim, bias=False)
        self.output = nn.Linear(size.dim, size.dim, bias=False)
        self.gate_up = nn.Linear(size.dim, 2 * size.hidden, bias=False)
        self.down = nn.Linear(size.hidden, size.dim, bias=False)

    def forward(self, x, cos, sin):
        q, k, v = self.qkv(self.attention_norm(x)).view(*x.shape[:2], 3, size.heads, head_dim).unbind(2)
        q, k = rope(q, cos, sin).transpose(1, 2), rope(k, cos, sin).transpose(1, 2)
        attended = F.scaled_dot_product_attention(q, k, v.transpose(1, 2), is_causal=True)
        x = x + self.output(attended.transpose(1, 2).flatten(2))
        gate, up = self.gate_up(self.ffn_norm(x)).chunk(2, -1)
        return x + self.down(F.silu(gate) * up)


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(size.vocab, size.dim)
        self.layers = nn.ModuleList(Layer() for _ in range(size.layers))
        self.output_norm = nn.RMSNorm(size.dim, 1e-6)
        angle = torch.arange(size.seq_len)[:, None] * (10000.0 ** (-torch.arange(0, head_dim, 2) / head_dim))[None]
        self.register_buffer("cos", angle.cos()[:, None])
        self.register_buffer("sin", angle.sin()[:, None])
        for parameter in self.parameters():
            if parameter.dim() > 1:
                nn.init.normal_(parameter, std=0.02)

    def forward(self, tokens):
        x = self.embedding(tokens[:, :-1])
        for layer in self.layers:
            x = layer(x, self.cos.to(x.dtype), self.sin.to(x.dtype))
        logits = self.output_norm(x) @ self.embedding.weight.T
        return F.cross_entropy(logits.flatten(0, 1).float(), tokens[:, 1:].flatten())


model = Model()
optimizer = torch.optim.AdamW(model.parameters(), LEARNING_RATE, BETAS, weight_decay=WEIGHT_DECAY, fused=True)
tokens = torch.randint(0, size.vocab, (size.batch, size.seq_len + 1))
loss_of = torch.compile(model) if args.compile else model


def step():
    with torch.autocast(device, torch.bfloat16, enabled=args.bf16):
        loss = loss_of(tokens)
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), MAX_NORM)
    optimizer.step()
    optimizer.zero_grad()
    return loss.item()


step()
first = time.perf_counter() - START
step()  # the second one still allocates
times, loss = timed(step, args.steps)
mode = "compile" if args.compile else "eager"
report(f"torch {torch.__version__} {mode}", args, sum(p.numel() for p in model.parameters()), first, times, loss,
       import_s=round(IMPORTED - START, 2))  # fmt: skip
