#include "train/evaler_inputs.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "config/carry.h"
#include "config/missing.h"
#include "config/print.h"
#include "config/walk.h"
#include "data/text_input.h"

namespace axle {
namespace {

// The field of a config, if it has one of this name.
std::optional<Slot> field_of(const AnyConfig& config, std::string_view name) {
  for (const Slot& slot : children_of(ConfigView(config).slot())) {
    if (slot.name == name) return slot;
  }
  return std::nullopt;
}

// Fills the fields of `to` that are open and called so.
void take_over(const AnyConfig& from, const AnyConfig& to, std::span<const std::string> names) {
  std::vector<std::string> others;
  for (const Slot& slot : children_of(ConfigView(to).slot())) {
    if (!std::ranges::count(names, slot.name)) others.push_back(slot.name);
  }
  carry_over(from, to, others);
}

// True if the evaler reads the same text as the run, after it was told which where it names none.
bool shares_source(const AnyConfig& run, const AnyConfig& evaler) {
  const auto theirs = field_of(run, "source"), ours = field_of(evaler, "source");
  if (!theirs || !ours) return false;
  const AnyConfig *from = held_config(*theirs), *to = held_config(*ours);
  if (from && to && from->type().name == to->type().name && !missing(*to).empty())
    carry_over(*from, *to, {});
  return same_values(*theirs, *ours);
}

void check_tokenizer(const std::string& where, const AnyConfig& run, const AnyConfig& evaler) {
  const auto theirs = field_of(run, "tokenizer"), ours = field_of(evaler, "tokenizer");
  if (!theirs || !ours || same_values(*theirs, *ours)) return;
  throw ConfigError(fmt::format(
      "{}.tokenizer: expected the tokenizer of the run's input, got another; leave it out", where));
}

void check_held_out(const std::string& where, const TextInput::Config* run,
                    const TextInput::Config* evaler) {
  if (!run || !evaler || run->held_out_fraction == evaler->held_out_fraction) return;
  if (run->split != Split::kTrain || evaler->split != Split::kHeldOut) return;
  throw ConfigError(fmt::format(
      "{}.held_out_fraction: expected {}, as the run's input holds out of the same text, got {}",
      where, run->held_out_fraction, evaler->held_out_fraction));
}

}  // namespace

void complete_evaler_inputs(Trainer::Config& config) {
  if (!config.input) return;
  const AnyConfig& run = config.input.any();
  for (auto& [name, evaler] : config.evalers) {
    if (!evaler.input) continue;
    const std::string where = "evalers." + name + ".input";
    AnyConfig& own = evaler.input.any();
    take_over(run, own, std::vector<std::string>{"tokenizer", "seq_len", "batch_size"});
    check_tokenizer(where, run, own);
    if (!shares_source(run, own)) continue;
    take_over(run, own, std::vector<std::string>{"held_out_fraction"});
    check_held_out(where, config.input.get_if<TextInput>(), evaler.input.get_if<TextInput>());
  }
}

}  // namespace axle
