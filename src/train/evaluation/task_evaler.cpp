#include "train/evaluation/task_evaler.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "base/text/text_table.h"
#include "config/register.h"
#include "infer/decode_programs.h"
#include "lower/trace_program.h"
#include "ops/elementwise/convert.h"
#include "train/device_state.h"
#include "train/evaluation/task_setup.h"
#include "train/record/progress.h"
#include "train/training_parts.h"

namespace axle {
namespace {

std::string state_of(std::span<const Task> tasks) {
  std::string out;
  for (const Task& task : tasks)
    out += fmt::format("{}:{:x} ", task.config().name, task.fingerprint());
  return out;
}

void add_metrics(const TaskResult& result, Evaluated& out) {
  for (const MetricResult& metric : result.metrics) {
    std::string name = result.task + "/" + metric.metric;
    if (metric.standard_error) out.metrics[name + "_stderr"] = *metric.standard_error;
    if (!metric.filter.empty() && metric.filter != "none") name += "/" + metric.filter;
    out.metrics[name] = metric.value;
    out.text += fmt::format("{}{} {:.4f}", out.text.empty() ? "" : ", ", name, metric.value);
  }
  if (result.num_cut > 0)
    out.text += fmt::format(", of {} only the end", counted(result.num_cut, "context"));
}

}  // namespace

TaskEvaler::TaskEvaler(const Config& cfg, std::string name, const TrainingParts& training,
                       const Mesh& mesh)
    : RepeatedEvaluation(name, cfg.every_steps), limit_(cfg.limit), model_(training.model.get()) {
  TaskSetup setup = set_up_tasks(cfg, name, training.config, *model_);
  trace_tasks(setup, name, *model_, mesh);
  tasks_ = std::move(setup.tasks);
  tokenizer_ = std::move(setup.tokenizer);
  options_ = std::move(setup.options);
  options_.mesh = mesh;
  data_state_ = state_of(tasks_);
  if (cfg.weights == Weights::kAverage) prefix_ = "learner/ema/";
}

TaskEvaler::~TaskEvaler() = default;
TaskEvaler::TaskEvaler(TaskEvaler&&) noexcept = default;

void TaskEvaler::set_compile_options(CompileOptions options) {
  options_.compile = std::move(options);
}

// Returns the parameters in the types that decoding computes with.
Arrays TaskEvaler::parameters_of(const DeviceState& state, Runtime& runtime) {
  const std::vector<ProgramValue> computed =
      decode_parameters(*model_, {.compute_dtype = options_.compute_dtype});
  std::vector<ProgramValue> stored;
  Arrays arrays;
  bool are_equal = true;
  for (const ProgramValue& value : computed) {
    const std::string name = value.name.starts_with("model/") ? prefix_ + value.name : value.name;
    const auto leaf = std::ranges::lower_bound(state.leaves, name, {}, &ProgramValue::name);
    AXLE_CHECK(leaf != state.leaves.end() && leaf->name == name, "the state has all parameters");
    stored.push_back(*leaf);
    arrays.push_back(state.arrays[static_cast<size_t>(leaf - state.leaves.begin())]);
    are_equal = are_equal && leaf->type == value.type;
  }
  if (are_equal) return arrays;
  if (!cast_executable_) {
    const TensorFunction fn = [&](const Values& x) {
      Values out;
      for (size_t i = 0; i < x.size(); ++i) out.push_back(astype(x[i], computed[i].type.dtype));
      return out;
    };
    cast_ = trace_program("decode_parameters", fn, stored, computed, options_.mesh);
    cast_executable_ = runtime.compile(cast_, options_.compile);
  }
  return cast_executable_->execute(arrays);
}

std::optional<Evaluated> TaskEvaler::evaluate(Runtime& runtime, const DeviceState& state,
                                              const StopCondition& stop, Progress& progress) {
  LongWait wait(progress, "eval " + name());
  if (!task_model_)
    task_model_ = std::make_unique<TaskModel>(*model_, *tokenizer_, runtime, options_);
  task_model_->set_parameters(parameters_of(state, runtime));
  Evaluated out;
  double done = 0;
  for (Task& task : tasks_) {
    const auto on_share = [&](double share) {
      wait.done((done + share) / static_cast<double>(tasks_.size()));
      return !stop();
    };
    const auto result = evaluate_task(task, *task_model_, limit_, on_share);
    if (!result) return std::nullopt;
    add_metrics(*result, out);
    ++done;
  }
  task_model_->set_parameters({});  // the next step takes the state over
  return out;
}

AXLE_REGISTER(TaskEvaler)

}  // namespace axle
