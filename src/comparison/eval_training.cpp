#include <fmt/format.h>

#include <cstring>

#include "base/error.h"
#include "base/tree.h"
#include "comparison/eval_layer_files.h"
#include "comparison/eval_subject.h"
#include "comparison/rename.h"
#include "config/missing.h"
#include "ops/random/random.h"
#include "train/program/programs.h"

namespace axle {
namespace {

class StepSeries {
 public:
  /// Adds the metrics of a step. Every step must have the same names and shapes.
  void add(const Tree<HostTensor>& step) {
    for (const auto& [name, value] : step) {
      Series& series = series_[name];
      series.shape = value.shape();
      for (int64_t i = 0; i < value.size(); ++i)
        series.values.push_back(static_cast<float>(value.at(i)));
    }
    ++num_steps_;
  }
  /// Returns f32[steps, ...] for each name.
  Tree<HostTensor> stacked() const {
    Tree<HostTensor> out;
    for (const auto& [name, series] : series_) {
      Shape shape = series.shape;
      shape.insert(shape.begin(), num_steps_);
      out.emplace(name, HostTensor(std::move(shape), std::span<const float>(series.values)));
    }
    return out;
  }

 private:
  struct Series {
    Shape shape = {};  // of one step
    std::vector<float> values = {};
  };
  Tree<Series> series_;
  int64_t num_steps_ = 0;
};

using Trees = std::vector<Tree<HostTensor>>;  // one tree per step

// Returns the gradients of all parameters for the steps 0, 1, ...
Trees gradients_of(const Tree<HostTensor>& params, const Tree<HostTensor>& inputs,
                   std::optional<int64_t> num_steps) {
  Trees out;
  const Tree<Type> types = types_of(params);
  Tree<HostTensor> left = subtree(inputs, "grad");
  for (;;) {
    const std::string step = std::to_string(out.size());
    Tree<HostTensor> gradients = subtree(left, step);
    if (gradients.empty()) break;
    std::erase_if(left, [&](const auto& item) { return item.first.starts_with(step + "/"); });
    out.push_back(check_given(types, std::move(gradients), "grad/" + step, "a parameter of init/"));
  }
  if (!left.empty()) {
    throw ConfigError(fmt::format(
        "grad/{}: expected grad/<i>/<path> with consecutive i from 0, got none of step {}",
        left.begin()->first, out.size()));
  }
  if (out.empty()) throw DataError("grad/0: expected the gradient of each parameter, got none");
  if (num_steps) {
    if (*num_steps < 1 || *num_steps > std::ssize(out)) {
      throw ConfigError(
          fmt::format("--steps: expected 1 to {}, the number of given gradients, got {}",
                      out.size(), *num_steps));
    }
    out.resize(*num_steps);
  }
  return out;
}

Tree<ParamSpec> specs_of(const Tree<HostTensor>& params) {
  if (params.empty()) throw DataError("init/: expected the parameters to start from, got none");
  Tree<ParamSpec> out;
  for (const auto& [path, value] : params) {
    if (!is_float(value.dtype()))
      throw ConfigError(
          fmt::format("init/{}: expected floats, got {}", path, to_text(value.type())));
    out.emplace(path, ParamSpec{.shape = value.shape(), .dtype = value.dtype()});
  }
  return out;
}

Tree<HostTensor> start_state(const Learner& learner, const Tree<HostTensor>& params,
                             const Tree<HostTensor>& given, Runtime& runtime) {
  if (given.empty()) {
    return run_named(
        "initialize", [&](const Tree<Tensor>& p) { return learner.initialize(p); }, params,
        runtime);
  }
  Tree<Type> types;
  for (const auto& [path, spec] : learner.state_specs()) types.emplace(path, spec.type());
  Tree<HostTensor> out = check_given(types, given, "state", "state of this learner");
  for (auto& [path, value] : out) value = value.astype(types.at(path).dtype);
  return out;
}

}  // namespace

Tree<HostTensor> eval_learner(const Child<Learner>& config,
                              const std::optional<Tree<HostTensor>>& params,
                              const Tree<HostTensor>& inputs, const SubjectOptions& options,
                              Runtime& runtime) {
  Tree<HostTensor> start = start_weights(params, inputs).value_or(Tree<HostTensor>());
  if (options.layer.dtype) cast_floats(start, *options.layer.dtype);
  const Tree<ParamSpec> specs = specs_of(start);
  const auto learner = config.build({.params = specs}, Scope{});
  Trees gradients = gradients_of(start, inputs, options.num_steps);

  // The arguments of the update, named as the inputs of its program.
  Tree<HostTensor> arguments;
  put_subtree(arguments, "state", start_state(*learner, start, subtree(inputs, "state"), runtime));
  put_subtree(arguments, "param", std::move(start));
  const auto take_in = [&](Tree<HostTensor>& step) {
    if (options.layer.dtype) cast_floats(step, *options.layer.dtype);
    put_subtree(arguments, "grad", std::move(step));
  };
  take_in(gradients[0]);
  const NamedExecutable update(trace_named(
                                   "update",
                                   [&](const Tree<Tensor>& at) {
                                     LearnerOutputs done =
                                         learner->apply({.params = subtree(at, "param"),
                                                         .gradients = subtree(at, "grad"),
                                                         .state = subtree(at, "state")});
                                     Tree<Tensor> out;
                                     put_subtree(out, "param", std::move(done.params));
                                     put_subtree(out, "state", std::move(done.state));
                                     put_subtree(out, "metrics", std::move(done.metrics));
                                     return out;
                                   },
                                   arguments),
                               runtime);

  Tree<HostTensor> out;
  StepSeries metrics;
  for (size_t i = 0; i < gradients.size(); ++i) {
    if (i > 0) take_in(gradients[i]);
    const Tree<HostTensor> done = update(arguments);
    metrics.add(subtree(done, "metrics"));
    for (const char* kept : {"param", "state"}) put_subtree(arguments, kept, subtree(done, kept));
    put_subtree(out, fmt::format("param/{}", i), subtree(done, "param"));
  }
  put_subtree(out, "state", subtree(arguments, "state"));
  out.merge(metrics.stacked());
  return out;
}

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
  Run(const Trainer::Config& config, Tree<Type> batch, const SubjectOptions& options,
      Runtime& runtime)
      : model_(config.model.build({}, Scope{.path = kModel})),
        learner_(reporting(config.learner)
                     .build({.params = model_->param_specs(), .run_steps = run_steps(config)},
                            Scope{.path = "learner"})),
        parts_{.model = *model_,
               .learner = learner_.get(),
               .batch = std::move(batch),
               .compute_dtype = options.layer.dtype ? options.layer.dtype
                                                    : std::optional<DType>(config.compute_dtype),
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

int64_t steps_to_take(const Batches& batches, const SubjectOptions& options) {
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
                               const Tree<HostTensor>& inputs, const SubjectOptions& options,
                               Runtime& runtime) {
  check_complete(config.model, "model");
  check_complete(config.learner, "learner");
  const std::optional<Tree<HostTensor>> weights = start_weights(params, inputs);
  if (!weights && !options.layer.init_seed)
    throw ConfigError("init/: expected the weights, or --seed N, got neither");
  const Batches batches(subtree(inputs, "batches"));
  const int64_t num_steps = steps_to_take(batches, options);

  const Run run(config, batches.types(), options, runtime);
  for (int64_t i = 0; i < num_steps; ++i) check_ids(batches.at(i), run.vocab_size());
  const NamedExecutable step = run.step();
  Tree<HostTensor> state = run.drawn(options.layer.init_seed.value_or(config.seed)), out;
  if (options.layer.init_seed) put_subtree(out, "init_params", subtree(state, kModel));
  state = run.start(std::move(state), weights, subtree(inputs, "state"), options.layer.call_key);
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
