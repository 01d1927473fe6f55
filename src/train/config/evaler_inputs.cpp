#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "config/carry.h"
#include "config/missing.h"
#include "config/print.h"
#include "config/walk.h"
#include "data/held_out.h"
#include "data/text_source.h"
#include "data/token_files/token_input.h"
#include "train/config/trainer_config.h"

namespace axle {
namespace {

// Returns the field of a config with this name, if there is one.
std::optional<Slot> field_of(const AnyConfig& config, std::string_view name) {
  for (const Slot& slot : children_of(config)) {
    if (slot.name == name) return slot;
  }
  return std::nullopt;
}

// Returns the value of the field if it has this type, else nullptr.
template <class T>
const T* value_of(const AnyConfig& config, std::string_view name) {
  const auto slot = field_of(config, name);
  return slot && *slot->ops->type == typeid(T) ? static_cast<const T*>(slot->at) : nullptr;
}

// Fills the fields of `to` that are open and whose names are in `names`.
void fill_open_fields(const AnyConfig& from, const AnyConfig& to,
                      std::span<const std::string> names) {
  std::vector<std::string> others;
  for (const Slot& slot : children_of(to)) {
    if (!std::ranges::count(names, slot.name)) others.push_back(slot.name);
  }
  carry_over(from, to, others);
}

// True if two sources of one class read the same files.
bool same_text(const AnyConfig& run, const AnyConfig& evaler) {
  using Path = Required<std::string>;
  using Paths = std::vector<std::string>;
  const Path *const run_path = value_of<Path>(run, "path"), *const evaler_path =
                                                                value_of<Path>(evaler, "path");
  if (!run_path || !evaler_path || !run_path->has_value() || !evaler_path->has_value())
    return false;
  const Paths *const run_more = value_of<Paths>(run, "more_paths"), *const evaler_more =
                                                                        value_of<Paths>(
                                                                            evaler, "more_paths");
  return is_same_file(**run_path, **evaler_path) &&
         (!evaler_more || evaler_more->empty() || (run_more && *evaler_more == *run_more));
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

// As shares_source, for token files. Sources that come from the run are read as one, once.
bool shares_tokens(const TokenInput::Config* run, TokenInput::Config* evaler) {
  if (!run || !evaler) return false;
  if (evaler->sources.empty()) {
    evaler->sources = run->sources;
    for (auto& [name, source] : evaler->sources) {
      source.weight.reset();
      source.epochs.reset();
    }
    return true;
  }
  return std::ranges::any_of(evaler->sources, [&](const auto& own) {
    return std::ranges::any_of(run->sources, [&](const auto& one) {
      return token_file_prefix(one.second.path.get()) == token_file_prefix(own.second.path.get());
    });
  });
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

// Which part of its documents an input reads; none for inputs that do not split them.
struct SplitFields {
  Split split;
  FractionBelowOne held_out_fraction;
};
std::optional<SplitFields> split_of(const AnyConfig& input) {
  const auto* const split = value_of<Split>(input, "split");
  const auto* const fraction = value_of<FractionBelowOne>(input, "held_out_fraction");
  if (!split || !fraction) return std::nullopt;
  return SplitFields{*split, *fraction};
}

// Checks an evaler on held-out documents of the source that the run trains on: the run must hold
// out exactly these.
void check_held_out(const std::string& evaler_path, const AnyConfig& run_input,
                    const AnyConfig& evaler_input) {
  const auto run = split_of(run_input), evaler = split_of(evaler_input);
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
  // Text in memory and text in a token file are not split alike.
  using Bytes = Positive<int64_t>;
  const auto *const run_memory = value_of<Bytes>(run_input, "memory_bytes"),
                    *const evaler_memory = value_of<Bytes>(evaler_input, "memory_bytes");
  if (run_memory && evaler_memory && *run_memory != *evaler_memory) {
    throw ConfigError(
        fmt::format("{}.memory_bytes: expected {}, the value of the run's input for the same text, "
                    "got {}; leave the field out",
                    evaler_path, *run_memory, *evaler_memory));
  }
  const auto run_source = field_of(run_input, "source"),
             evaler_source = field_of(evaler_input, "source");
  if (!run_source || !evaler_source) return;
  const auto* const run_unit = value_of<DocumentUnit>(*held_config(*run_source), "unit");
  const auto* const evaler_unit = value_of<DocumentUnit>(*held_config(*evaler_source), "unit");
  if (run_unit && evaler_unit && *run_unit != *evaler_unit) {
    throw ConfigError(
        fmt::format("{}.source.unit: expected '{}', the value of the run's input for the same "
                    "text, got '{}'; leave the field out",
                    evaler_path, to_text(*run_unit), to_text(*evaler_unit)));
  }
}

void check_holds_out(const std::string& evaler_path, const AnyConfig& input) {
  const auto evaler = split_of(input);
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
    fill_open_fields(run, own,
                     std::vector<std::string>{"tokenizer", "chat_template", "seq_len", "batch_size",
                                              "prompt", "position_streams", "learned", "too_long"});
    check_tokenizer(where, run, own);
    auto* const tokens = evaler.input.get_if<TokenInput>();
    if (shares_source(run, own) || shares_tokens(config.input.get_if<TokenInput>(), tokens)) {
      fill_open_fields(run, own, std::vector<std::string>{"held_out_fraction", "memory_bytes"});
      check_held_out(where, run, own);
    }
    check_holds_out(where, own);
  }
}

}  // namespace axle
