#include "plan/advice/advice.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/text/text.h"
#include "base/text/text_table.h"
#include "plan/advice/search.h"
#include "plan/compile_report_text.h"

namespace axle {
namespace {

using Json = nlohmann::ordered_json;

// Collects what is tried until something fits.
class Attempts {
 public:
  Attempts(const Trials& trials, const CompileStep& compile,
           const CompileEvaluation& compile_evaluation, Advice& out)
      : trials_(trials), compile_(compile), compile_evaluation_(compile_evaluation), out_(out) {}

  void attempt(const ChangeFamily& family) {
    if (out_.too_large.size() >= Advice::kMostCompiled) return add_once(out_.untried, family.name);
    double scale = std::min(trials_.scale(), family.most_scale);
    constexpr int kTries = 2;  // of one family: as estimated, and with what the compiler said
    for (int i = 0; i < kTries && out_.too_large.size() < Advice::kMostCompiled; ++i) {
      auto trial = family.smallest(scale);
      if (!trial) return;
      add_once(out_.tried, family.name);
      trial->change.estimated_bytes = trial->bytes(scale);
      if (was_compiled(trial->change)) return;
      if (!trials_.may_fit(*trial, scale)) return note_least(trial->change);
      if (!accepts_evaluations(*trial)) return;
      const CompileReport report = compile_(trial->step, trial->change);
      if (const auto headroom = report.headroom_bytes())
        trial->change.compiled_bytes = report.device_memory_bytes - *headroom;
      trial->change.fits = report.fits() == true;
      if (trial->change.fits) return take(std::move(*trial), report);
      scale = next_scale(*trial, scale);
      if (trial->change.compiled_bytes) note_least(trial->change);
      out_.too_large.push_back(std::move(trial->change));
    }
  }

 private:
  static bool accepts_evaluations(const Trial& trial) {
    try {
      TracedEvaluations(trial.config, trial.step.program.mesh);
      return true;
    } catch (const Error&) {
      return false;
    }
  }
  // Takes the change, with fewer rows for evaluations that do not fit beside it.
  void take(Trial trial, const CompileReport& report) {
    constexpr int kTries = 3;  // fewer rows need less by proportion, which is not exact
    Edits rows;
    for (int i = 0; i < kTries; ++i) {
      const TracedEvaluations traced(trial.config, trial.step.program.mesh);
      out_.evaluations = traced.memory(trial.step, report, compile_evaluation_);
      Edits fewer;
      for (const EvaluationMemory& one : out_.evaluations)
        if (one.fits == false && one.change) fewer.emplace_back(*one.change);
      if (fewer.empty()) break;
      apply_edits(fewer, trial.config);
      rows.insert(rows.end(), fewer.begin(), fewer.end());
    }
    for (const std::string& flag : flags_of(last_of_each(rows))) trial.change.flags.push_back(flag);
    out_.change = std::move(trial.change);
  }
  // Leaves out fields that are set again.
  static Edits last_of_each(const Edits& edits) {
    Edits out;
    const auto path = [](const Edit& edit) { return std::get<SetField>(edit).path; };
    for (const Edit& edit : edits) {
      std::erase_if(out, [&](const Edit& one) { return path(one) == path(edit); });
      out.push_back(edit);
    }
    return out;
  }
  static void add_once(std::vector<std::string>& names, const std::string& name) {
    if (std::ranges::count(names, name) == 0) names.push_back(name);
  }
  bool was_compiled(const Change& change) const {
    return std::ranges::any_of(out_.too_large,
                               [&](const Change& one) { return one.flags == change.flags; });
  }
  // The compiler needs more than was estimated: by how much it says, or half as much again.
  static double next_scale(const Trial& trial, double scale) {
    constexpr double kMore = 1.5, kLeast = 1.02;
    if (!trial.change.compiled_bytes) return kMore * scale;
    return std::max(
        Trials::scale_for(trial.estimate, static_cast<double>(*trial.change.compiled_bytes)),
        kLeast * scale);
  }
  static double bytes_of(const Change& change) {
    return change.compiled_bytes ? static_cast<double>(*change.compiled_bytes)
                                 : change.estimated_bytes;
  }
  void note_least(const Change& change) {
    if (!out_.least || bytes_of(change) < bytes_of(*out_.least)) out_.least = change;
  }

  const Trials& trials_;
  const CompileStep& compile_;
  const CompileEvaluation& compile_evaluation_;
  Advice& out_;
};

bool has_too_large(const std::vector<EvaluationMemory>& evaluations) {
  return std::ranges::any_of(evaluations, [](const auto& one) { return one.fits == false; });
}

Json change_json(const std::optional<Change>& change) {
  return change ? to_json(*change) : Json(nullptr);
}

}  // namespace

Advice advise(const ResolveRequest& request, const Resolved& resolved, const Target& target,
              const CompileReport& report, const CompileStep& compile,
              const CompileEvaluation& compile_evaluation) {
  Advice out{.device_memory_bytes = report.device_memory_bytes};
  if (report.device_memory_bytes == 0) return out;
  const Trials trials(resolved, target, report);
  out.state_bytes = trials.shared_state_bytes();
  Attempts attempts(trials, compile, compile_evaluation, out);
  for (const ChangeFamily& family : change_families(request, trials)) {
    attempts.attempt(family);
    if (out.change) {
      out.least.reset();
      break;
    }
  }
  std::erase_if(out.untried,
                [&](const std::string& name) { return std::ranges::count(out.tried, name) > 0; });
  return out;
}

std::string to_text(const Advice& a) {
  std::string out;
  for (const Change& one : a.too_large)
    out +=
        fmt::format("does not fit either: {} (compiled)\n",
                    one.compiled_bytes ? need_text(one, a.device_memory_bytes) : flags_text(one));
  if (a.change) {
    out +=
        fmt::format("what to change: {} (compiled)\n", need_text(*a.change, a.device_memory_bytes));
    for (const EvaluationMemory& one : a.evaluations) {
      const std::string line = to_text({one}, a.device_memory_bytes);
      if (!line.empty()) out += "with it, " + line;
    }
    return out;
  }
  if (a.device_memory_bytes == 0) return out;
  if (a.tried.empty()) return out + "what to change: not known; no other setting was accepted\n";
  out += fmt::format("what to change: nothing was found that fits, of {}", join(a.tried, ", "));
  if (const auto most = static_cast<double>(a.device_memory_bytes); a.state_bytes > most) {
    out += fmt::format(
        "; the training state alone, shared by all devices, is {} of {}: take a smaller model or "
        "more devices",
        bytes_text(a.state_bytes), bytes_text(most));
  }
  if (a.least) out += "; nearest is " + need_text(*a.least, a.device_memory_bytes);
  if (!a.untried.empty())
    out += fmt::format("; after {} compilations these were not tried: {}", a.too_large.size(),
                       join(a.untried, ", "));
  return out + "\n";
}

AdvisedReport advised_report(CompileReport report, const LoweredStep& step,
                             const TracedEvaluations& evaluations, const ResolveRequest& request,
                             const Resolved& resolved, const AdviceOptions& options) {
  AdvisedReport out{.report = std::move(report)};
  const bool fits = out.report.fits() != false;
  const auto compile_evaluation = [&](const LoweredStep& program, const std::string& name) {
    options.say("compiling " + name);
    return compile_step(program);
  };
  if (fits) {
    out.evaluations = evaluations.memory(step, out.report, compile_evaluation);
  }
  if (!options.tries_changes) return out;
  const CompileStep compile = [&](const LoweredStep& changed, const Change& change) {
    options.say("compiling with " + flags_text(change));
    return compile_step(changed);
  };
  out.mends = mends_of(out.report, resolved, step.target, compile);
  if (fits) return out;
  options.say("the step does not fit; trying what would make it fit");
  out.advice = advise(request, resolved, step.target, out.report, compile, compile_evaluation);
  return out;
}

std::string to_text(const AdvisedReport& advised) {
  return to_text(advised.report) +
         to_text(advised.evaluations, advised.report.device_memory_bytes) + to_text(advised.mends) +
         (advised.advice ? to_text(*advised.advice) : "");
}

Json to_json(const AdvisedReport& advised) {
  Json out = to_json(advised.report);
  out["advice"] = advised.advice ? to_json(*advised.advice) : Json(nullptr);
  out["mends"] = to_json(advised.mends);
  out["evaluations"] = to_json(advised.evaluations);
  if (has_too_large(advised.evaluations)) out["fits"] = false;
  return out;
}

ExitCode exit_code_of(const AdvisedReport& advised) {
  const ExitCode code = exit_code_of(advised.report);
  return has_too_large(advised.evaluations) ? ExitCode::kDoesNotFit : code;
}

Json to_json(const Advice& a) {
  Json too_large = Json::array();
  for (const Change& one : a.too_large) too_large.push_back(to_json(one));
  return {{"change", change_json(a.change)},
          {"evaluations", to_json(a.evaluations)},
          {"too_large", std::move(too_large)},
          {"nearest", change_json(a.least)},
          {"tried", a.tried},
          {"untried", a.untried}};
}

}  // namespace axle
