// Inputs for calls of any layer of a role, for the laws of layer_laws.h.
#pragma once

#include "layers/attention/cores/attention_core.h"
#include "layers/attention/qkv/head_projection.h"
#include "layers/attention/qkv/qkv.h"
#include "layers/convolution/convolution.h"
#include "layers/dense/linear.h"
#include "layers/dropout/dropout.h"
#include "layers/mixer.h"
#include "layers/models/decoder.h"
#include "layers/models/embedding.h"
#include "layers/models/model.h"
#include "layers/norms/norm.h"
#include "layers/recurrent/recurrent.h"
#include "testing/host_tensors.h"

namespace axle::testing {

/// Returns [2, 4] token ids below `n`: 1, 4, 7, ... modulo `n`.
inline HostTensor token_ids(int32_t n = 5) {
  HostTensor ids(Type{DType::kI32, {2, 4}});
  int32_t next = 0;
  for (int32_t& id : ids.values<int32_t>()) id = (3 * next++ + 1) % n;
  return ids;
}

/// make() returns the inputs of a call. For decoding, kTokens names the input with the tokens [B,
/// T, ..], kPositions the input with the positions of new tokens, kLastIndex the input with the
/// index of the last token that counts (where the role has such inputs), and kMethod the method to
/// call. A role without kTokens takes AXLE_CALL_LAWS. kMovesTokens: results have other positions.
/// kMayMoveTokens: results of some classes have.
/// kResult is the dtype of the results of a role that has the same one for any dtype of the
/// parameters.
template <class Role>
struct LawInputs;

struct TokensInX {
  static constexpr const char* kTokens = "x";
  static constexpr const char* kMethod = "forward";
};
template <>
struct LawInputs<Norm> : TokensInX {
  static Tree<HostTensor> make(const Norm::Dims& d) {
    return {{"x", normal_values({2, 3, d.input_dim}, 1)}};
  }
};
template <>
struct LawInputs<Projection> : TokensInX {
  static Tree<HostTensor> make(const Projection::Dims& d) {
    return {{"x", normal_values({2, 3, d.input_dim}, 1)}};
  }
};
template <>
struct LawInputs<Dropout> : TokensInX {
  static Tree<HostTensor> make(const Dropout::Dims&) {
    return {{"x", normal_values({2, 3, 4}, 1)}};
  }
};
template <>
struct LawInputs<DropToken> : TokensInX {
  static constexpr bool kMovesTokens = true;
  static Tree<HostTensor> make(const DropToken::Dims&) {
    return {{"x", normal_values({2, 5, 3}, 1)}};
  }
};
template <>
struct LawInputs<StochasticDepth> : TokensInX {
  static Tree<HostTensor> make(const StochasticDepth::Dims&) {
    return {{"x", normal_values({2, 3, 4}, 1)}};
  }
};
template <>
struct LawInputs<MultiProjection> : TokensInX {
  static Tree<HostTensor> make(const MultiProjection::Dims& d) {
    return {{"x", normal_values({2, 3, d.input_dim}, 1)}};
  }
};
template <>
struct LawInputs<ConvolutionLayer> : TokensInX {
  static constexpr const char* kLastIndex = "last_index";
  static constexpr bool kMayMoveTokens = true;
  static Tree<HostTensor> make(const ConvolutionLayer::Dims& d) {
    Shape shape(static_cast<size_t>(d.num_spatial_dims.value_or(1)) + 1, 5);
    shape[0] = 2;
    shape.push_back(d.input_dim);
    return {{"x", normal_values(shape, 1)}};
  }
};
template <>
struct LawInputs<RecurrentCell> {
  static Tree<HostTensor> make(const RecurrentCell::Dims& d) {
    return {{"x", normal_values({4, 2, d.input_dim}, 1)}};
  }
};
template <>
struct LawInputs<HeadInput> : TokensInX {
  static Tree<HostTensor> make(const HeadDims& d) {
    return {{"x", normal_values({2, 4, d.model_dim}, 1)}};
  }
};
template <>
struct LawInputs<HeadOutput> : TokensInX {
  static Tree<HostTensor> make(const HeadDims& d) {
    return {{"x", normal_values({2, 4, d.num_heads, d.head_dim}, 1)}};
  }
};
template <>
struct LawInputs<QKV> : TokensInX {
  static constexpr const char* kPositions = "positions";
  static Tree<HostTensor> make(const QKV::Dims& d) {
    return {{"x", normal_values({2, 4, d.model_dim}, 1)}};
  }
};
template <>
struct LawInputs<LogitBias> {
  static constexpr DType kResult = DType::kF32;
  static Tree<HostTensor> make(const LogitBias::Dims&) {
    return {{"positions/query_positions", HostTensor({3, 1}, {0, 1, 2})},
            {"positions/key_positions", HostTensor({1, 4}, {0, 1, 2, 3})}};
  }
};
template <>
struct LawInputs<AttentionCore> {
  static Tree<HostTensor> make(const AttentionCore::Dims& d) {
    return {{"query", normal_values({2, 3, d.num_heads, d.head_dim}, 1)},
            {"keys/key", normal_values({2, 4, d.num_heads / 2, d.head_dim}, 2)},
            {"keys/value", normal_values({2, 4, d.num_heads / 2, 3}, 3)},
            {"visibility/positions/query_positions", HostTensor({3, 1}, {1, 2, 3})},
            {"visibility/positions/key_positions", HostTensor({1, 4}, {0, 1, 2, 3})},
            {"visibility/bias", normal_values({d.num_heads, 3, 4}, 4)}};
  }
};
template <>
struct LawInputs<Mixer> : TokensInX {
  static constexpr const char* kPositions = "context/positions";
  static constexpr const char* kLastIndex = "context/last_index";
  static Tree<HostTensor> make(const MixerDims& d) {
    return {{"x", normal_values({2, 4, d.model_dim}, 1)},
            {"context/positions", HostTensor({2, 4}, {0, 1, 0, 1, 0, 1, 2, 0})},
            {"context/segment_ids", HostTensor({2, 4}, {1, 1, 2, 2, 1, 1, 1, 2})}};
  }
};
template <>
struct LawInputs<Block> : LawInputs<Mixer> {};
template <>
struct LawInputs<PositionEmbedding> : TokensInX {
  static constexpr const char* kPositions = "positions";
  static Tree<HostTensor> make(const PositionEmbedding::Dims& d) {
    return {{"x", normal_values({2, 4, d.model_dim}, 1)}};
  }
};
template <>
struct LawInputs<TokenEmbedding> {
  static constexpr const char* kTokens = "ids";
  static constexpr const char* kMethod = "forward";
  static Tree<HostTensor> make(const TokenEmbedding::Dims& d) {
    return {{"ids", token_ids(static_cast<int32_t>(d.vocab_size))}};
  }
};
template <>
struct LawInputs<Decoder> {
  static constexpr const char* kTokens = "ids";
  static constexpr const char* kPositions = "context/positions";
  static constexpr const char* kLastIndex = "context/last_index";
  static constexpr const char* kMethod = "forward";
  static Tree<HostTensor> make(const Decoder::Dims&) { return {{"ids", token_ids()}}; }
};
template <>
struct LawInputs<Model> {
  static constexpr const char* kTokens = "batch/input_ids";
  static constexpr const char* kPositions = "batch/input_positions";
  static constexpr const char* kLastIndex = "batch/last_index";
  static constexpr const char* kMethod = "logits";
  static Tree<HostTensor> make(const Model::Dims&) {
    return {{"batch/input_ids", token_ids()},
            {"batch/target_labels", HostTensor({2, 4}, {1, 2, 0, -1, 4, 0, -1, -1})}};
  }
};

}  // namespace axle::testing
