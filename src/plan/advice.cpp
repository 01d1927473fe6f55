#include "plan/advice.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/text/text.h"
#include "base/text/text_table.h"
#include "base/text/units.h"
#include "config/document/print.h"
#include "config/find_slot.h"
#include "config/walk.h"
#include "plan/compile_report_text.h"
#include "runtime/memory_estimate.h"

namespace axle {
namespace {

using Json = nlohmann::ordered_json;

constexpr size_t kCompiled = 2;     // changes that are compiled at most
constexpr double kSafeShare = 0.9;  // of a device's memory, for an estimate that "may fit"

// A config that is tried, and how it was made.
struct Trial {
  Change change;
  LoweredStep step;
};
using Edits = std::vector<Edit>;

// The edits as flags of a command line.
std::vector<std::string> flags_of(const Edits& edits) {
  std::vector<std::string> out;
  for (const Edit& edit : edits) {
    if (const auto* field = std::get_if<SetField>(&edit)) {
      out.push_back(field->path == "mesh" ? fmt::format("--mesh {}", field->text)
                                          : fmt::format("--set {}={}", field->path, field->text));
    } else {
      out.push_back(fmt::format("--modify \"{}\"", std::get<UseModifier>(edit).text));
    }
  }
  return out;
}

// Estimates the memory of changed configs.
class Estimator {
 public:
  Estimator(const Resolved& resolved, const Target& target, const CompileReport& report)
      : config_(resolved.config),
        recipe_(resolved.report.recipe),
        target_(target),
        memory_(static_cast<double>(report.device_memory_bytes)) {
    const LoweredStep step = lower_step(config_, recipe_, target_);
    const double estimated = estimate_memory(step.program).total_bytes();
    double needed = 0;
    if (report.memory) {
      needed = static_cast<double>(report.memory->total_bytes());
    } else if (const auto headroom = report.headroom_bytes()) {
      needed = memory_ - static_cast<double>(*headroom);
    }
    // What the compiler said of the step as it is makes up for what the estimate does not know.
    if (needed > 0 && estimated > 0) scale_ = std::clamp(needed / estimated, 0.5, 4.0);
    mesh_ = step.program.mesh;
    // A Pattern has slots of another name.
    if (to_string(config_).find(".pattern[0]") != std::string::npos) layers_ = "**.pattern[*]";
  }

  /// Lowers the changed config. None if the change is refused.
  std::optional<Trial> trial(const Edits& edits) const { return trial(edits, config_, target_); }
  std::optional<Trial> trial(const Edits& edits, Trainer::Config config,
                             const Target& target) const {
    try {
      apply_edits(edits, config);
      // Lowered first: if a later part throws, g++ 12 destroys those of a nested aggregate twice.
      Trial out{.change = {}, .step = lower_step(config, recipe_, target)};
      out.change.flags = flags_of(edits);
      out.change.estimated_bytes = scale_ * estimate_memory(out.step.program).total_bytes();
      return out;
    } catch (const Error&) {
      return std::nullopt;
    }
  }
  bool may_fit(const Change& change) const {
    return change.estimated_bytes <= kSafeShare * memory_;
  }
  Edit remat(const std::string& policy) const {
    return UseModifier{fmt::format("SetRemat: {{at: '{}', policy: {}}}", layers_, policy)};
  }

  const Trainer::Config& config() const { return config_; }
  const Target& target() const { return target_; }
  const Mesh& mesh() const { return mesh_; }

 private:
  const Trainer::Config& config_;
  std::string recipe_;
  const Target& target_;
  double memory_;
  double scale_ = 1;
  Mesh mesh_;
  std::string layers_ = "**.layer";  // the slots of all layers
};

// The parts that a batch is computed in.
int64_t num_parts_of_batch(const Trainer::Config& config) {
  const int64_t rows = whole_number(config, "input.batch_size");
  const int64_t parts = std::max<int64_t>(whole_number(config, "learner.microbatches"), 1);
  const int64_t at_once = whole_number(config, "learner.microbatch_rows");
  return parts == 1 && at_once > 0 && at_once < rows ? (rows + at_once - 1) / at_once : parts;
}

class Search {
 public:
  Search(const ResolveRequest& request, const Resolved& resolved, const Target& target,
         const CompileReport& report)
      : request_(request), all_(resolved, target, report), mesh_(all_.mesh()) {
    rows_ = whole_number(all_.config(), "input.batch_size");
    microbatches_ = num_parts_of_batch(all_.config());
    has_microbatches_ = whole_number(all_.config(), "learner.microbatches") > 0;
  }

  /// Returns changes in the order of their size, those that may fit first.
  std::vector<Trial> run() {
    const Edits none;
    add_microbatches(none);
    for (const char* policy : {kKeep, kOffload}) add(with(none, all_.remat(policy)));
    if (may_shard_more()) add(with(none, sharded()));
    for (const char* policy : {kKeep, kOffload, kNothing})
      add_microbatches(with(none, all_.remat(policy)));
    if (may_shard_more()) {
      add_microbatches(with(none, sharded()));
      add_microbatches(with(with(none, sharded()), all_.remat(kNothing)));
    }
    add_fewer_rows();
    add_more_devices();
    return std::move(trials_);
  }

  bool may_fit(const Change& change) const { return all_.may_fit(change); }

 private:
  // Policies for all layers, as texts of SetRemat. The first keeps what recipes keep.
  static constexpr const char* kKeep =
      "{class: SaveNames, names: [q_proj, k_proj, v_proj, attention_output]}";
  static constexpr const char* kOffload =
      "{class: SaveNames, offload: [q_proj, k_proj, v_proj, attention_output]}";
  static constexpr const char* kNothing = "SaveNothing";

  static Edits with(Edits edits, Edit more) {
    edits.push_back(std::move(more));
    return edits;
  }
  static Edit sharded() { return SetField{"mesh", "fsdp=-1"}; }

  bool may_shard_more() const {
    return mesh_.num_devices() > 1 && mesh_.size("fsdp") < mesh_.num_devices();
  }
  // The devices that share the rows of a batch.
  int64_t num_parts() const {
    return mesh_.size("data") * mesh_.size("expert") * mesh_.size("fsdp");
  }

  std::optional<Trial> trial(const Edits& edits) const {
    return has_enough() ? std::nullopt : all_.trial(edits);
  }
  void add(const Edits& edits) {
    if (auto one = trial(edits)) trials_.push_back(std::move(*one));
  }

  // The fewest microbatches that may fit; if none do, the most that there can be.
  void add_microbatches(const Edits& edits) {
    if (rows_ == 0 || !has_microbatches_) return;
    const int64_t parts = std::max<int64_t>(num_parts(), 1);
    std::vector<int64_t> counts;
    for (int64_t n = 2 * microbatches_; n <= rows_ && rows_ % n == 0 && rows_ / n % parts == 0;
         n *= 2)
      counts.push_back(n);
    const auto trial_of = [&](int64_t n) {
      return trial(with(edits, SetField{"learner.microbatches", std::to_string(n)}));
    };
    std::optional<Trial> best;
    size_t low = 0, high = counts.size();  // all from `high` on may fit
    if (counts.empty() || !(best = trial_of(counts.back()))) return;
    if (may_fit(best->change)) {
      high = counts.size() - 1;
      while (low < high) {
        const size_t middle = (low + high) / 2;
        auto one = trial_of(counts[middle]);
        if (one && may_fit(one->change)) {
          high = middle;
          best = std::move(one);
        } else {
          low = middle + 1;
        }
      }
    }
    trials_.push_back(std::move(*best));
  }

  void add_fewer_rows() {
    if (rows_ == 0) return;
    for (int64_t rows = rows_ / 2; rows >= std::max<int64_t>(num_parts(), 1); rows /= 2) {
      Edits edits = {SetField{"input.batch_size", std::to_string(rows)}};
      const int64_t largest = std::max<int64_t>(rows / std::max<int64_t>(num_parts(), 1), 1);
      if (microbatches_ > largest) edits.push_back(SetField{"learner.microbatches", "1"});
      auto one = trial(edits);
      if (!one || (!may_fit(one->change) && rows / 2 >= std::max<int64_t>(num_parts(), 1)))
        continue;
      trials_.push_back(std::move(*one));
      return;
    }
  }

  // More devices of the kind, with the mesh rule of that machine.
  void add_more_devices() {
    const Accelerator& kind = all_.target().accelerator;
    for (int times = 2; times <= 64 && !has_enough(); times *= 2) {
      try {
        const int64_t count = all_.target().num_devices() * kind.cores_per_device * times;
        const Target larger = parse_target(fmt::format("{}-{}", kind.machine_prefix, count));
        ResolveRequest request = request_;
        request.machine = larger.machine();
        const Trainer::Config config = resolve_config(request).config;
        auto one = all_.trial({}, config, larger);
        // With as many rows of a device at once as here, if that rule leaves it more.
        if (const int64_t parts = microbatches_ / times; parts > num_parts_of_batch(config)) {
          if (!one || !may_fit(one->change))
            one = all_.trial({SetField{"learner.microbatches", std::to_string(parts)}}, config,
                             larger);
        }
        if (!one || (!may_fit(one->change) && times < 64)) continue;
        one->change.flags.insert(one->change.flags.begin(), "--on " + larger.machine());
        trials_.push_back(std::move(*one));
        return;
      } catch (const ConfigError&) {
        continue;  // there is no machine of this size
      }
    }
  }

  // Two that may fit are enough: they are compiled.
  bool has_enough() const {
    return std::ranges::count_if(trials_, [&](const Trial& t) { return may_fit(t.change); }) >=
           static_cast<ptrdiff_t>(kCompiled);
  }

  const ResolveRequest& request_;
  Estimator all_;
  Mesh mesh_;
  int64_t rows_ = 0, microbatches_ = 1;
  bool has_microbatches_ = false;
  std::vector<Trial> trials_;
};

std::string need_text(const Change& change, int64_t memory) {
  const double bytes =
      change.compiled_bytes ? static_cast<double>(*change.compiled_bytes) : change.estimated_bytes;
  return fmt::format("{}: {} of {} per device{}", flags_text(change), bytes_text(bytes),
                     bytes_text(memory), change.compiled_bytes ? "" : " by an estimate");
}

// Returns the mesh with half as many devices on fsdp and twice as many on data; empty if it has no
// such axes.
std::string with_half_of_fsdp(const std::string& text) {
  Mesh mesh;
  from_text(text, mesh);
  const auto axis = [&](std::string_view name) {
    return std::ranges::find_if(mesh.axes, [&](const MeshAxis& a) { return a.name == name; });
  };
  const auto fsdp = axis("fsdp");
  if (fsdp == mesh.axes.end() || fsdp->size < 4 || fsdp->size % 2 != 0) return {};
  fsdp->size /= 2;
  if (const auto data = axis("data"); data != mesh.axes.end()) {
    data->size *= 2;
  } else {
    mesh.axes.insert(mesh.axes.begin(), {.name = "data", .size = 2});
  }
  return to_text(mesh);
}

Json change_json(const std::optional<Change>& change) {
  if (!change) return nullptr;
  return {
      {"flags", change->flags},
      {"estimated_bytes", change->estimated_bytes},
      {"compiled_bytes", change->compiled_bytes ? Json(*change->compiled_bytes) : Json(nullptr)},
      {"fits", change->fits}};
}

}  // namespace

Advice advise(const ResolveRequest& request, const Resolved& resolved, const Target& target,
              const CompileReport& report, const CompileStep& compile) {
  Advice out{.device_memory_bytes = report.device_memory_bytes};
  if (report.device_memory_bytes == 0) return out;
  Search search(request, resolved, target, report);
  std::vector<Trial> trials = search.run();
  size_t num_compiled = 0;
  for (Trial& trial : trials) {
    if (!search.may_fit(trial.change) || num_compiled == kCompiled) continue;
    ++num_compiled;
    const CompileReport compiled = compile(trial.step, trial.change);
    if (compiled.memory) trial.change.compiled_bytes = compiled.memory->total_bytes();
    trial.change.fits = compiled.fits().value_or(false);
    if (trial.change.fits) {
      out.change = trial.change;
      return out;
    }
    out.too_large.push_back(trial.change);
  }
  const auto least =
      std::ranges::min_element(trials, {}, [](const Trial& t) { return t.change.estimated_bytes; });
  if (least != trials.end()) out.least = least->change;
  return out;
}

std::string flags_text(const Change& change) { return join(change.flags, " "); }

std::string to_text(const Advice& a) {
  std::string out;
  for (const Change& one : a.too_large)
    out += fmt::format("does not fit either: {}\n", need_text(one, a.device_memory_bytes));
  if (a.change) {
    return out + fmt::format("what to change: {} (compiled)\n",
                             need_text(*a.change, a.device_memory_bytes));
  }
  if (a.device_memory_bytes == 0) return out;
  if (!a.least) return out + "what to change: not known; no other setting was accepted\n";
  return out + fmt::format(
                   "what to change: no microbatches, remat policy, mesh, batch or number of "
                   "devices that was tried fits; nearest is {}\n",
                   need_text(*a.least, a.device_memory_bytes));
}

std::vector<std::string> mends_of(const CompileReport& report, const Resolved& resolved,
                                  const Target& target) {
  std::vector<std::string> out;
  if (!report.collectives || report.fits() == false) return out;
  const Trainer::Config& config = resolved.config;
  std::optional<Estimator> estimator;
  const auto add = [&](const std::string& fault, const Edit& edit, const std::string& why) {
    if (!estimator) estimator.emplace(resolved, target, report);
    const auto changed = estimator->trial({edit});
    if (!changed || (report.device_memory_bytes > 0 && !estimator->may_fit(changed->change)))
      return;
    out.push_back(fmt::format("for {}: {}, {}", fault, flags_text(changed->change), why));
  };
  std::map<std::string, int64_t> reduced;  // number of collectives, by what they stand for
  for (const CollectiveRow& row : *report.collectives) {
    if (row.kind == "all-reduce" && !row.implemented_kind.empty())
      reduced[row.implemented_kind] += row.count;
  }
  const std::string halved = with_half_of_fsdp(report.mesh);
  for (const auto& [kind, count] : reduced) {
    if (halved.empty()) continue;
    add(fmt::format("{} {}s that are all-reduces", grouped_digits(count), kind),
        SetField{"mesh", halved},
        "so that fewer devices share each parameter and more of its dims divide");
  }
  const int64_t parts = num_parts_of_batch(config);
  const auto in_parts = [](int64_t n) {
    return SetField{"learner.microbatches", std::to_string(n)};
  };
  constexpr double kMoreThanOnce = 1.25;
  const bool gathers_again = std::ranges::any_of(
      report.gathers, [](const ArgumentGathers& one) { return one.times > kMoreThanOnce; });
  if (gathers_again) {
    const std::string fault = "parameters that are gathered more than once in a pass";
    if (parts > 1) {
      add(fault, in_parts(parts / 2), "since each part gathers anew");
    } else {
      add(fault, Estimator(resolved, target, report).remat("SaveDots"),
          "which computes fewer products again");
    }
  }
  for (const std::string& finding : report.findings) {
    if (finding.starts_with("the compiler recomputes"))
      add("what the compiler computes again", in_parts(2 * parts), "which needs less memory");
  }
  return out;
}

std::string to_text(const AdvisedReport& advised) {
  std::string out = to_text(advised.report);
  for (const std::string& mend : advised.mends) out += "try " + mend + "\n";
  return out + (advised.advice ? to_text(*advised.advice) : "");
}

Json to_json(const AdvisedReport& advised) {
  Json out = to_json(advised.report);
  out["advice"] = advised.advice ? to_json(*advised.advice) : Json(nullptr);
  out["mends"] = advised.mends;
  return out;
}

Json to_json(const Advice& a) {
  Json too_large = Json::array();
  for (const Change& one : a.too_large) too_large.push_back(change_json(one));
  return {{"change", change_json(a.change)},
          {"too_large", std::move(too_large)},
          {"nearest", change_json(a.least)}};
}

}  // namespace axle
