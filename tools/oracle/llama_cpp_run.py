"""Runs GGUF files with llama.cpp in f32: what the scripts beside this one share.

The keys and values of attention are kept as f32 and not as f16, and attention is not fused. For f32 throughout, the
weights must be F32 (`as_f32`): llama.cpp multiplies blocks by activations that it rounds to 8 bits. Its library must be
built without GGML_GELU_FP16 (ggml-cpu/vec.h), which takes GELU from a table in f16.
"""

import ctypes

import gguf
import llama_cpp
import numpy as np

llama_cpp.llama_backend_init()


@llama_cpp.llama_log_callback
def quiet(level, text, user_data):
    pass


llama_cpp.llama_log_set(quiet, ctypes.c_void_p(0))


class Model:
    def __init__(self, path, num_positions, num_texts=1):
        self.model = llama_cpp.llama_model_load_from_file(str(path).encode(), llama_cpp.llama_model_default_params())
        assert self.model, path
        params = llama_cpp.llama_context_default_params()
        params.n_ctx = params.n_batch = params.n_ubatch = num_positions * num_texts
        params.n_seq_max = num_texts
        params.n_threads = params.n_threads_batch = 1
        params.flash_attn_type = 0
        params.type_k = params.type_v = 0  # F32
        params.swa_full = True
        self.context = llama_cpp.llama_init_from_model(self.model, params)
        self.vocab = llama_cpp.llama_model_get_vocab(self.model)
        self.num_rows = llama_cpp.llama_vocab_n_tokens(self.vocab)

    def logits(self, ids, first=0, text=0):
        """The logits behind each of the ids of a text, which begin at position `first`."""
        return self.logits_of_tokens([(token, first + i, text) for i, token in enumerate(ids)])

    def logits_of_tokens(self, tokens):
        """The logits behind each of (id, position, text)."""
        batch = llama_cpp.llama_batch_init(len(tokens), 0, 1)
        batch.n_tokens = len(tokens)
        for i, (token, position, text) in enumerate(tokens):
            batch.token[i], batch.pos[i], batch.logits[i] = token, position, 1
            batch.n_seq_id[i], batch.seq_id[i][0] = 1, text
        assert llama_cpp.llama_decode(self.context, batch) == 0
        out = [np.ctypeslib.as_array(llama_cpp.llama_get_logits_ith(self.context, i), (self.num_rows,)).copy()
               for i in range(len(tokens))]
        llama_cpp.llama_batch_free(batch)
        return np.stack(out)

    def tokens(self, text, special):
        data, room = text.encode(), 4096
        ids = (llama_cpp.llama_token * room)()
        n = llama_cpp.llama_tokenize(self.vocab, data, len(data), ids, room, True, special)
        assert n >= 0
        return list(ids[:n])

    def forget(self):
        llama_cpp.llama_memory_clear(llama_cpp.llama_get_memory(self.context), True)


def as_f32(source, target):
    """Writes a copy of a GGUF file whose tensors are all F32."""
    reader = gguf.GGUFReader(source)
    arch = reader.fields["general.architecture"].contents()
    writer = gguf.GGUFWriter(target, arch)
    for key, field in reader.fields.items():
        if key.startswith("GGUF.") or key == "general.architecture":
            continue
        kinds = field.types
        writer.add_key_value(key, field.contents(), kinds[0], sub_type=kinds[-1] if len(kinds) > 1 else None)
    for tensor in reader.tensors:
        values = gguf.quants.dequantize(tensor.data, tensor.tensor_type).astype(np.float32)
        writer.add_tensor(tensor.name, values.reshape([int(n) for n in reversed(tensor.shape)]))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
