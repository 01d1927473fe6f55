// Runs one train step of the peer scripts' models as the trainer runs it, and prints one line of
// JSON.
//
//   train_step_bench [SIZE] [--bf16] [--scan] [--packed] [--steps N] [--dump FILE] [--hlo FILE]
//                    [--set PATH=VALUE]... [--backend NAME]
//
// The model is the Llama family's block (RMSNorm, RoPE, SwiGLU) with a tied head. Gradients are
// clipped to norm 1. The optimizer is AdamW, the tokens are random, and there is no dropout.
//   --scan    repeats one traced layer; without it, layers are unrolled
//   --packed  adds the positions and segment ids of a packed text
//   --dump    writes the program before the compiler
//   --hlo     writes the program after the compiler
#include <fmt/format.h>
#include <sys/resource.h>

#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <random>

#include "base/process_start.h"
#include "bench_main.h"
#include "config/set.h"
#include "config/walk.h"
#include "layers/blocks/stack.h"
#include "layers/norms/norm.h"
#include "learn/schedule.h"
#include "ops/random/random.h"
#include "pjrt/pjrt_runtime.h"
#include "recipes/language_model.h"
#include "runtime/runtime.h"
#include "train/program/programs.h"

namespace axle {
namespace {

const Clock::time_point kStart = Clock::now();

struct Size {
  int64_t model_dim, num_layers, num_heads, hidden_dim, vocab_size, seq_len, batch_size;
};
const std::map<std::string, Size> kSizes = {
    {"tiny", {64, 2, 4, 192, 512, 64, 8}},       {"s", {288, 6, 6, 768, 512, 256, 8}},
    {"s4k", {288, 6, 6, 768, 4096, 256, 8}},     {"m", {768, 12, 12, 2048, 32000, 512, 2}},
    {"l", {2048, 16, 16, 5632, 32000, 1024, 8}},
};

struct Flags {
  std::string size = "s", backend = "cpu";
  bool bf16 = false, scan = false, packed = false;
  int64_t num_steps = 10;
  std::string dump_file, hlo_file;
  std::vector<std::string> edits;
};

Trainer::Config config_of(const Size& s, const Flags& flags) {
  const TransformerLayer::Config layer =
      llama_layer({s.num_heads, s.num_heads, 1e4, FixedDim{.dim = s.hidden_dim}});
  const Child<Block> layers =
      flags.scan ? Child<Block>(Repeat::Config{.num_layers = s.num_layers, .layer = layer})
                 : Child<Block>(Stacked::Config{.num_layers = s.num_layers, .layer = layer});
  Trainer::Config cfg = language_model({
      .decoder = {.model_dim = s.model_dim, .vocab_size = s.vocab_size, .layers = layers},
      .learner = {.max_step = 1000},
      .tokens_per_batch = s.batch_size * s.seq_len,
      .seq_len = s.seq_len,
  });
  if (!flags.bf16) cfg.compute_dtype = {};
  for_each_config<RMSNorm>(cfg.model,
                           [](const std::string&, RMSNorm::Config& norm) { norm.eps = 1e-6f; });
  for_each_config<AdamW>(cfg.learner, [](const std::string&, AdamW::Config& adamw) {
    adamw.learning_rate = ConstantRate{.value = 3e-4};
  });
  for (const std::string& edit : flags.edits) {
    const size_t equals = edit.find('=');
    set(cfg, edit.substr(0, equals), edit.substr(equals + 1));
  }
  return cfg;
}

// Returns a batch of random tokens. The label of each position is the next position's input.
Tree<HostTensor> random_batch(const Size& s, bool packed) {
  std::mt19937 random_bits(1);
  std::vector<int32_t> ids, labels, positions, segments;
  for (int64_t row = 0; row < s.batch_size; ++row) {
    int32_t id = static_cast<int32_t>(random_bits() % static_cast<uint32_t>(s.vocab_size));
    for (int64_t t = 0; t < s.seq_len; ++t) {
      ids.push_back(id);
      labels.push_back(
          id = static_cast<int32_t>(random_bits() % static_cast<uint32_t>(s.vocab_size)));
      positions.push_back(static_cast<int32_t>(t));
      segments.push_back(1);
    }
  }
  const auto tensor = [&](const std::vector<int32_t>& v) {
    return HostTensor({s.batch_size, s.seq_len}, std::span<const int32_t>(v));
  };
  Tree<HostTensor> batch{{"input_ids", tensor(ids)}, {"target_labels", tensor(labels)}};
  if (packed) {
    batch.emplace("input_positions", tensor(positions));
    batch.emplace("input_segment_ids", tensor(segments));
  }
  return batch;
}

// Returns the initial value of a leaf as the peers draw it: weights ~ N(0, 0.02^2), scales of norms
// 1, state of the learner 0.
HostTensor initial_value(const ProgramValue& leaf) {
  if (leaf.name == "prng_key") return random::key_words(0);
  HostTensor value(leaf.type);
  if (leaf.name.starts_with("learner/")) return value;
  if (leaf.name.ends_with("/scale")) return HostTensor::ones(leaf.type.dims);
  std::mt19937 random_bits(static_cast<uint32_t>(std::hash<std::string>{}(leaf.name)));
  std::normal_distribution<float> normal(0, 0.02f);
  for (float& x : value.values<float>()) x = normal(random_bits);
  return value;
}

double cpu_seconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto secs = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + 1e-6 * static_cast<double>(t.tv_usec);
  };
  return secs(usage.ru_utime) + secs(usage.ru_stime);
}

int64_t peak_rss_mb() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_maxrss / 1024;
}

void run(const Flags& flags) {
  const Size size = kSizes.at(flags.size);
  const Trainer::Config cfg = config_of(size, flags);
  const Tree<HostTensor> batch = random_batch(size, flags.packed);

  const auto lower_start = Clock::now();
  const std::unique_ptr<Model> model = cfg.model.build({}, Scope{.path = "model"});
  const std::unique_ptr<Learner> learner = cfg.learner.build(
      {.params = model->param_specs(), .run_steps = *cfg.max_steps}, Scope{.path = "learner"});
  ProgramSpec parts{
      .model = *model, .learner = learner.get(), .batch = {}, .compute_dtype = cfg.compute_dtype};
  for (const auto& [name, value] : batch) parts.batch.emplace(name, value.type());
  const Program step = step_program(parts);
  const double lower_secs = seconds_since(lower_start);
  if (!flags.dump_file.empty()) std::ofstream(flags.dump_file) << step.text;

  const auto runtime = make_runtime({.backend = flags.backend});
  const auto compile_start = Clock::now();
  const auto executable = runtime->compile(
      step, {.overrides = {cfg.compiler_options.begin(), cfg.compiler_options.end()}});
  const double compile_secs = seconds_since(compile_start);
  if (!flags.hlo_file.empty()) std::ofstream(flags.hlo_file) << executable->optimized_program();

  Arrays state, inputs;
  for (const ProgramValue& leaf : train_state(*model, *learner))
    state.push_back(runtime->make_array(initial_value(leaf), {}, {}));
  for (const auto& [name, value] : batch) inputs.push_back(runtime->make_array(value, {}, {}));
  const auto index_of = [&](std::string_view name) {
    const auto it = std::ranges::find(step.outputs, name, &ProgramValue::name);
    return static_cast<size_t>(it - step.outputs.begin());
  };
  double loss = 0;
  const auto take_step = [&] {
    const auto num_leaves = static_cast<std::ptrdiff_t>(state.size());
    Arrays arguments = std::move(state);
    arguments.insert(arguments.end(), inputs.begin(), inputs.end());
    const Arrays outputs = executable->execute(arguments);
    loss = outputs[index_of("loss")]->to_host().at(0);
    state.assign(outputs.begin(), outputs.begin() + num_leaves);
  };
  take_step();
  const double first_step_secs = seconds_since(kStart);

  std::vector<double> secs;
  const double cpu_start = cpu_seconds();
  for (int64_t i = 0; i < flags.num_steps; ++i) {
    const auto start = Clock::now();
    take_step();
    secs.push_back(seconds_since(start));
  }
  const double cpu_secs = (cpu_seconds() - cpu_start) / static_cast<double>(flags.num_steps);
  const StepTimes times(std::move(secs));

  const auto mb = [](int64_t bytes) { return static_cast<double>(bytes) / (1 << 20); };
  const MemoryStats memory = executable->memory().value_or(MemoryStats{});
  int64_t num_params = 0, state_bytes = 0;
  for (const ArrayPtr& leaf : state) state_bytes += static_cast<int64_t>(leaf->type().num_bytes());
  for (const auto& [path, spec] : model->param_specs()) num_params += spec.type().num_elements();
  const nlohmann::ordered_json out = {
      {"peer", "axle"},
      {"size", flags.size},
      {"scan", flags.scan},
      {"bf16", flags.bf16},
      {"packed", flags.packed},
      {"params", num_params},
      {"lower_s", lower_secs},
      {"compile_s", compile_secs},
      {"first_step_s", first_step_secs},
      {"step_ms", times.median * 1e3},
      {"min_ms", times.least * 1e3},
      {"cpu_ms", cpu_secs * 1e3},
      {"tok_s", static_cast<double>(size.batch_size * size.seq_len) / times.median},
      {"loss", loss},
      {"rss_mb", peak_rss_mb()},
      {"state_mb", mb(state_bytes)},
      {"alias_mb", mb(memory.alias_bytes)},
      {"temporary_mb", mb(memory.temporary_bytes)},
      {"platform_version", runtime->topology().platform_version}};
  fmt::print("{}\n", out.dump());
}

}  // namespace
}  // namespace axle

int main(int argc, char** argv) {
  axle::Flags flags;
  CLI::App app("One train step of the peers' models, timed.", "train_step_bench");
  app.add_option("SIZE", flags.size)->check(CLI::IsMember(axle::kSizes));
  app.add_flag("--bf16", flags.bf16);
  app.add_flag("--scan", flags.scan);
  app.add_flag("--packed", flags.packed);
  app.add_option("--steps", flags.num_steps)->check(CLI::PositiveNumber);
  app.add_option("--dump", flags.dump_file);
  app.add_option("--hlo", flags.hlo_file);
  app.add_option("--set", flags.edits);
  app.add_option("--backend", flags.backend);
  return axle::bench_main(app, argc, argv, [&] { axle::run(flags); });
}
