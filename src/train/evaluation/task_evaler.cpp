#include "train/evaluation/task_evaler.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "base/mistakes.h"
#include "base/text/text_table.h"
#include "config/register.h"
#include "config/walk.h"
#include "evaluate/task/task.h"
#include "infer/decode_programs.h"
#include "io/file.h"
#include "lower/stablehlo.h"
#include "ops/elementwise/elementwise.h"
#include "train/record/progress.h"

namespace axle {
namespace {

std::string where_of(const std::string& name) { return "task_evalers." + name; }

std::optional<Slot> input_field(const EvaluatedRun& run, std::string_view name) {
  for (const Slot& slot : children_of(run.input.any())) {
    if (slot.name == name) return unwrap(slot);
  }
  return std::nullopt;
}

std::unique_ptr<Tokenizer> tokenizer_of(const EvaluatedRun& run, const std::string& where) {
  const auto slot = input_field(run, "tokenizer");
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

std::vector<PositionStream> streams_of(const EvaluatedRun& run) {
  const auto slot = input_field(run, "position_streams");
  using Streams = std::vector<PositionStream>;
  return slot && *slot->ops->type == typeid(Streams) ? *static_cast<const Streams*>(slot->at)
                                                     : Streams();
}

std::optional<int64_t> context_len(const EvaluatedRun& run) {
  if (const auto most = run.spec.model.max_seq_len()) return most;
  const auto slot = input_field(run, "seq_len");
  if (!slot) return std::nullopt;
  return static_cast<int64_t>(slot->ops->number(slot->at));
}

void check_name(const std::string& name, const EvaluatedRun& run) {
  if (std::ranges::count(run.evalers, name) == 0) return;
  throw ConfigError(fmt::format(
      "task_evalers.{}: expected a name that no evaler has, because it is that of the records, got "
      "one of both",
      name));
}

// Calls fn() and names the place in each line of its errors.
template <class Fn>
auto at(const std::string& where, Fn&& fn) {
  try {
    return fn();
  } catch (const InternalError&) {
    throw;
  } catch (const Error& error) {
    throw Error(with_location(where, error.what()), error.code());
  }
}

}  // namespace

std::vector<Task> read_tasks(const TaskEvaler::Config& cfg, const std::string& name) {
  const std::string where = where_of(name) + ".tasks";
  if (cfg.tasks.empty()) throw ConfigError(where + ": expected files of tasks, got none");
  std::vector<std::filesystem::path> files;
  for (const std::string& file : cfg.tasks) files.push_back(path_of_text(file));
  return at(where, [&] {
    return read_task_files(files, {.limit = cfg.limit, .num_fewshot = cfg.num_fewshot});
  });
}

TaskSetup set_up_tasks(const TaskEvaler::Config& cfg, const std::string& name,
                       const EvaluatedRun& run) {
  const std::string where = where_of(name);
  TaskSetup out;
  Mistakes mistakes;
  mistakes.passes([&] { check_name(name, run); });
  mistakes.passes([&] { check_average(cfg.weights, where, run.learner); });
  mistakes.passes([&] { out.tokenizer = tokenizer_of(run, where); });
  mistakes.passes([&] { out.tasks = read_tasks(cfg, name); });
  mistakes.throw_any();
  out.options = {.context_len = context_len(run),
                 .compute_dtype = run.spec.compute_dtype,
                 .batch_partition = run.spec.batch_partition,
                 .streams = stream_rule(streams_of(run), *out.tokenizer),
                 .batch_tokens = cfg.batch_tokens};
  const RowEncoder encoder = row_encoder(*out.tokenizer, out.options);
  for (Task& task : out.tasks) {
    mistakes.passes(
        [&] { at(where + ".tasks", [&] { check_questions(task, encoder, cfg.limit); }); });
  }
  mistakes.throw_any();
  return out;
}

void trace_tasks(const TaskSetup& setup, const std::string& name, Model& model, const Mesh& mesh) {
  TaskModelOptions options = setup.options;
  options.mesh = mesh;
  at(where_of(name), [&] { trace_task_programs(model, options, setup.tasks); });
}

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

TaskEvaler::TaskEvaler(const Config& cfg, std::string name, const EvaluatedRun& run)
    : RepeatedEvaluation(name, cfg.every_steps), limit_(cfg.limit), model_(&run.spec.model) {
  TaskSetup setup = set_up_tasks(cfg, name, run);
  trace_tasks(setup, name, *model_, run.spec.mesh);
  tasks_ = std::move(setup.tasks);
  tokenizer_ = std::move(setup.tokenizer);
  options_ = std::move(setup.options);
  options_.mesh = run.spec.mesh;
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
