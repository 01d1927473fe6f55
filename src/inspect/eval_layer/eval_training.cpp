#include "inspect/eval_layer/eval_training.h"

#include <fmt/format.h>

#include <cstring>

#include "base/error.h"
#include "base/tree.h"
#include "config/missing.h"
#include "inspect/eval_layer/eval_layer_files.h"
#include "inspect/eval_layer/rename.h"
#include "ops/random/random.h"
#include "train/program/programs.h"

namespace axle {
namespace {

const std::string kModel = "model";                  // path of the model in a training run
const std::string kSummaries = "summary/" + kModel;  // layer summaries, among the metrics

Learner::Config with_norms(Learner::Config config) {
  config.norms = NormMetrics::kAll;
  return config;
}

// Returns the learner with all norms among its metrics.
Child<Learner> reporting(Child<Learner> learner) {
  if (const auto* config = learner.get_if<Learner>())
    learner.put(AnyConfig::of(with_norms(*config)));
  return learner;
}

// The batches of all steps. Each tensor is [steps, ...].
class Batches {
 public:
  explicit Batches(Tree<HostTensor> all) : all_(std::move(all)) {
    if (all_.empty()) throw DataError("batches/input_ids: expected [steps, B, T], got none");
    for (const auto& [name, value] : all_) {
      if (value.shape().empty())
        throw ConfigError(
            fmt::format("batches/{}: expected [steps, ...], got {}", name, to_text(value.type())));
      if (value.shape()[0] != num_steps()) {
        throw ConfigError(fmt::format("batches/{}: expected {} steps, as batches/{} has, got {}",
                                      name, num_steps(), all_.begin()->first,
                                      to_text(value.type())));
      }
    }
    if (num_steps() < 1) throw DataError("batches/: expected at least one step, got none");
  }
  int64_t num_steps() const { return all_.begin()->second.shape()[0]; }
  Tree<Type> types() const {
    Tree<Type> out;
    for (const auto& [name, value] : all_) out.emplace(name, type_of(value));
    return out;
  }
  Tree<HostTensor> at(int64_t step) const {
    Tree<HostTensor> out;
    for (const auto& [name, value] : all_) {
      HostTensor one(type_of(value));
      const size_t size = one.bytes().size();
      if (size > 0)
        std::memcpy(one.bytes().data(), value.bytes().data() + static_cast<size_t>(step) * size,
                    size);
      out.emplace(name, std::move(one));
    }
    return out;
  }

 private:
  static Type type_of(const HostTensor& all) {
    return {all.dtype(), Shape(all.shape().begin() + 1, all.shape().end())};
  }
  Tree<HostTensor> all_;
};

Tree<Type> types_of(const std::vector<ProgramValue>& leaves) {
  Tree<Type> out;
  for (const ProgramValue& leaf : leaves) out.emplace(leaf.name, leaf.type);
  return out;
}

void check_ids(const Tree<HostTensor>& batch, int64_t vocab_size) {
  const auto check = [&](const std::string& name, NegativeIds negative) {
    if (const auto it = batch.find(name); it != batch.end())
      check_ids("batches/" + name, it->second, vocab_size, negative);
  };
  check("input_ids", NegativeIds::kRefused);
  check("target_labels", NegativeIds::kIgnored);
}

// The model and learner of a training run, and the programs that make and carry its state.
class Run {
 public:
  Run(const Trainer::Config& config, Tree<Type> batch, const EvalTrainingOptions& options,
      Runtime& runtime)
      : model_(config.model.build({}, Scope{.path = kModel})),
        learner_(reporting(config.learner)
                     .build({.params = model_->param_specs(), .run_steps = run_steps(config)},
                            Scope{.path = "learner"})),
        parts_{.model = *model_,
               .learner = learner_.get(),
               .batch = std::move(batch),
               .compute_dtype =
                   options.dtype ? options.dtype : std::optional<DType>(config.compute_dtype),
               .layer_summaries = config.layer_summaries},
        leaves_(train_state(*model_, *learner_)),
        runtime_(runtime) {}

  int64_t vocab_size() const { return model_->vocab_size(); }
  /// Steps of the whole run; none if the config does not set them.
  static std::optional<int64_t> run_steps(const Trainer::Config& config) {
    return config.max_steps.has_value() ? std::optional(*config.max_steps) : std::nullopt;
  }
  /// Returns the state that a run with this seed begins with.
  Tree<HostTensor> drawn(int64_t seed) const {
    check_tensor_memory("training state", types_of(leaves_));
    return NamedExecutable(init_program(parts_), runtime_)({{"key", random::key_words(seed)}});
  }
  /// Returns the state before the first step: `state`, with the given values instead of its own.
  Tree<HostTensor> start(Tree<HostTensor> state, const std::optional<Tree<HostTensor>>& weights,
                         Tree<HostTensor> given, const std::optional<int64_t>& call_key) const {
    if (weights) {
      put_subtree(state, kModel,
                  check_given(subtree(types_of(leaves_), kModel), *weights, "init",
                              "a parameter of this model"));
      put_subtree(state, "learner", initial_learner_state(subtree(state, kModel)));
    }
    if (!given.empty()) {
      given.try_emplace("prng_key", state.at("prng_key"));
      Tree<Type> types;
      for (const ProgramValue& leaf : leaves_) {
        if (!leaf.name.starts_with(kModel + "/")) types.emplace(leaf.name, leaf.type);
      }
      for (auto& [name, value] : check_given(types, std::move(given), "state", "state of this run"))
        state.insert_or_assign(name, value.astype(types.at(name).dtype));
    }
    if (call_key) state.insert_or_assign("prng_key", random::key_words(*call_key));
    return state;
  }
  NamedExecutable step() const {
    Program program = step_program(parts_);
    std::vector<std::string> unread, known;
    for (const std::string& name : unread_inputs(program)) {
      if (parts_.batch.contains(name)) unread.push_back("batches/" + name);
    }
    for (const std::string_view name : kBatchNames) known.push_back("batches/" + std::string(name));
    fail_unread(unread, known);
    return NamedExecutable(std::move(program), runtime_);
  }

 private:
  Tree<HostTensor> initial_learner_state(const Tree<HostTensor>& weights) const {
    return run_named(
        "initialize",
        [&](const Tree<Tensor>& given) {
          Tree<Tensor> by_path;
          put_subtree(by_path, kModel, Tree<Tensor>(given));
          return learner_->initialize(by_path);
        },
        weights, runtime_);
  }

  std::unique_ptr<Model> model_;
  std::unique_ptr<Learner> learner_;
  ProgramSpec parts_;
  std::vector<ProgramValue> leaves_;
  Runtime& runtime_;
};

int64_t steps_to_take(const Batches& batches, const EvalTrainingOptions& options) {
  const int64_t steps = options.num_steps.value_or(batches.num_steps());
  if (steps < 1 || steps > batches.num_steps()) {
    throw ConfigError(fmt::format("--steps: expected 1 to {}, the number of given batches, got {}",
                                  batches.num_steps(), steps));
  }
  return steps;
}

}  // namespace

Tree<HostTensor> eval_training(const Trainer::Config& config,
                               const std::optional<Tree<HostTensor>>& params,
                               const Tree<HostTensor>& inputs, const EvalTrainingOptions& options,
                               Runtime& runtime) {
  check_complete(config.model, "model");
  check_complete(config.learner, "learner");
  const std::optional<Tree<HostTensor>> weights = start_weights(params, inputs);
  if (!weights && !options.init_seed)
    throw ConfigError("init/: expected the weights, or --seed N, got neither");
  const Batches batches(subtree(inputs, "batches"));
  const int64_t num_steps = steps_to_take(batches, options);

  const Run run(config, batches.types(), options, runtime);
  for (int64_t i = 0; i < num_steps; ++i) check_ids(batches.at(i), run.vocab_size());
  const NamedExecutable step = run.step();
  Tree<HostTensor> state = run.drawn(options.init_seed.value_or(config.seed)), out;
  if (options.init_seed) put_subtree(out, "init_params", subtree(state, kModel));
  state = run.start(std::move(state), weights, subtree(inputs, "state"), options.call_key);
  StepSeries metrics;
  for (int64_t i = 0; i < num_steps; ++i) {
    Tree<HostTensor> arguments = batches.at(i);
    for (auto& [name, value] : state) arguments.insert_or_assign(name, std::move(value));
    Tree<HostTensor> done = step(arguments);
    for (auto& [name, value] : state) value = std::move(done.extract(name).mapped());
    metrics.add(done);
  }
  for (auto& [name, value] : state) {
    const bool is_weight = name.starts_with(kModel + "/");
    out.emplace(is_weight ? "final/" + name.substr(kModel.size() + 1) : "state/" + name,
                std::move(value));
  }
  Tree<HostTensor> reported = metrics.stacked();
  put_subtree(out, "summaries", subtree(reported, kSummaries));
  std::erase_if(reported, [](const auto& r) { return r.first.starts_with(kSummaries + "/"); });
  out.merge(std::move(reported));
  return out;
}

}  // namespace axle
