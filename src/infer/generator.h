// Generation of tokens: takes prompts, and calls back for each new token.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "base/text/text.h"
#include "base/tree.h"
#include "data/batch.h"
#include "infer/decode_programs.h"
#include "ir/dtype.h"
#include "ir/host_tensor.h"
#include "lower/stablehlo.h"
#include "runtime/runtime.h"

namespace axle {

class Model;
struct DecodeShape;

using TokenIds = std::vector<int32_t>;

struct GenerateOptions {
  Sampling sampling = {};
  int64_t max_tokens = 256;
  /// Seed of the random draws.
  int64_t seed = 0;
  /// A row ends once it draws one of these tokens.
  TokenIds end_tokens = {};
  /// A row also ends where its text has one of these (TextGenerator).
  std::vector<std::string> end_texts = {};
};

enum class StopReason { kEndToken, kMaxTokens, kContextEnd, kEndText };
constexpr auto texts_of(StopReason) {
  return std::to_array<EnumText<StopReason>>({{StopReason::kEndToken, "end_token"},
                                              {StopReason::kMaxTokens, "max_tokens"},
                                              {StopReason::kContextEnd, "context_end"},
                                              {StopReason::kEndText, "end_text"}});
}

/// The result for one prompt.
struct GeneratedRow {
  /// The new tokens, without the prompt and without the end token.
  TokenIds tokens = {};
  StopReason stop = StopReason::kMaxTokens;
};

/// The results for all prompts.
struct Generated {
  std::vector<GeneratedRow> rows = {};
  /// Durations, without compilation.
  double prefill_secs = 0, decode_secs = 0;
  /// Tokens of all rows, without the first token of each row, which prefill draws.
  int64_t decoded_tokens = 0;
  /// Tokens of all rows per second of decoding; 0 if nothing was decoded.
  double tokens_per_sec() const {
    return decode_secs > 0 ? static_cast<double>(decoded_tokens) / decode_secs : 0;
  }
};

/// Copies the parameters, "model/..." and "state/...", to the devices of the mesh in the order and
/// the types of decode_parameters(). Throws as Generator does.
Arrays decode_arrays(const Model& model, const Tree<HostTensor>& parameters, Runtime& runtime,
                     std::optional<DType> compute_dtype, const Mesh& mesh);

/// A model's parameters on a device, and the programs that generate with them. Each program is
/// compiled when its sizes are first needed. Lengths are rounded up to powers of two, so that few
/// programs are needed.
///
/// Not thread-safe.
class Generator {
 public:
  struct Options {
    /// The longest sequence, including the prompt; none: no limit.
    std::optional<int64_t> context_len = {};
    /// See DecodeShape.
    std::optional<DType> compute_dtype = {};
    /// A mesh of the runtime's devices; no axes: one device.
    Mesh mesh = {};
    /// See DecodeShape.
    StreamRule streams = {};
    CompileOptions compile = {};
  };
  /// Copies the parameters to the devices, in the type of the computation. `model` and `runtime`
  /// must outlive the generator. Throws ConfigError if the parameters do not match the model or
  /// do not divide by the mesh, or if nothing is sharded over an axis of the mesh; Error with
  /// kDoesNotFit if the host has no room for them.
  Generator(Model& model, const Tree<HostTensor>& parameters, Runtime& runtime, Options options);
  /// Takes parameters that are on the devices already, in the order and the types of
  /// decode_parameters().
  Generator(Model& model, Arrays parameters, Runtime& runtime, Options options);

  /// Called with each new token of each row, as soon as it is drawn; not called with end tokens.
  /// Returns false to end the row.
  using OnToken = std::function<bool(size_t row, int32_t token)>;
  /// Continues all prompts together, one row each. Throws ConfigError for no prompt, an empty one,
  /// one that fills the context, max_tokens < 1, or a cache with too little room (BoundedCache);
  /// DeviceError; Error with kDoesNotFit if the host has no room for a program; Error with
  /// kValidationFailed as soon as the logits of an unfinished row are not finite.
  Generated generate(std::span<const TokenIds> prompts, const GenerateOptions& options,
                     const OnToken& on_token = {});

 private:
  struct Prefill {
    Program program;
    std::unique_ptr<Executable> executable;
  };
  std::unique_ptr<Executable> compile(const Program& program);
  Prefill& prefill(const DecodeShape& shape, const Sampling& sampling);
  Executable& decode(const DecodeShape& shape, const Sampling& sampling);
  int64_t max_new_tokens(std::span<const TokenIds> prompts, const GenerateOptions& options) const;
  void check_caches(std::span<const TokenIds> prompts, int64_t most_new,
                    const DecodeShape& shape) const;
  Arrays start(std::span<const TokenIds> prompts, const DecodeShape& shape,
               const GenerateOptions& options);

  Model& model_;
  Runtime& runtime_;
  Options options_;
  Arrays parameters_;  // in the order of decode_parameters
  // Keys: rows, prompt length, cache length, sampling.
  std::map<std::tuple<int64_t, int64_t, int64_t, Sampling>, Prefill> prefills_;
  std::map<std::tuple<int64_t, int64_t, Sampling>, std::unique_ptr<Executable>>
      decodes_;  // rows, cache length, sampling
};

}  // namespace axle
