// Generation of tokens: prompts in, one callback for each new token.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <tuple>
#include <vector>

#include "infer/decode_programs.h"
#include "ir/host_tensor.h"
#include "runtime/runtime.h"

namespace axle {

using TokenIds = std::vector<int32_t>;

struct GenerateOptions {
  Sampling sampling = {};
  int64_t max_tokens = 256;
  /// Of what is drawn.
  int64_t seed = 0;
  /// A row is done once it draws one of these.
  TokenIds end_tokens = {};
};

enum class StopReason { kEndToken, kMaxTokens, kContextEnd };
/// "end_token", "max_tokens" or "context_end".
std::string to_text(StopReason reason);

/// What became of one prompt.
struct GeneratedRow {
  /// Without the prompt and without the end token.
  TokenIds tokens = {};
  StopReason stop = StopReason::kMaxTokens;
};

struct Generated {
  std::vector<GeneratedRow> rows = {};
  /// Compilation not included.
  double prefill_secs = 0, decode_secs = 0;
  /// Of all rows, without the first of each, which prefill gives.
  int64_t decoded_tokens = 0;
  /// 0 where nothing was decoded.
  double tokens_per_sec() const {
    return decode_secs > 0 ? static_cast<double>(decoded_tokens) / decode_secs : 0;
  }
};

/// A model's parameters on a device, and the programs that generate with them. A program is
/// compiled when its sizes are first needed: lengths are rounded up to powers of two, so that few
/// are.
///
/// Not for use from several threads.
class Generator {
 public:
  struct Options {
    /// The longest text, prompt included; none: no limit.
    std::optional<int64_t> context_len = {};
    /// See DecodeShape.
    std::optional<DType> compute_dtype = {};
    /// Of the runtime's devices; no axes: one.
    Mesh mesh = {};
    CompileOptions compile = {};
  };
  /// Copies the parameters to the device, in the type that is computed in. `model` and `runtime`
  /// must outlive the generator. Throws ConfigError if the parameters are not the model's, or
  /// do not divide by the mesh, and for a mesh axis that nothing is sharded over;
  /// Error with kDoesNotFit where the host has no room for them.
  Generator(Model& model, const Tree<HostTensor>& parameters, Runtime& runtime, Options options);

  /// Called with each new token of each row, as it comes; end tokens are not handed on.
  using OnToken = std::function<void(size_t row, int32_t token)>;
  /// Goes on from the prompts, all rows together. Throws ConfigError for no prompt, an empty one,
  /// one that fills the context, or max_tokens < 1; DeviceError; Error with kDoesNotFit where the
  /// host has no room for what a program needs, with kValidationFailed as soon as the logits of a
  /// row that still grows are not finite.
  Generated generate(std::span<const TokenIds> prompts, const GenerateOptions& options,
                     const OnToken& on_token = {});

 private:
  struct Prefill {
    Program program;
    std::unique_ptr<Executable> executable;
  };
  void check_room(std::span<const ProgramValue> parameters) const;
  std::unique_ptr<Executable> compile(const Program& program);
  Prefill& prefill(const DecodeShape& shape, const Sampling& sampling);
  Executable& decode(const DecodeShape& shape, const Sampling& sampling);
  int64_t room_for(std::span<const TokenIds> prompts, const GenerateOptions& options) const;
  Arrays start(std::span<const TokenIds> prompts, const DecodeShape& shape,
               const GenerateOptions& options);

  Model& model_;
  Runtime& runtime_;
  Options options_;
  Arrays parameters_;  // in the order of decode_parameters
  // By rows, prompt, cache.
  std::map<std::tuple<int64_t, int64_t, int64_t, Sampling>, Prefill> prefills_;
  std::map<std::tuple<int64_t, int64_t, Sampling>, std::unique_ptr<Executable>>
      decodes_;  // rows, cache
};

}  // namespace axle
