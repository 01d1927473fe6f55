#include "plan/advice/mends.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/text/text.h"
#include "config/walk.h"
#include "learn/learner.h"

namespace axle {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kTriesOfAFault = 2;

bool is_fault(const Finding& finding) { return finding.kind != FindingKind::kNote; }
// Whether there are changes for this kind of fault, which a change must not add to either.
bool may_be_mended(const Finding& finding) {
  return is_fault(finding) && finding.kind != FindingKind::kWaiting;
}

const Finding* find_like(const std::vector<Finding>& all, const Finding& one) {
  const auto found = std::ranges::find_if(all, [&](const Finding& f) { return f.is_like(one); });
  return found == all.end() ? nullptr : &*found;
}
double amount_of(const Finding* finding) { return finding ? finding->amount() : 0; }

// Returns the mesh with 2^halvings times fewer devices on this axis, but `least`, and more on data;
// empty if there is none.
std::string with_less_of(std::string_view name, Mesh mesh, int halvings, int64_t least) {
  const int64_t times = int64_t{1} << halvings;
  const auto axis = [&](std::string_view one) {
    return std::ranges::find(mesh.axes, one, &MeshAxis::name);
  };
  const auto less = axis(name);
  if (less == mesh.axes.end() || less->size < least * times || less->size % times != 0) return {};
  less->size /= times;
  if (const auto data = axis("data"); data != mesh.axes.end()) {
    data->size *= times;
  } else {
    mesh.axes.insert(mesh.axes.begin(), {.name = "data", .size = times});
  }
  return to_text(mesh);
}

class Mender {
 public:
  Mender(const CompileReport& report, const Resolved& resolved, const Target& target,
         const CompileStep& compile)
      : trials_(resolved, target, report), compile_(compile) {
    std::ranges::copy_if(report.findings, std::back_inserter(out_.faults), is_fault);
    if (report.estimate) out_.seconds = report.estimate->seconds;
    out_.device_memory_bytes = report.device_memory_bytes;
  }

  Mends run() {
    for (int i = 0; i < kTriesOfAFault; ++i) {
      for (size_t f = 0; f < out_.faults.size(); ++f) {
        if (!is_mended(f)) attempt(candidate(out_.faults[f], i));
      }
    }
    choose();
    if (out_.best) combine();
    return std::move(out_);
  }

 private:
  bool is_mended(size_t fault) const {
    return std::ranges::any_of(
        out_.tried, [&](const Mend& mend) { return mend.is_better && !mend.left[fault]; });
  }

  // The change number `i` that may mend the fault.
  std::optional<Trial> candidate(const Finding& fault, int i) const {
    const int64_t count = trials_.batch().count;
    switch (fault.kind) {
      case FindingKind::kAllReduces:
      case FindingKind::kPermutes:
        return less_of("fsdp", i + 1, 2);
      case FindingKind::kMoves: {
        const auto edit = trials_.divide_vocabulary();
        if (edit && i == 0) return trials_.trial({*edit});
        return fault.axis == "data" ? std::nullopt : less_of(fault.axis, edit ? i : i + 1, 1);
      }
      case FindingKind::kRepeatedGathers:
        if (count > 1) return fewest_microbatches_of(i);
        return i == 0 ? trials_.trial({trials_.remat("SaveDots")}) : std::nullopt;
      case FindingKind::kRecomputed:
        return in_microbatches(2 * count << i);
      case FindingKind::kWaiting:
      case FindingKind::kNote:
        return std::nullopt;
    }
    return std::nullopt;
  }

  std::optional<Trial> less_of(std::string_view axis, int halvings, int64_t least) const {
    const std::string mesh = with_less_of(axis, trials_.mesh(), halvings, least);
    return mesh.empty() ? std::nullopt : trials_.trial({SetField{"mesh", mesh}});
  }

  std::optional<Trial> in_microbatches(int64_t n) const {
    const Microbatches batch = trials_.batch();
    const int64_t device_rows = whole_number(trials_.config(), "learner.device_rows");
    const bool keeps_rule =
        device_rows == 0 || fewest_microbatches(batch.rows, n * batch.shares, device_rows) == 1;
    if (batch.rows == 0 || n > batch.rows || batch.rows % n != 0 || !keeps_rule)
      return std::nullopt;
    const auto [field, value] = microbatch_field(trials_.config(), batch, n);
    return value > 0 ? trials_.trial({SetField{field, std::to_string(value)}}) : std::nullopt;
  }

  // The fewest microbatches that may fit; the next time, twice as many.
  std::optional<Trial> fewest_microbatches_of(int i) const {
    std::optional<Trial> last, before;
    for (int64_t n = trials_.batch().count / 2; n >= 1; n /= 2) {
      auto one = in_microbatches(n);
      if (!one || !trials_.may_fit(*one)) break;
      before = std::exchange(last, std::move(one));
    }
    return i == 0 ? std::move(last) : std::move(before);
  }

  void attempt(std::optional<Trial> trial) {
    if (!trial || !trials_.may_fit(*trial) || out_.tried.size() >= Mends::kMostCompiled) return;
    if (std::ranges::any_of(
            out_.tried, [&](const Mend& one) { return one.change.flags == trial->change.flags; }))
      return;
    const CompileReport after = compile_(trial->step, trial->change);
    Mend mend{.edits = trial->edits, .change = std::move(trial->change)};
    if (after.memory) mend.change.compiled_bytes = after.memory->total_bytes();
    mend.change.fits = after.fits() == true;
    if (after.estimate) mend.seconds = after.estimate->seconds;
    for (const Finding& fault : out_.faults) {
      const Finding* const found = find_like(after.findings, fault);
      mend.left.push_back(found ? std::optional(*found) : std::nullopt);
    }
    mend.is_better = is_better(after);
    out_.tried.push_back(std::move(mend));
  }

  bool is_better(const CompileReport& after) const {
    // Without the compiled program nothing is known of its faults.
    if (after.fits() == false || !after.collectives) return false;
    bool has_fewer = false, has_more = false;
    for (const Finding& fault : out_.faults) {
      const double left = amount_of(find_like(after.findings, fault));
      if (may_be_mended(fault)) has_fewer |= left < fault.amount();
    }
    for (const Finding& finding : after.findings) {
      if (may_be_mended(finding))
        has_more |= finding.amount() > amount_of(find_like(out_.faults, finding));
    }
    if (!has_fewer) return false;
    if (!out_.seconds || !after.estimate) return !has_more;
    constexpr double kClearly = 0.99;
    return after.estimate->seconds < kClearly * *out_.seconds ||
           (after.estimate->seconds <= *out_.seconds && !has_more);
  }

  // Faults that are left count where the times are equal or not known.
  static std::pair<double, double> cost(const Mend& mend) {
    double left = 0;
    for (const auto& finding : mend.left)
      left += finding && may_be_mended(*finding) ? 1 + 1e-9 * finding->amount() : 0;
    return {mend.seconds.value_or(0), left};
  }
  void choose() {
    for (size_t i = 0; i < out_.tried.size(); ++i) {
      if (!out_.tried[i].is_better) continue;
      if (!out_.best || cost(out_.tried[i]) < cost(out_.tried[*out_.best])) out_.best = i;
    }
  }

  // Tries the best change together with the other better ones that change something else.
  void combine() {
    const Edits best = out_.tried[*out_.best].edits;
    const std::vector<Mend> tried = out_.tried;
    for (const Mend& other : tried) {
      const bool is_other_field =
          other.is_better && what_of(other.edits.front()) != what_of(best.front());
      if (!is_other_field) continue;
      Edits both = best;
      both.insert(both.end(), other.edits.begin(), other.edits.end());
      attempt(trials_.trial(both));
    }
    choose();
  }
  static std::string what_of(const Edit& edit) {
    const auto* field = std::get_if<SetField>(&edit);
    return field ? field->path : "modify";
  }

  const Trials trials_;
  const CompileStep& compile_;
  Mends out_;
};

// "none left of 402 reduce-scatters that are all-reduces".
std::string left_text(const Finding& fault, const std::optional<Finding>& left) {
  return left ? fmt::format("{} in place of {}", short_text(*left), short_text(fault))
              : "none left of " + short_text(fault);
}

}  // namespace

Mends mends_of(const CompileReport& report, const Resolved& resolved, const Target& target,
               const CompileStep& compile) {
  if (report.fits() == false || std::ranges::none_of(report.findings, is_fault)) return {};
  return Mender(report, resolved, target, compile).run();
}

std::string to_text(const Mends& m) {
  std::string out;
  const auto is_smaller = [&](const Mend& mend, size_t i) {
    return !mend.left[i] || mend.left[i]->amount() < m.faults[i].amount();
  };
  const Mend* const best = m.best ? &m.tried[*m.best] : nullptr;
  std::vector<std::string> others;
  std::vector<std::string> parts;
  for (size_t i = 0; i < m.faults.size(); ++i) {
    if (best && is_smaller(*best, i)) {
      parts.push_back(left_text(m.faults[i], best->left[i]));
    } else {
      others.push_back(short_text(m.faults[i]));
    }
  }
  if (best) {
    if (best->seconds && m.seconds)
      parts.push_back(
          fmt::format("at least {:.3f} s a step in place of {:.3f} s", *best->seconds, *m.seconds));
    out += fmt::format("try {}: {} (compiled)\n", flags_text(best->change), join(parts, "; "));
  }
  if (others.empty()) return out;
  std::vector<std::string> tried;
  for (const Mend& mend : m.tried) {
    if (&mend != best) tried.push_back(flags_text(mend.change));
  }
  return out + fmt::format("no change was found that mends {}{}\n", join(others, ", "),
                           tried.empty() ? "" : "; compiled and no better: " + join(tried, ", "));
}

Json to_json(const Mends& m) {
  const auto seconds = [](const std::optional<double>& s) { return s ? Json(*s) : Json(nullptr); };
  Json faults = Json::array(), tried = Json::array();
  for (const Finding& fault : m.faults)
    faults.push_back({{"fault", short_text(fault)}, {"amount", fault.amount()}});
  for (const Mend& mend : m.tried) {
    Json one = to_json(mend.change);
    one["seconds"] = seconds(mend.seconds);
    one["left"] = Json::array();
    for (const auto& finding : mend.left) one["left"].push_back(finding ? finding->amount() : 0);
    one["better"] = mend.is_better;
    tried.push_back(std::move(one));
  }
  return {{"faults", std::move(faults)},
          {"seconds", seconds(m.seconds)},
          {"best", m.best ? Json(*m.best) : Json(nullptr)},
          {"tried", std::move(tried)}};
}

}  // namespace axle
