#include "train/evaluation/evaluations.h"

#include <fmt/format.h>

namespace axle {

std::string skipped_text(const Skipped& skipped) {
  if (skipped.messages.empty()) return to_text(skipped);
  return fmt::format("{} document{} left out; the first: {}", skipped.count,
                     skipped.count == 1 ? " is" : "s are", skipped.messages[0]);
}

Evaluations::Evaluations(const NamedMap<Evaler::Config>& evalers,
                         const NamedMap<TaskEvaler::Config>& task_evalers,
                         const EvaluatedRun& run) {
  for (const auto& [name, evaler] : evalers) evalers_.emplace_back(evaler, name, run);
  for (const auto& [name, evaler] : task_evalers) task_evalers_.emplace_back(evaler, name, run);
}

void Evaluations::compile(Runtime& runtime, const CompileOptions& options,
                          const StopCondition& stop) {
  for (TaskEvaler& evaler : task_evalers_) evaler.set_compile_options(options);
  std::map<std::string_view, std::shared_ptr<Executable>> by_text;
  for (Evaler& evaler : evalers_) {
    if (stop()) return;
    auto& executable = by_text[evaler.program().text];
    if (!executable) executable = runtime.compile(evaler.program(), options);
    evaler.set_executable(executable);
  }
}

std::vector<std::string> Evaluations::data_notes(const InputFacts& training) const {
  std::vector<std::string> out;
  for (const Evaler& evaler : evalers_) {
    const InputFacts facts = evaler.facts();
    const std::string name = "evalers." + evaler.name(), found = to_text(facts);
    if (!found.empty() && found != to_text(training))
      out.push_back(fmt::format("data: {}: {}", name, found));
    if (facts.skipped.count > 0 && facts.skipped.messages != training.skipped.messages)
      out.push_back(fmt::format("WARNING: {}.input: {}", name, skipped_text(facts.skipped)));
  }
  return out;
}

Tree<std::string> Evaluations::data_states() const {
  Tree<std::string> out;
  for (const Evaler& evaler : evalers_) out.emplace(evaler.name(), evaler.data_state());
  for (const TaskEvaler& evaler : task_evalers_) out.emplace(evaler.name(), evaler.data_state());
  return out;
}

std::vector<std::string> Evaluations::changed_data(const Tree<std::string>& saved) const {
  std::vector<std::string> out;
  const auto add = [&](const RepeatedEvaluation& evaler, std::string_view field,
                       std::string_view results) {
    const auto found = saved.find(evaler.name());
    if (found == saved.end() || found->second == evaler.data_state()) return;
    out.push_back(
        fmt::format("{}: expected the data of the earlier steps, got other data; its {} "
                    "from here on do not compare with those before",
                    field, results));
  };
  for (const Evaler& evaler : evalers_)
    add(evaler, fmt::format("evalers.{}.input", evaler.name()), "losses");
  for (const TaskEvaler& evaler : task_evalers_)
    add(evaler, fmt::format("task_evalers.{}.tasks", evaler.name()), "metrics");
  return out;
}

std::vector<TracedProgram> Evaluations::traced() const {
  std::vector<TracedProgram> out;
  for (const Evaler& evaler : evalers_)
    out.push_back({"evalers." + evaler.name(), &evaler.program()});
  return out;
}

std::vector<NamedProgram> Evaluations::compiled() const {
  std::vector<NamedProgram> out;
  for (const Evaler& evaler : evalers_) {
    if (evaler.executable()) out.push_back({"evalers." + evaler.name(), evaler.executable()});
  }
  return out;
}

std::vector<RepeatedEvaluation*> Evaluations::due_evaluations(int64_t step, bool at_end) {
  std::vector<RepeatedEvaluation*> out;
  const auto add = [&](RepeatedEvaluation& evaler) {
    const auto done = done_at_.find(evaler.name());
    const bool is_done = done != done_at_.end() && done->second == step;
    if ((at_end || evaler.is_due(step)) && !is_done) out.push_back(&evaler);
  };
  for (Evaler& evaler : evalers_) add(evaler);
  for (TaskEvaler& evaler : task_evalers_) add(evaler);
  return out;
}

}  // namespace axle
