#include "train/folder/run_notes.h"

#include <fmt/format.h>

#include "base/text/text_table.h"
#include "config/find_slot.h"
#include "train/finite/finite_state.h"

namespace axle {
namespace {

constexpr std::string_view kRowsField = "input.batch_size";

}  // namespace

std::vector<std::string> schedule_warnings(const Trainer::Config& config) {
  Child<Learner> learner = config.learner;
  set_schedule_ends(learner, config.max_steps);
  return schedule_problems(learner, config.max_steps, "learner");
}

std::string skipped_text(const Skipped& skipped) {
  if (skipped.messages.empty()) return to_text(skipped);
  return fmt::format("{} document{} left out; the first: {}", skipped.count,
                     skipped.count == 1 ? " is" : "s are", skipped.messages[0]);
}

NonFiniteStep non_finite_step(const StepRecord& record, int64_t part, bool is_first,
                              const DeviceState& state, const std::filesystem::path& checkpoints) {
  const double loss = record.values.at("loss"), norm = record.values.at("grad_norm");
  const bool is_kept = !std::isfinite(loss) || !std::isfinite(norm);
  std::optional<std::string> leaf;
  if (is_first) leaf = is_kept ? first_non_finite(state) : first_non_finite(checkpoints);
  if (leaf) {
    return {fmt::format("NaN or infinity in {} before this step; no later step repairs it", *leaf),
            /*is_permanent=*/true};
  }
  if (is_kept) return {fmt::format("loss {} and gradient norm {}", loss, norm)};
  const auto rate = record.values.find("learning_rate");  // groups have rates of their own
  return {
      fmt::format(
          "{} or its learner state after the update{}",
          FiniteState(state.leaves).parts().at(static_cast<size_t>(part)),
          rate == record.values.end() ? "" : fmt::format(", with learning rate {}", rate->second)),
      /*is_permanent=*/true};
}

std::string what_is_saved(bool is_saved, std::optional<int64_t> last, std::string_view how) {
  if (is_saved)
    return fmt::format("without that step is saved as step {} ({} to continue)", *last, how);
  return last ? fmt::format("is not saved; the last good one is that of step {}", *last)
              : "could not be saved";
}

std::string how_to_continue(bool find_nan, OnNonFinite policy) {
  if (!find_nan) return "set on_non_finite=skip";
  return policy == OnNonFinite::kSkip ? "leave out --find-nan"
                                      : "leave out --find-nan and set on_non_finite=skip";
}

std::vector<std::string> mfu_notes(const ModelFlops& flops, const Peak& peak,
                                   const Topology& topology) {
  std::vector<std::string> out;
  if (!flops.unknown.empty()) out.push_back(flops.unknown);
  if (peak.flops > 0) {
    out.push_back(fmt::format("mfu is the model's share of {:.4g} TFLOP/s ({})", peak.flops / 1e12,
                              peak.source));
  } else {
    out.push_back(
        fmt::format("mfu stays 0: no peak is known for products of {} on {}", to_text(flops.dtype),
                    topology.devices.empty() ? topology.platform : topology.devices[0].kind));
  }
  return out;
}

std::vector<std::string> step_time_notes(const Trainer::Config& config, const ModelFlops& flops,
                                         const Peak& peak, const RowsThatFit& rows_that_fit) {
  constexpr double kNamed = 1, kLong = 60;  // seconds
  if (peak.flops <= 0 || flops.count <= 0) return {};
  const double seconds = flops.count / peak.flops;
  if (seconds < kNamed) return {};
  std::vector<std::string> out;
  out.push_back(fmt::format("a step takes at least {}: {:.4g} FLOPs at this machine's peak",
                            duration_text(seconds), flops.count));
  if (seconds < kLong) return out;
  const int64_t rows = whole_number(config, kRowsField);
  const double of_a_row = seconds / static_cast<double>(std::max<int64_t>(rows, 1));
  const int64_t quick = std::max<int64_t>(static_cast<int64_t>(kLong / of_a_row), 1);
  const int64_t fewer = rows > quick ? rows_that_fit(quick) : 0;
  out.push_back(fmt::format(
      "WARNING: a step takes long here; {}a smaller recipe (axle config list) or a machine with "
      "accelerators makes it shorter",
      fewer > 0 ? fmt::format("--set {}={} in place of {} makes it at least {}; ", kRowsField,
                              fewer, rows, duration_text(of_a_row * static_cast<double>(fewer)))
                : ""));
  return out;
}

std::vector<std::string> measure_peak(const ProgramParts& parts, const Trainer::Config& config,
                                      const Topology& topology, const RunMemory& memory,
                                      StepCost& cost) {
  const ModelFlops flops = model_flops(parts);
  const Peak peak = machine_peak(topology, flops.dtype);
  cost.model_flops = flops.count;
  cost.peak_flops = peak.flops;
  std::vector<std::string> lines = mfu_notes(flops, peak, topology);
  const RowsThatFit fit = [&](int64_t rows) { return memory.rows_that_fit(rows); };
  for (std::string& line : step_time_notes(config, flops, peak, fit))
    lines.push_back(std::move(line));
  return lines;
}

}  // namespace axle
