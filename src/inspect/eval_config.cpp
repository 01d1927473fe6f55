#include "inspect/eval_config.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/text/text.h"
#include "config/document/serialize.h"
#include "config/walk.h"
#include "data/chat/chat_input.h"
#include "data/chat/preference_input.h"
#include "data/synthetic_input.h"
#include "data/text_input.h"
#include "data/text_source.h"
#include "data/token_files/corpus_source.h"
#include "data/token_files/token_input.h"
#include "io/file.h"
#include "recipes/resolve/token_data.h"
#include "recipes/resolve/use_data.h"
#include "train/config/trainer_config.h"

namespace axle {
namespace {

using Json = nlohmann::ordered_json;

// For imported models, which were made without a batch size.
constexpr int64_t kBatchSize = 8;
// Several conversations share a row of so many positions, as in fine-tuning.
constexpr int64_t kSharedRow = 512;

// Calls fn(config) for the input of data, whatever its class.
template <class Fn>
void for_each_data_input(Trainer::Config& config, const Fn& fn) {
  const auto call = [&](const std::string&, auto& input) { fn(input); };
  for_each_config<TextInput>(config.input, call);
  for_each_config<ChatInput>(config.input, call);
  for_each_config<TokenInput>(config.input, call);
  for_each_config<PreferenceInput>(config.input, call);
}

// The same, also for an input without data.
template <class Fn>
void for_each_input(Trainer::Config& config, const Fn& fn) {
  for_each_data_input(config, fn);
  for_each_config<SyntheticInput>(config.input,
                                  [&](const std::string&, auto& input) { fn(input); });
}

// The training input over all of the text once, in its order.
void take_whole_text(Trainer::Config& config) {
  for_each_data_input(config, [](auto& input) {
    input.split = Split::kAll;
    input.shuffle = Shuffle::kNone;
    input.epochs = 1;
  });
}

// Takes the length of rows from the input of an imported model, whose rows nobody has chosen.
// Returns none for a run's.
std::optional<int64_t> take_seq_len(Trainer::Config& config) {
  std::optional<int64_t> out;
  for_each_input(config, [&](auto& input) {
    if (input.batch_size.has_value() || !input.seq_len.has_value()) return;
    out = input.seq_len;
    input.seq_len = REQUIRED;
  });
  return out;
}

// Fills in what the edits have left open.
void complete_rows(const std::optional<int64_t>& seq_len, ResolvedEvaluation& out) {
  for_each_input(out.config, [&](auto& input) {
    if (seq_len && !input.seq_len.has_value()) {
      input.seq_len = *seq_len;
      out.fits_seq_len = true;
    }
    if (!input.batch_size.has_value()) {
      input.batch_size = kBatchSize;
      out.fits_batch_size = true;
    }
  });
  for_each_config<SyntheticInput>(out.config.input,
                                  [](const std::string&, SyntheticInput::Config& input) {
                                    if (!input.num_batches)
                                      input.num_batches = kSyntheticEvalBatches;
                                  });
}

int64_t rounded_up(int64_t number, int64_t multiple) {
  return (number + multiple - 1) / multiple * multiple;
}

constexpr std::string_view kRead[] = {
    "batch_partition", "compiler_options", "compute_dtype", "input", "model", "seed"};

// Refuses an edit of a field that an evaluation does not read.
void check_is_read(const std::string& path) {
  if (is_read_by_evaluation(path)) return;
  throw ConfigError(fmt::format(
      "--set {}: expected a field that an evaluation reads (in {}), got a field of training{}",
      path, fmt::join(kRead, ", "), path == "mesh" ? "; use --mesh" : ""));
}

// Stands for "no edit has set this path"; no user writes it.
constexpr const char* kUnsetPath = "\x7f";

Trainer::Config with_unset_paths(Trainer::Config config) {
  const auto unset = [](const std::string&, auto& source) { source.path = kUnsetPath; };
  for_each_config<TextSource>(config.input, unset);
  for_each_config<CorpusSource>(config.input, unset);
  for_each_config<ChatSource>(config.input, unset);
  return config;
}

// Refuses edits that change nothing, because the input does not use the field.
template <class TextConfig>
void check_is_used(const std::vector<Edit>& edits, const TextConfig& text) {
  for (const Edit& edit : edits) {
    const auto* const field = std::get_if<SetField>(&edit);
    if (!field) continue;
    if (field->path == "seed" && text.shuffle == Shuffle::kNone) {
      throw ConfigError(
          "--set seed: expected an input that uses the seed, got text in file order; set "
          "input.shuffle=rows as well, or leave it out");
    }
    if (field->path == "input.held_out_fraction" && text.split == Split::kAll) {
      throw ConfigError(
          "--set input.held_out_fraction: expected input.split=held_out or train, got all");
    }
  }
}

// `edited` is the config with unset paths after the edits.
void check_takes_effect(const std::vector<Edit>& edits, Trainer::Config edited) {
  const auto check_path = [](const std::string& path, auto& source) {
    if (!source.path.has_value() || *source.path == kUnsetPath) return;
    throw ConfigError(
        fmt::format("--set input.{}.path: expected no path, because --data names the text, got "
                    "'{}'; pass it to --data",
                    path, *source.path));
  };
  for_each_config<TextSource>(edited.input, check_path);
  for_each_config<CorpusSource>(edited.input, check_path);
  for_each_config<ChatSource>(edited.input, check_path);
  if (const auto* const text = edited.input.get_if<TextInput>()) check_is_used(edits, *text);
  if (const auto* const chat = edited.input.get_if<ChatInput>()) check_is_used(edits, *chat);
  if (const auto* const pairs = edited.input.get_if<PreferenceInput>())
    check_is_used(edits, *pairs);
}

}  // namespace

bool is_read_by_evaluation(std::string_view path) {
  return std::ranges::count(kRead, path.substr(0, path.find_first_of(".[="))) > 0;
}

ResolvedEvaluation resolve_evaluation(const ModelConfig& config, const UseData& data,
                                      const std::vector<Edit>& edits) {
  Json document = config.document;
  document.erase("evalers");  // they would have to agree with the input
  document.erase("task_evalers");
  document.erase("compiler_options");
  ResolvedEvaluation out;
  config_error_in(config.source, [&] { from_json(out.config, document); });
  const std::optional<int64_t> seq_len = take_seq_len(out.config);
  // An edit that names only a class for the input is applied first.
  std::vector<Edit> inputs, later;
  for (const Edit& edit : edits) {
    const auto* const field = std::get_if<SetField>(&edit);
    if (field) check_is_read(field->path);
    const bool names_input =
        field && field->path == "input" && field->text.find('{') == std::string::npos;
    (names_input ? inputs : later).push_back(edit);
  }
  out.report.rewrites = apply_edits(inputs, out.config);
  take_whole_text(out.config);
  const bool synthetic = data.data == kSyntheticData;
  std::vector<std::string> all = {data.data};
  all.insert(all.end(), data.more.begin(), data.more.end());
  // The edits are of fields of the new sources, or of the new input.
  const bool is_first = synthetic || are_token_sources(all);
  if (!is_first) {
    suit_input(out.config.input, data.data, data.more);  // so that edits find its fields
    Trainer::Config edited = with_unset_paths(out.config);
    apply_edits(later, edited);
    check_takes_effect(later, std::move(edited));
  }
  later.insert(is_first ? later.begin() : later.end(), data);
  std::ranges::move(apply_edits(later, out.config), std::back_inserter(out.report.rewrites));
  complete_rows(seq_len, out);
  return out;
}

bool fit_rows(ResolvedEvaluation& evaluation, const InputFacts& facts, int64_t num_devices) {
  if (facts.longest == 0) return false;
  constexpr int64_t kMultiple = 128;
  const int64_t least = gives_pairs(evaluation.config.input) ? 1 : kSharedRow;
  bool changes = false;
  const auto shrink = [&](auto& field, int64_t to) {
    if (to >= field) return;
    field = to;
    changes = true;
  };
  for_each_data_input(evaluation.config, [&](auto& input) {
    if (evaluation.fits_seq_len)
      shrink(input.seq_len, rounded_up(std::max(facts.longest, least), kMultiple));
    const int64_t seq_len = input.seq_len;
    const int64_t rows = std::max(facts.num_rows, rounded_up(facts.num_tokens, seq_len) / seq_len);
    if (evaluation.fits_batch_size) shrink(input.batch_size, rounded_up(rows, num_devices));
  });
  return changes;
}

}  // namespace axle
