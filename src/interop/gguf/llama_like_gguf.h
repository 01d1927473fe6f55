// The families in GGUF files whose tensors are named as Llama's: Llama, Qwen, Gemma.
#pragma once

#include "interop/gguf/gguf_architecture.h"

namespace axle {

/// Returns the fields that all of them have, of a family (Family::model_type).
nlohmann::ordered_json llama_like_fields(const GgufKeys& keys, std::string_view model_type);
/// Returns the rows of the tensors of all of them, without experts.
std::vector<GgufName> llama_like_names();
/// Adds the fields of `num_experts` experts that all layers have. Throws DataError unless each
/// layer has the tensors of that many experts.
void add_experts(const GgufKeys& keys, nlohmann::ordered_json& fields);

/// Writes what the functions above read.
void write_llama_like(const ForeignConfig& config, const RopeAbilities& abilities,
                      GgufKeyWriter& keys);
void write_expert_keys(const ForeignConfig& config, GgufKeyWriter& keys);
/// The elements of a head.
int64_t head_dim_of(const ForeignConfig& config);

/// Returns the number of layers. Throws DataError unless the file has a tensor of the last one.
int64_t num_layers_of(const GgufKeys& keys);
/// Returns the rows of the embedding.
int64_t vocab_size_of(const GgufKeys& keys);
/// True if the head is the embedding: the file has none of its own.
bool is_head_tied(const GgufKeys& keys);

/// Returns the rows of the tensors of both. The scale of each norm is stored whole there, and not
/// less 1.
std::vector<GgufName> gemma_names();
/// Returns the number whose root divides queries: the dim of a head, except in the largest model,
/// which has `layers_of_largest` layers. `fields` are from llama_like_fields().
int64_t scaled_dim_of(const GgufKeys& keys, const nlohmann::ordered_json& fields,
                      int64_t layers_of_largest);

}  // namespace axle
