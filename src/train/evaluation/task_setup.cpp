#include "train/evaluation/task_setup.h"

#include <fmt/format.h>

#include "base/error.h"
#include "config/mistakes.h"
#include "config/walk.h"
#include "evaluate/task/task.h"
#include "io/file.h"

namespace axle {
namespace {

std::string where_of(const std::string& name) { return "task_evalers." + name; }

std::optional<Slot> input_field(const Trainer::Config& run, std::string_view name) {
  for (const Slot& slot : children_of(ConfigView(run.input.any()).slot())) {
    if (slot.name == name) return unwrap(slot);
  }
  return std::nullopt;
}

std::unique_ptr<Tokenizer> tokenizer_of(const Trainer::Config& run, const std::string& where) {
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

std::vector<PositionStream> streams_of(const Trainer::Config& run) {
  const auto slot = input_field(run, "position_streams");
  using Streams = std::vector<PositionStream>;
  return slot && *slot->ops->type == typeid(Streams) ? *static_cast<const Streams*>(slot->at)
                                                     : Streams();
}

std::optional<int64_t> context_len(const Trainer::Config& run, const Model& model) {
  if (const auto most = model.max_seq_len()) return most;
  const auto slot = input_field(run, "seq_len");
  if (!slot) return std::nullopt;
  return static_cast<int64_t>(slot->ops->number(slot->at));
}

void check_average(const TaskEvaler::Config& cfg, const std::string& where,
                   const Trainer::Config& run) {
  const auto* const learner = run.learner.get_if<Learner>();
  if (cfg.weights == Weights::kTrained || !learner || learner->ema) return;
  throw ConfigError(fmt::format(
      "{}.weights: expected a learner that keeps an average, got none; set learner.ema", where));
}

void check_name(const std::string& name, const Trainer::Config& run) {
  if (!run.evalers.contains(name)) return;
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
                       const Trainer::Config& run, const Model& model) {
  const std::string where = where_of(name);
  TaskSetup out;
  Mistakes mistakes;
  mistakes.passes([&] { check_name(name, run); });
  mistakes.passes([&] { check_average(cfg, where, run); });
  mistakes.passes([&] { out.tokenizer = tokenizer_of(run, where); });
  mistakes.passes([&] { out.tasks = read_tasks(cfg, name); });
  mistakes.throw_any();
  out.options = {.context_len = context_len(run, model),
                 .compute_dtype = run.compute_dtype,
                 .batch_partition = run.batch_partition,
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

}  // namespace axle
