#include "train/evaler_inputs.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "config/carry.h"
#include "config/document/print.h"
#include "config/missing.h"
#include "config/walk.h"
#include "data/text_input.h"
#include "data/text_source.h"

namespace axle {
namespace {

// Returns the field of a config with this name, if there is one.
std::optional<Slot> field_of(const AnyConfig& config, std::string_view name) {
  for (const Slot& slot : children_of(ConfigView(config).slot())) {
    if (slot.name == name) return slot;
  }
  return std::nullopt;
}

// Fills the fields of `to` that are open and whose names are in `names`.
void take_over(const AnyConfig& from, const AnyConfig& to, std::span<const std::string> names) {
  std::vector<std::string> others;
  for (const Slot& slot : children_of(ConfigView(to).slot())) {
    if (!std::ranges::count(names, slot.name)) others.push_back(slot.name);
  }
  carry_over(from, to, others);
}

bool same_text(const AnyConfig& run, const AnyConfig& evaler) {
  const auto *const theirs = run.get_if<TextSource::Config>(),
                    *const ours = evaler.get_if<TextSource::Config>();
  return theirs && ours && theirs->path.has_value() && ours->path.has_value() &&
         is_same_text(*theirs->path, *ours->path);
}

// True if the evaler reads the same text as the run. The evaler's source takes over the fields that
// it leaves open; a source that names no text takes the text of the run.
bool shares_source(const AnyConfig& run, const AnyConfig& evaler) {
  const auto theirs = field_of(run, "source"), ours = field_of(evaler, "source");
  if (!theirs || !ours) return false;
  const AnyConfig *from = held_config(*theirs), *to = held_config(*ours);
  if (!from || !to || from->type().name != to->type().name) return false;
  if (!missing(*to).empty() || same_text(*from, *to)) carry_over(*from, *to, {});
  return same_values(*theirs, *ours) || same_text(*from, *to);
}

void check_tokenizer(const std::string& where, const AnyConfig& run, const AnyConfig& evaler) {
  const auto theirs = field_of(run, "tokenizer"), ours = field_of(evaler, "tokenizer");
  if (!theirs || !ours || same_values(*theirs, *ours)) return;
  throw ConfigError(fmt::format(
      "{}.tokenizer: expected the tokenizer of the run's input, got another; leave it out", where));
}

// Checks an evaler on held-out text of the source that the run trains on: the run must hold out
// exactly that text.
void check_held_out(const std::string& evaler_path, const TextInput::Config* run,
                    const TextInput::Config* evaler) {
  if (!run || !evaler || evaler->split != Split::kHeldOut) return;
  if (run->split != Split::kTrain) {
    throw ConfigError(fmt::format(
        "input.split: expected 'train', since {} is held out of the same text, got '{}', which "
        "trains on it; use --set input.split=train",
        evaler_path, to_text(run->split)));
  }
  if (run->held_out_fraction != evaler->held_out_fraction) {
    throw ConfigError(fmt::format(
        "{}.held_out_fraction: expected {}, as the run's input holds out of the same text, got {}",
        evaler_path, run->held_out_fraction, evaler->held_out_fraction));
  }
  const auto *const theirs = run->source.get_if<TextSource>(), *const ours =
                                                                   evaler->source
                                                                       .get_if<TextSource>();
  if (theirs && ours && theirs->unit != ours->unit) {
    throw ConfigError(fmt::format(
        "{}.source.unit: expected '{}', as the run's input, which holds out documents of the same "
        "text, got '{}'; leave it out",
        evaler_path, to_text(theirs->unit), to_text(ours->unit)));
  }
}

void check_holds_out(const std::string& evaler_path, const TextInput::Config* evaler) {
  if (!evaler || evaler->split != Split::kHeldOut || evaler->held_out_fraction > 0) return;
  throw ConfigError(fmt::format(
      "{}.held_out_fraction: expected more than 0 for the split 'held_out', got 0; hold something "
      "out or leave the evaler out (--set 'evalers={{}}')",
      evaler_path));
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
    if (shares_source(run, own)) {
      take_over(run, own, std::vector<std::string>{"held_out_fraction"});
      check_held_out(where, config.input.get_if<TextInput>(), evaler.input.get_if<TextInput>());
    }
    check_holds_out(where, evaler.input.get_if<TextInput>());
  }
}

}  // namespace axle
