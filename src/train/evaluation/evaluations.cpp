#include "train/evaluation/evaluations.h"

#include <fmt/format.h>

#include "train/folder/run_notes.h"
#include "train/training_parts.h"

namespace axle {

Evaluations::Evaluations(const TrainingParts& training, const Mesh& mesh) {
  for (const auto& [name, evaler] : training.config.evalers)
    evalers_.emplace_back(evaler, name, training, mesh);
}

void Evaluations::compile(Runtime& runtime, const CompileOptions& options,
                          const StopCondition& stop) {
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
  return out;
}

std::vector<std::string> Evaluations::changed_data(const Tree<std::string>& saved) const {
  std::vector<std::string> out;
  for (const auto& [name, state] : data_states()) {
    const auto found = saved.find(name);
    if (found == saved.end() || found->second == state) continue;
    out.push_back(
        fmt::format("evalers.{}.input: expected the data of the earlier steps, got other data; its "
                    "losses from here on do not compare with those before",
                    name));
  }
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

std::vector<Evaler*> Evaluations::due_evalers(int64_t step, bool at_end) {
  std::vector<Evaler*> out;
  for (Evaler& evaler : evalers_) {
    const auto done = done_at_.find(evaler.name());
    const bool is_done = done != done_at_.end() && done->second == step;
    if ((at_end || evaler.is_due(step)) && !is_done) out.push_back(&evaler);
  }
  return out;
}

}  // namespace axle
