#include "train/evaluation/evaler_inputs.h"

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
void fill_open_fields(const AnyConfig& from, const AnyConfig& to,
                      std::span<const std::string> names) {
  std::vector<std::string> others;
  for (const Slot& slot : children_of(ConfigView(to).slot())) {
    if (!std::ranges::count(names, slot.name)) others.push_back(slot.name);
  }
  carry_over(from, to, others);
}

bool same_text(const AnyConfig& run, const AnyConfig& evaler) {
  const auto *const run_source = run.get_if<TextSource::Config>(),
                    *const evaler_source = evaler.get_if<TextSource::Config>();
  if (!run_source || !evaler_source || !run_source->path.has_value() ||
      !evaler_source->path.has_value())
    return false;
  return is_same_file(*run_source->path, *evaler_source->path) &&
         (evaler_source->more_paths.empty() || evaler_source->more_paths == run_source->more_paths);
}

// True if the evaler reads the same text as the run. The evaler's source takes over the fields that
// it leaves open; a source that names no text takes the text of the run.
bool shares_source(const AnyConfig& run, const AnyConfig& evaler) {
  const auto run_source = field_of(run, "source"), evaler_source = field_of(evaler, "source");
  if (!run_source || !evaler_source) return false;
  const AnyConfig *from = held_config(*run_source), *to = held_config(*evaler_source);
  if (!from || !to || from->type().name != to->type().name) return false;
  if (!missing(*to).empty() || same_text(*from, *to)) carry_over(*from, *to, {});
  return same_values(*run_source, *evaler_source) || same_text(*from, *to);
}

void check_tokenizer(const std::string& where, const AnyConfig& run, const AnyConfig& evaler) {
  const auto run_tokenizer = field_of(run, "tokenizer"),
             evaler_tokenizer = field_of(evaler, "tokenizer");
  if (!run_tokenizer || !evaler_tokenizer || same_values(*run_tokenizer, *evaler_tokenizer)) return;
  throw ConfigError(
      fmt::format("{}.tokenizer: expected the tokenizer of the run's input, got another one; leave "
                  "the field out",
                  where));
}

// Checks an evaler on held-out text of the source that the run trains on: the run must hold out
// exactly that text.
void check_held_out(const std::string& evaler_path, const TextInput::Config* run,
                    const TextInput::Config* evaler) {
  if (!run || !evaler || evaler->split != Split::kHeldOut) return;
  if (run->split != Split::kTrain) {
    throw ConfigError(
        fmt::format("input.split: expected 'train', got '{}', which also trains on the held-out "
                    "text of {}; use --set input.split=train",
                    to_text(run->split), evaler_path));
  }
  if (run->held_out_fraction != evaler->held_out_fraction) {
    throw ConfigError(fmt::format(
        "{}.held_out_fraction: expected {}, the value of the run's input for the same text, got {}",
        evaler_path, run->held_out_fraction, evaler->held_out_fraction));
  }
  const auto* const run_source = run->source.get_if<TextSource>();
  const auto* const evaler_source = evaler->source.get_if<TextSource>();
  if (run_source && evaler_source && run_source->unit != evaler_source->unit) {
    throw ConfigError(
        fmt::format("{}.source.unit: expected '{}', the value of the run's input for the same "
                    "text, got '{}'; leave the field out",
                    evaler_path, to_text(run_source->unit), to_text(evaler_source->unit)));
  }
}

void check_holds_out(const std::string& evaler_path, const TextInput::Config* evaler) {
  if (!evaler || evaler->split != Split::kHeldOut || evaler->held_out_fraction > 0) return;
  throw ConfigError(
      fmt::format("{}.held_out_fraction: expected more than 0 for the split 'held_out', got 0; set "
                  "a larger fraction or remove the evaler (--set 'evalers={{}}')",
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
    fill_open_fields(run, own, std::vector<std::string>{"tokenizer", "seq_len", "batch_size"});
    check_tokenizer(where, run, own);
    if (shares_source(run, own)) {
      fill_open_fields(run, own, std::vector<std::string>{"held_out_fraction"});
      check_held_out(where, config.input.get_if<TextInput>(), evaler.input.get_if<TextInput>());
    }
    check_holds_out(where, evaler.input.get_if<TextInput>());
  }
}

}  // namespace axle
