#include "interop/import_model.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/text/text_table.h"
#include "config/serialize.h"
#include "data/tokenizers/gguf/gguf_tokenizer.h"
#include "interop/hugging_face.h"
#include "interop/tokenizer_files.h"
#include "io/file.h"
#include "io/gguf/gguf_file.h"

namespace axle {
namespace {

// Refuses a file in the folder to make: files that an earlier import left there are removed.
void check_outside(const std::filesystem::path& file, const std::filesystem::path& dir) {
  std::error_code error;  // set for a path that does not exist, which is not inside
  const auto real =
      std::filesystem::weakly_canonical(std::filesystem::absolute(file, error), error);
  for (auto above = real.parent_path(); above.has_relative_path(); above = above.parent_path()) {
    if (!std::filesystem::equivalent(above, dir, error)) continue;
    throw ConfigError(fmt::format("{}: expected a file outside of the new folder, got one in {}",
                                  file.string(), dir.string()));
  }
}

// The name of the tokenizer's file in the folder of the import.
std::string name_there(const std::filesystem::path& tokenizer) {
  return is_gguf(tokenizer) ? std::string(kGgufTokenizerFile) : tokenizer.filename().string();
}

// Copies the tokenizer's files, so that the folder does not depend on others and can be moved.
void take_tokenizer(ModelToSave& model) {
  const std::filesystem::path& file = model.tokenizer_file;
  for (const auto& one : tokenizer_files(file, model.tokenizer))
    model.files[name_there(one)] = read_tokenizer_file(one);
  nlohmann::ordered_json config = to_json(model.tokenizer);
  config["path"] = text_of_path(name_there(file));
  from_json(model.tokenizer, config);
}

}  // namespace

std::string to_text(const ImportReport& r) {
  std::string out = fmt::format("{}: {} parameters, vocabulary of {}, texts of up to {} tokens{}",
                                r.dir.string(), r.num_parameters, r.vocab_size, r.max_seq_len,
                                r.has_tokenizer ? "" : "; no tokenizer");
  if (r.num_left_out > 0)
    out += fmt::format("; {} for further tokens left out", counted(r.num_left_out, "tensor"));
  if (!r.special_ids.empty()) out += "\n" + r.special_ids;
  if (!r.chat_template.empty()) {
    out += fmt::format(
        "\nWARNING: {}; conversations need another one (--chat-template, input.chat_template)",
        r.chat_template);
  }
  return out + "\n";
}

nlohmann::ordered_json to_json(const ImportReport& r) {
  return {{"dir", r.dir.string()},
          {"parameters", r.num_parameters},
          {"vocab_size", r.vocab_size},
          {"max_seq_len", r.max_seq_len},
          {"has_tokenizer", r.has_tokenizer},
          {"left_out", r.num_left_out},
          {"special_ids", r.special_ids},
          {"chat_template", r.chat_template}};
}

ImportReport import_model(const ImportRequest& request) {
  check_outside(request.source, request.dir);
  if (const auto& tokenizer = request.options.tokenizer; !tokenizer.empty()) {
    check_outside(tokenizer, request.dir);
    check_new_model(request.dir, {name_there(tokenizer)});
  }
  check_new_model(request.dir, {});
  ModelToSave model = read_foreign_model(request.source, request.options);
  ImportReport report{.dir = request.dir,
                      .vocab_size = model.model.build({}, Scope{.path = "model"})->vocab_size(),
                      .max_seq_len = model.context_len,
                      .num_left_out = model.num_left_out,
                      .has_tokenizer = static_cast<bool>(model.tokenizer),
                      .special_ids = model.special_ids,
                      .chat_template = model.chat_template};
  for (const auto& [path, value] : model.parameters) report.num_parameters += value.size();
  if (!model.tokenizer_file.empty()) take_tokenizer(model);
  // An export asks for the family.
  if (std::string config = origin_config(request.source); !config.empty())
    model.files[std::string(kHuggingFaceConfig)] = std::move(config);
  save_model(request.dir, std::move(model));
  return report;
}

}  // namespace axle
