#include "train/evaluation/task_evaler.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/error.h"
#include "config/register.h"
#include "config/walk.h"
#include "infer/decode_programs.h"
#include "io/user_path.h"
#include "lower/trace_program.h"
#include "ops/elementwise/convert.h"
#include "train/device_state.h"
#include "train/record/progress.h"
#include "train/training_parts.h"

namespace axle {
namespace {

std::optional<Slot> input_field(const Trainer::Config& config, std::string_view name) {
  for (const Slot& slot : children_of(ConfigView(config.input.any()).slot())) {
    if (slot.name == name) return unwrap(slot);
  }
  return std::nullopt;
}

std::unique_ptr<Tokenizer> tokenizer_of(const Trainer::Config& config, const std::string& where) {
  const auto slot = input_field(config, "tokenizer");
  const AnyConfig* const held = slot ? held_config(*slot) : nullptr;
  if (!held) {
    throw ConfigError(where +
                      ": expected a run whose input has a tokenizer, got one without; the "
                      "questions of tasks are texts");
  }
  Child<Tokenizer> tokenizer;
  tokenizer.put(*held);
  return tokenizer.build({}, Scope{.path = "input.tokenizer"});
}

std::vector<PositionStream> streams_of(const Trainer::Config& config) {
  const auto slot = input_field(config, "position_streams");
  using Streams = std::vector<PositionStream>;
  return slot && *slot->ops->type == typeid(Streams) ? *static_cast<const Streams*>(slot->at)
                                                     : Streams();
}

std::optional<int64_t> context_len(const Trainer::Config& config, const Model& model) {
  if (const auto most = model.max_seq_len()) return most;
  const auto slot = input_field(config, "seq_len");
  if (!slot) return std::nullopt;
  return static_cast<int64_t>(slot->ops->number(slot->at));
}

void check_average(const TaskEvaler::Config& cfg, const std::string& where,
                   const TrainingParts& training) {
  const auto* const learner = training.config.learner.get_if<Learner>();
  if (cfg.weights == Weights::kTrained || !learner || learner->ema) return;
  throw ConfigError(fmt::format(
      "{}.weights: expected a learner that keeps an average, got none; set learner.ema", where));
}

std::vector<Task> read_tasks(const TaskEvaler::Config& cfg, const std::string& where) {
  if (cfg.tasks.empty()) throw ConfigError(where + ".tasks: expected files of tasks, got none");
  std::vector<Task> out;
  std::set<std::string> names;
  for (const std::string& file : cfg.tasks) {
    try {
      TaskConfig config = read_task_config(path_of_text(file));
      if (cfg.num_fewshot && config.output_type != OutputType::kRolling)
        config.num_fewshot = *cfg.num_fewshot;
      if (!names.insert(config.name).second)
        throw ConfigError(
            fmt::format("{}: expected a task of its own name, got '{}' twice", file, config.name));
      out.emplace_back(std::move(config));
    } catch (const ConfigError& error) {
      throw ConfigError(fmt::format("{}.tasks: {}", where, error.what()));
    }
  }
  return out;
}

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
}

}  // namespace

TaskEvaler::TaskEvaler(const Config& cfg, std::string name, const TrainingParts& training,
                       const Mesh& mesh)
    : RepeatedEvaluation(name, cfg.every_steps),
      limit_(cfg.limit),
      tasks_(read_tasks(cfg, "task_evalers." + name)),
      data_state_(state_of(tasks_)),
      model_(training.model.get()),
      tokenizer_(tokenizer_of(training.config, "task_evalers." + name)) {
  check_average(cfg, "task_evalers." + name, training);
  options_ = {.context_len = context_len(training.config, *model_),
              .compute_dtype = training.config.compute_dtype,
              .mesh = mesh,
              .batch_partition = training.config.batch_partition,
              .streams = stream_rule(streams_of(training.config), *tokenizer_)};
  if (cfg.weights == Weights::kAverage) prefix_ = "learner/ema/";
  for (Task& task : tasks_) task.questions(limit_);  // tells mistakes before the first step
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
