#include "infer/generator.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>

#include "base/error.h"
#include "base/lists.h"
#include "base/process_start.h"
#include "infer/decode_programs.h"
#include "ir/type.h"
#include "layers/attention/caches/dense_kv_caches.h"
#include "layers/mesh_axes.h"
#include "layers/models/model.h"
#include "ops/random/random.h"
#include "runtime/arguments.h"
#include "runtime/memory_estimate.h"

namespace axle {
namespace {

int64_t longest(std::span<const TokenIds> prompts) {
  size_t most = 0;
  for (const TokenIds& prompt : prompts) most = std::max(most, prompt.size());
  return static_cast<int64_t>(most);
}

// The new tokens of all rows, and which rows still grow.
class Rows {
 public:
  Rows(std::span<const TokenIds> prompts, const GenerateOptions& options,
       std::optional<int64_t> context_len)
      : options_(options), rows_(prompts.size()), done_(prompts.size()), num_open_(prompts.size()) {
    for (const TokenIds& prompt : prompts) {
      const int64_t room = context_len ? *context_len - std::ssize(prompt) : options.max_tokens;
      token_limits_.push_back(std::min(room, options.max_tokens));
    }
  }
  bool all_done() const { return num_open_ == 0; }

  /// Appends the tokens of one step, one per row.
  void add(std::span<const int32_t> tokens, const Generator::OnToken& on_token) {
    for (size_t i = 0; i < rows_.size(); ++i) {
      if (done_[i]) continue;
      if (tokens[i] == kNonFiniteToken) fail_non_finite(i);
      if (std::ranges::count(options_.end_tokens, tokens[i])) {
        close(i, StopReason::kEndToken);
        continue;
      }
      rows_[i].tokens.push_back(tokens[i]);
      if (on_token && !on_token(i, tokens[i])) {
        close(i, StopReason::kEndText);
      } else if (std::ssize(rows_[i].tokens) == token_limits_[i]) {
        close(i, token_limits_[i] == options_.max_tokens ? StopReason::kMaxTokens
                                                         : StopReason::kContextEnd);
      }
    }
  }
  std::vector<GeneratedRow> take() { return std::move(rows_); }

 private:
  [[noreturn]] void fail_non_finite(size_t row) const {
    throw Error(fmt::format("prompt {}, new token {}: expected finite logits, got NaN or infinity; "
                            "finite parameters can still be too large",
                            row + 1, rows_[row].tokens.size() + 1),
                ExitCode::kValidationFailed);
  }
  void close(size_t row, StopReason reason) {
    rows_[row].stop = reason;
    done_[row] = true;
    --num_open_;
  }
  const GenerateOptions& options_;
  std::vector<GeneratedRow> rows_;
  std::vector<int64_t> token_limits_;  // number of tokens that each row may still get at the start
  std::vector<bool> done_;
  size_t num_open_;
};

// Checks that the host has room for a copy of the parameters if the devices use the host's memory.
// The host holds the parameters themselves already.
void check_parameter_memory(std::span<const ProgramValue> parameters, const Mesh& mesh,
                            const Runtime& runtime) {
  HostNeed need{.what = "a copy of the parameters for the device"};
  for (const ProgramValue& value : parameters)
    need.bytes = saturating_sum(need.bytes, bytes_on_devices(value, mesh));
  if (is_host(runtime.topology().platform)) check_host_memory(std::span(&need, 1), host_memory());
}

}  // namespace

Arrays decode_arrays(const Model& model, const Tree<HostTensor>& parameters, Runtime& runtime,
                     std::optional<DType> compute_dtype, const Mesh& mesh) {
  const std::vector<ProgramValue> stored = stored_parameters(model),
                                  computed =
                                      decode_parameters(model, {.compute_dtype = compute_dtype});
  Tree<Type> expected;
  for (const ProgramValue& value : stored) expected.emplace(value.name, value.type);
  if (const std::string text = type_differences(expected, types_of(parameters)); !text.empty()) {
    throw ConfigError(
        fmt::format("parameters: {}; were the weights made by another config?", text));
  }
  check_mesh(mesh, stored);
  check_parameter_memory(computed, mesh, runtime);
  Arrays out;
  for (const ProgramValue& value : computed) {
    check_partition(value.name, value.type.dims, value.sharding, mesh);
    const HostTensor& given = parameters.at(value.name);
    out.push_back(runtime.make_array(
        value.type.dtype == given.dtype() ? given : given.astype(value.type.dtype), value.sharding,
        mesh));
  }
  return out;
}

Generator::Generator(Model& model, const Tree<HostTensor>& parameters, Runtime& runtime,
                     Options options)
    : Generator(model,
                decode_arrays(model, parameters, runtime, options.compute_dtype, options.mesh),
                runtime, options) {}

Generator::Generator(Model& model, Arrays parameters, Runtime& runtime, Options options)
    : model_(model),
      runtime_(runtime),
      options_(std::move(options)),
      parameters_(std::move(parameters)) {}

// Compiles the program, and checks its needs against the free memory of the host.
std::unique_ptr<Executable> Generator::compile(const Program& program) {
  auto executable = runtime_.compile(program, options_.compile);
  check_program_memory({"decoding", executable.get()}, program.mesh.num_devices(),
                       runtime_.topology().platform);
  return executable;
}

Generator::Prefill& Generator::prefill(const DecodeShape& shape, const Sampling& sampling) {
  auto& slot = prefills_[{shape.num_rows, shape.prompt_len, shape.cache_len, sampling}];
  if (!slot.executable) {
    slot.program = prefill_program(model_, shape, sampling);
    slot.executable = compile(slot.program);
  }
  return slot;
}

Executable& Generator::decode(const DecodeShape& shape, const Sampling& sampling) {
  auto& slot = decodes_[{shape.num_rows, shape.cache_len, sampling}];
  if (!slot) slot = compile(decode_program(model_, shape, sampling));
  return *slot;
}

// Returns the largest number of new tokens that any row may get.
int64_t Generator::max_new_tokens(std::span<const TokenIds> prompts,
                                  const GenerateOptions& options) const {
  check(options.sampling);
  if (options.max_tokens < 1)
    throw ConfigError(fmt::format("max_tokens: expected at least 1, got {}", options.max_tokens));
  if (prompts.empty()) throw ConfigError("prompts: expected at least one, got none");
  int64_t most = 0;
  for (const TokenIds& prompt : prompts) {
    const auto len = std::ssize(prompt);
    if (len == 0) throw ConfigError("prompt: expected at least one token, got none");
    if (options_.context_len && len >= *options_.context_len) {
      throw ConfigError(fmt::format(
          "prompt: expected fewer tokens than the model's context of {}, got {}; shorten it",
          *options_.context_len, len));
    }
    // If the context is within kMaxPositions, a row ends by itself at the end of the context.
    const int64_t room =
        std::min(options_.context_len.value_or(kMaxPositions), kMaxPositions) - len;
    const bool ends = options_.context_len && *options_.context_len <= kMaxPositions;
    if (!ends && options.max_tokens > room) {
      throw ConfigError(fmt::format("max_tokens: expected at most {} after this prompt, got {}",
                                    room, options.max_tokens));
    }
    most = std::max(most, std::min(options.max_tokens, room));
  }
  return most;
}

// Every row grows until the last one ends. The newest token of a row is in no cache yet.
void Generator::check_caches(std::span<const TokenIds> prompts, int64_t most_new,
                             const DecodeShape& shape) const {
  std::vector<int64_t> lengths;
  for (const TokenIds& prompt : prompts) {
    const auto length = std::ssize(prompt) + most_new - 1;
    lengths.push_back(std::min(length, shape.cache_len));
  }
  model_.visit([&](const Layer& layer) {
    if (const auto* const cache = dynamic_cast<const BoundedCache*>(&layer))
      cache->check_room(lengths);
  });
}

// Runs the prefill. Returns the state after the prompts.
Arrays Generator::start(std::span<const TokenIds> prompts, const DecodeShape& shape,
                        const GenerateOptions& options) {
  HostTensor ids({DType::kI32, {shape.num_rows, shape.prompt_len}}),
      lengths({DType::kI32, {shape.num_rows}});
  for (size_t i = 0; i < prompts.size(); ++i) {
    const size_t row = i * static_cast<size_t>(shape.prompt_len);
    std::ranges::copy(prompts[i], ids.values<int32_t>().subspan(row).begin());
    lengths.values<int32_t>()[i] = static_cast<int32_t>(prompts[i].size());
  }
  Arrays arguments = parameters_;
  const Prefill& compiled = prefill(shape, options.sampling);
  append_by_name(arguments,
                 {{"key", random::key_words(options.seed)}, {"lengths", lengths}, {"prompts", ids}},
                 compiled.program, runtime_);
  return compiled.executable->execute(arguments);
}

Generated Generator::generate(std::span<const TokenIds> prompts, const GenerateOptions& options,
                              const OnToken& on_token) {
  const int64_t most_new = max_new_tokens(prompts, options), prompt_len = longest(prompts);
  const DecodeShape shape{.num_rows = std::ssize(prompts),
                          .prompt_len = length_bucket(prompt_len, options_.context_len),
                          .cache_len = length_bucket(prompt_len + most_new, options_.context_len),
                          .compute_dtype = options_.compute_dtype,
                          .mesh = options_.mesh,
                          .streams = options_.streams};
  check_caches(prompts, most_new, shape);
  prefill(shape, options.sampling);
  Executable* const step = most_new > 1 ? &decode(shape, options.sampling) : nullptr;

  Generated out;
  Rows rows(prompts, options, options_.context_len);
  const auto prefill_start = Clock::now();
  Arrays state = start(prompts, shape, options);
  state.back()->wait();
  out.prefill_secs = seconds_since(prefill_start);

  const auto decode_start = Clock::now();
  Arrays arguments = parameters_;
  arguments.resize(parameters_.size() + state.size());
  for (int64_t n = 1;; ++n) {
    const ArrayPtr tokens = state.back();
    // The next step runs while the host reads the tokens of this one. The result of a step past the
    // end is not read.
    if (n < most_new) {
      std::ranges::move(state, std::span(arguments).subspan(parameters_.size()).begin());
      state = step->execute(arguments);
    }
    rows.add(tokens->to_host().values<int32_t>(), on_token);
    if (rows.all_done()) break;
  }
  out.decode_secs = seconds_since(decode_start);
  out.rows = rows.take();
  for (const GeneratedRow& row : out.rows)
    out.decoded_tokens += std::max<int64_t>(std::ssize(row.tokens) - 1, 0);
  return out;
}

}  // namespace axle
