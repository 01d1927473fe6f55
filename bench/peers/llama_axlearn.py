"""The job in AXLearn: needs a checkout of it on PYTHONPATH and jax==0.8.3 (Python 3.12, or 3.11 without its kernels)."""

import os
import time

START = time.perf_counter()
os.environ["JAX_PLATFORMS"] = "cpu"
import jax
import jax.numpy as jnp
from axlearn.common import attention, causal_lm, decoder, embedding, layers, optimizers
from axlearn.common.attention_bias import CausalAttentionBias
from axlearn.common.module import functional
from axlearn.common.optimizer_base import OptParam
from job import BETAS, EPS, LEARNING_RATE, MAX_NORM, SIZES, WEIGHT_DECAY, arguments, report, timed

IMPORTED = time.perf_counter()
args = arguments(__doc__)
size = SIZES[args.size]


def model_config():
    norm = layers.RMSNorm.default_config()
    ffn = attention.TransformerFeedForwardLayer.default_config().set(
        hidden_dim=size.hidden, activation=("nn.silu", "linear"), norm=norm)  # fmt: skip
    ffn.linear1.bias = ffn.linear2.bias = False
    qkv = attention.RoFormerQKVLinear.default_config().set(
        input_linear=attention.FusedQKVLinear.default_config(), rotary_value=False)  # fmt: skip
    qkv.rope_pos_emb_layer.theta = 10000.0
    qkv.input_linear.layer.bias = False
    layer = attention.TransformerLayer.default_config().set(feed_forward=ffn)
    layer.self_attention.set(norm=norm)
    layer.self_attention.attention = attention.MultiheadAttention.default_config().set(
        num_heads=size.heads, input_linear=qkv, mask=CausalAttentionBias.default_config())  # fmt: skip
    layer.self_attention.attention.output_linear.bias = False
    repeat = attention.RepeatedTransformerLayer.default_config().set(num_layers=size.layers, layer=layer)
    body = decoder.Decoder.default_config().set(
        dim=size.dim, vocab_size=size.vocab, pad_token_id=0, eos_token_id=1, dropout_rate=0.0, transformer=repeat,
        emb=embedding.TransformerTextEmbeddings.default_config(), output_norm=norm)  # fmt: skip
    return causal_lm.Model.default_config().set(decoder=body, batch_axis_names=None, name="model")


model = model_config().instantiate(parent=None)
params = model.initialize_parameters_recursively(jax.random.PRNGKey(0))
optimizer = optimizers.chain(
    optimizers.clip_by_global_norm(max_norm=MAX_NORM),
    optimizers.adamw_optimizer(learning_rate=LEARNING_RATE, b1=BETAS[0], b2=BETAS[1], eps=EPS, weight_decay=WEIGHT_DECAY),
)


def wrapped(tree):
    return jax.tree.map(lambda v: OptParam(value=v, factorization_spec=None, weight_decay_scale=1.0), tree)


def train_step(params, state, ids):
    def loss_of(params):
        if args.bf16:
            params = jax.tree.map(lambda x: x.astype(jnp.bfloat16), params)
        batch = {"input_ids": ids, "target_labels": jnp.roll(ids, -1, 1)}
        (loss, _), _ = functional(
            model, prng_key=jax.random.PRNGKey(0), state=params, inputs={"input_batch": batch}, is_training=True)  # fmt: skip
        return loss

    loss, grads = jax.value_and_grad(loss_of)(params)
    updates, state = optimizer.update(grads, state=state, params=wrapped(params))
    return jax.tree.map(jnp.add, params, updates), state, loss


state = optimizer.init(wrapped(params))
ids = jax.random.randint(jax.random.PRNGKey(1), (size.batch, size.seq_len), 2, size.vocab)
before = time.perf_counter()
lowered = jax.jit(train_step, donate_argnums=(0, 1)).lower(params, state, ids)
lower_s = time.perf_counter() - before
before = time.perf_counter()
compiled = lowered.compile()
compile_s = time.perf_counter() - before


def step():
    global params, state
    params, state, loss = compiled(params, state, ids)
    return loss.block_until_ready()


step()
first = time.perf_counter() - START
times, loss = timed(step, args.steps)
report(f"axlearn on jax {jax.__version__}", args, sum(x.size for x in jax.tree.leaves(params)), first, times, loss,
       import_s=round(IMPORTED - START, 2), lower_s=round(lower_s, 2), compile_s=round(compile_s, 2))  # fmt: skip
