#include "inspect/eval_config.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/text.h"
#include "config/print.h"
#include "config/serialize.h"
#include "config/walk.h"
#include "data/synthetic_input.h"
#include "data/text_input.h"
#include "recipes/use_data.h"
#include "train/trainer.h"

namespace axle {
namespace {

using Json = nlohmann::ordered_json;

constexpr int64_t kBatchSize = 8;  // for imported models, which were made without one

// The training input over all of the text once, in its order.
void take_whole_text(Trainer::Config& config) {
  for_each_config<TextInput>(config.input, [](const std::string&, TextInput::Config& input) {
    input.split = Split::kAll;
    input.shuffle = Shuffle::kNone;
    input.epochs = 1;
    if (!input.batch_size.has_value()) input.batch_size = kBatchSize;
  });
}

void complete_synthetic(Trainer::Config& config) {
  for_each_config<SyntheticInput>(config.input,
                                  [](const std::string&, SyntheticInput::Config& input) {
                                    if (!input.num_batches)
                                      input.num_batches = kSyntheticEvalBatches;
                                    if (!input.batch_size.has_value())
                                      input.batch_size = kBatchSize;
                                  });
}

// What an evaluation leaves alone would be set in vain.
void check_is_read(const std::string& path) {
  static const std::vector<std::string> kRead = {
      "batch_partition", "compiler_options", "compute_dtype", "input", "model", "seed"};
  if (std::ranges::count(kRead, path.substr(0, path.find_first_of(".[")))) return;
  throw ConfigError(fmt::format(
      "--set {}: expected a field that an evaluation reads (of {}), got one of training{}", path,
      join(kRead, ", "), path == "mesh" ? "; say --mesh" : ""));
}

bool is_text_in_order(const Trainer::Config& config) {
  const auto* const text = config.input.get_if<TextInput>();
  return text && text->shuffle == Shuffle::kNone;
}

bool reads_all(const Trainer::Config& config) {
  const auto* const text = config.input.get_if<TextInput>();
  return text && text->split == Split::kAll;
}

// `before`, `edited`, `out`: without the edits, with them, and with the data as well.
void check_takes_effect(const Trainer::Config& before, const Trainer::Config& edited,
                        const Trainer::Config& out) {
  const std::vector<ConfigChange> of_data = changes(edited, out);
  for (const ConfigChange& edit : changes(before, edited)) {
    if (std::ranges::count(of_data, edit.path, &ConfigChange::path)) {
      throw ConfigError(
          fmt::format("--set {}: expected a field that --data leaves alone, got '{}', which --data "
                      "sets; say it by --data",
                      edit.path, edit.after.value_or("none")));
    }
    if (edit.path == "seed" && is_text_in_order(out)) {
      throw ConfigError(
          "--set seed: expected something that is drawn, got text in its order; "
          "set input.shuffle=rows as well, or leave it out");
    }
    if (edit.path.ends_with(".held_out_fraction") && reads_all(out)) {
      throw ConfigError(
          fmt::format("--set {}: expected a split, got all of the text; set input.split=held_out "
                      "or train as well",
                      edit.path));
    }
  }
}

}  // namespace

Resolved resolve_evaluation(const ModelConfig& config, const std::string& data,
                            const std::vector<Edit>& edits) {
  Json document = config.document;
  document.erase("evalers");  // they would have to agree with the input
  document.erase("compiler_options");
  ResolveRequest request{.files = {{config.source, yaml_text(document)}}};
  // A class that an edit puts in the input's place by its name alone is put there first.
  std::vector<Edit> later;
  for (const Edit& edit : edits) {
    const auto* const field = std::get_if<SetField>(&edit);
    if (field) check_is_read(field->path);
    const bool names_input =
        field && field->path == "input" && field->text.find('{') == std::string::npos;
    (names_input ? request.edits : later).push_back(edit);
  }
  Resolved first = resolve_config(request);
  take_whole_text(first.config);
  request.files[0].text = yaml_text(to_json(first.config));
  request.edits = later;
  const bool synthetic = data == kSyntheticData;
  request.edits.insert(synthetic ? request.edits.begin() : request.edits.end(), UseData{data});
  Resolved out = resolve_config(request);
  if (!synthetic) {
    request.edits = later;
    check_takes_effect(first.config, resolve_config(request).config, out.config);
  }
  complete_synthetic(out.config);
  std::ranges::move(out.report.replaced, std::back_inserter(first.report.replaced));
  out.report.replaced = std::move(first.report.replaced);
  return out;
}

}  // namespace axle
