// Runs the programs of a training run step by step, on any runtime.
#pragma once

#include <algorithm>
#include <memory>
#include <string>

#include "ir/eval.h"
#include "nn/layer_role.h"
#include "ops/random/random.h"
#include "runtime/runtime.h"
#include "testing/fast_compile.h"
#include "train/program/programs.h"
#include "train/record/metrics.h"
#include "train/trainer.h"

namespace axle {

struct StepRunOptions {
  Child<Model> model;
  Child<Learner> learner;
  Tree<Type> batch;
  Mesh mesh = {};
  std::optional<DType> compute_dtype = {};
  bool layer_summaries = false;
  /// The trainer's default partition.
  PartitionSpec batch_partition = Trainer::Config{}.batch_partition;
};

class StepRun {
 public:
  StepRun(Runtime& runtime, StepRunOptions options)
      : runtime_(runtime),
        options_(std::move(options)),
        model_(options_.model.build({}, Scope{.path = "model"})),
        learner_(
            options_.learner.build({.params = model_->param_specs()}, Scope{.path = "learner"})),
        leaves_(train_state(*model_, *learner_)),
        program_(traced()),
        executable_(runtime_.compile(program_, testing::fast_compile(runtime_))) {}

  /// True if attention is computed by blocks in some layer.
  bool attends_by_blocks() const { return attends_by_blocks_; }
  /// Starts a run with this seed, whose state the runtime draws. initial_state() draws it slowly.
  void start(int64_t seed) {
    const auto init = runtime_.compile(init_program(spec()), testing::fast_compile(runtime_));
    arrays_ = init->execute(
        Arrays{runtime_.make_array(random::key_words(seed), PartitionSpec{}, options_.mesh)});
  }
  /// Returns the state that a run with this seed starts from.
  Tree<HostTensor> initial_state(int64_t seed) {
    const std::vector<HostTensor> values =
        evaluate(*init_program(spec()).graph, {random::key_words(seed)});
    Tree<HostTensor> out;
    for (size_t i = 0; i < leaves_.size(); ++i) out.emplace(leaves_[i].name, values[i]);
    return out;
  }
  void set_state(const Tree<HostTensor>& state) {
    arrays_.clear();
    for (const ProgramValue& leaf : leaves_) {
      arrays_.push_back(runtime_.make_array(state.at(leaf.name), leaf.sharding, options_.mesh));
    }
  }
  Tree<HostTensor> state() const {
    Tree<HostTensor> out;
    for (size_t i = 0; i < leaves_.size(); ++i) out.emplace(leaves_[i].name, arrays_[i]->to_host());
    return out;
  }
  /// Takes one step and returns its metrics.
  Tree<double> step(const Tree<HostTensor>& batch) {
    Arrays arguments = std::move(arrays_);
    for (const ProgramValue& input : std::span(program_.inputs).subspan(leaves_.size()))
      arguments.push_back(runtime_.make_array(batch.at(input.name), input.sharding, options_.mesh));
    const Arrays outputs = executable_->execute(arguments);
    arrays_.assign(outputs.begin(), outputs.begin() + leaves_.size());
    return metric_values(program_, leaves_.size(),
                         {outputs.begin() + leaves_.size(), outputs.end()});
  }
  /// The state on the devices, in the order of leaves(). The next step takes it.
  const Arrays& arrays() const { return arrays_; }
  Model& model() { return *model_; }
  ProgramSpec spec() const {
    return {.model = *model_,
            .learner = learner_.get(),
            .batch = options_.batch,
            .mesh = options_.mesh,
            .batch_partition = options_.batch_partition,
            .compute_dtype = options_.compute_dtype,
            .layer_summaries = options_.layer_summaries};
  }
  const Program& program() const { return program_; }
  const Executable& executable() const { return *executable_; }
  const std::vector<ProgramValue>& leaves() const { return leaves_; }

 private:
  Program traced() {
    const CallForms forms;
    Program out = step_program(spec());
    attends_by_blocks_ = std::ranges::any_of(
        forms.notes(), [](const auto& note) { return note.second.starts_with("by blocks: "); });
    return out;
  }

  Runtime& runtime_;
  StepRunOptions options_;
  bool attends_by_blocks_ = false;
  std::unique_ptr<Model> model_;
  std::unique_ptr<Learner> learner_;
  std::vector<ProgramValue> leaves_;
  Program program_;
  std::unique_ptr<Executable> executable_;
  Arrays arrays_;
};

}  // namespace axle
