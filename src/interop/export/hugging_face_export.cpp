#include "interop/export/hugging_face_export.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/text/json.h"
#include "base/text/text_table.h"
#include "config/serialize.h"
#include "data/tokenizers/byte_tokenizer.h"
#include "data/tokenizers/gguf/gguf_tokenizer.h"
#include "data/tokenizers/hugging_face/hugging_face_tokenizer.h"
#include "data/tokenizers/hugging_face/tokenizer_json.h"
#include "data/tokenizers/parts/byte_level.h"
#include "data/tokenizers/sentencepiece_tokenizer.h"
#include "interop/foreign/safetensors_folder.h"
#include "interop/hugging_face.h"
#include "interop/save_model.h"
#include "interop/tokenizer_files.h"
#include "io/file.h"

namespace axle {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

constexpr std::string_view kGenerationConfig = "generation_config.json";

// How the model's own program generates: as its origin says, else with the special ids and those
// that end an answer.
std::string generation_config(const fs::path& run, const Json& fields, const Tokenizer* tokenizer) {
  if (path_exists(run / kGenerationConfig)) return read_file(run / kGenerationConfig);
  Json out{{"_from_model_config", true}};
  for (const char* key : {"bos_token_id", "eos_token_id", "pad_token_id"})
    if (!fields.at(key).is_null()) out[key] = fields.at(key);
  const std::vector<int32_t> ends =
      tokenizer ? tokenizer->chat_settings().end_ids : std::vector<int32_t>();
  if (!ends.empty() && out.contains("eos_token_id") && out["eos_token_id"].is_number()) {
    Json all = Json::array({out["eos_token_id"]});
    for (const int32_t id : ends)
      if (std::ranges::count(all, Json(id)) == 0) all.push_back(id);
    if (all.size() > 1) out["eos_token_id"] = std::move(all);
  }
  return out.dump(2) + "\n";
}

NewFolder folder_of(const fs::path& dir) {
  return {.dir = dir,
          .unfinished = "export.tmp",
          .lock = "export.lock",
          .last = std::string(kHuggingFaceConfig)};
}

}  // namespace

std::string to_text(const ExportReport& r) {
  std::string out =
      fmt::format("{}: {}, {} parameters, {}, in {}", r.dir.string(), r.family,
                  grouped_digits(r.num_parameters), r.dtype, counted(r.num_files, "file"));
  if (r.num_adapters > 0) out += fmt::format("; {} merged", counted(r.num_adapters, "adapter"));
  return out + (r.has_tokenizer ? "\n" : "; no tokenizer\n");
}

Json to_json(const ExportReport& r) {
  return {{"path", r.dir.string()},
          {"family", r.family},
          {"parameters", r.num_parameters},
          {"dtype", r.dtype},
          {"files", r.num_files},
          {"merged_adapters", r.num_adapters},
          {"has_tokenizer", r.has_tokenizer}};
}

ExportReport export_hugging_face(const HuggingFaceExport& request, const Report& report) {
  const NewFolder folder = folder_of(request.dir);
  check_new_folder(folder);
  const ModelToExport model = model_to_export(request.options, Adapted::kMerged, report);
  const Json& fields = model.described.fields;
  const SafetensorsShards shards =
      shards_of(model.weights.types(model.dtype), request.max_file_bytes);
  std::map<std::string, std::string> files =
      exported_tokenizer(model.tokenizer_config, model.chat_template);
  ExportReport out{.dir = request.dir,
                   .family = std::string(model.described.family->model_type),
                   .num_files = std::ssize(shards.files),
                   .num_adapters = model.num_adapters,
                   .dtype = std::string(name_of(model.dtype)),
                   .has_tokenizer = !files.empty()};
  for (const auto& [path, value] : model.parameters) out.num_parameters += value.size();
  files.emplace(kGenerationConfig,
                generation_config(request.options.run, fields, model.tokenizer.get()));
  write_new_folder(folder, [&](const fs::path& unfinished) {
    for (const auto& [name, text] : files) replace_file(unfinished / name, text);
    save_safetensors_folder(unfinished, shards, [&](const std::string& name) {
      return model.weights.tensor(name, model.parameters, model.dtype);
    });
    replace_file(unfinished / kHuggingFaceConfig, fields.dump(2) + "\n");
  });
  return out;
}

namespace {

namespace fs = std::filesystem;
constexpr const char *kJson = "tokenizer.json", *kModel = "tokenizer.model",
                     *kConfig = "tokenizer_config.json", *kChatTemplateFile = "chat_template.jinja";

// A byte-level model without merges.
std::map<std::string, std::string> files_of_bytes() {
  const std::string boundary = "<|endoftext|>";
  Json vocab = Json::object();
  for (int byte = 0; byte < 256; ++byte)
    vocab[to_byte_level(std::string(1, static_cast<char>(byte)))] = byte;
  const ByteLevelJson tokenizer{
      .added_tokens = Json::array({added_token_entry(ByteTokenizer::kBoundary, boundary, true)}),
      .pre_tokenizer = byte_level_step(false),
      .post_processor = nullptr,
      .vocab = std::move(vocab),
      .merges = Json::array()};
  const Json config{{"tokenizer_class", "PreTrainedTokenizerFast"},
                    {"bos_token", boundary},
                    {"eos_token", boundary},
                    {"clean_up_tokenization_spaces", false}};
  return {{kJson, tokenizer.document().dump(2) + "\n"}, {kConfig, config.dump(2) + "\n"}};
}

std::map<std::string, std::string> own_files(const Child<Tokenizer>& tokenizer) {
  if (!tokenizer) return {};
  if (tokenizer.get_if<ByteTokenizer>()) return files_of_bytes();
  const Json document = to_json(tokenizer);
  if (!document.contains("path") || !document["path"].is_string()) return {};
  const fs::path file = path_of_text(document["path"].get<std::string>());
  if (tokenizer.get_if<GgufTokenizer>()) return gguf_tokenizer_json(file);
  const std::string name = tokenizer.get_if<HuggingFaceTokenizer>()     ? kJson
                           : tokenizer.get_if<SentencePieceTokenizer>() ? kModel
                                                                        : file.filename().string();
  std::map<std::string, std::string> out;
  if (name != kJson && name != kModel) return out;
  for (const fs::path& one : tokenizer_files(file, tokenizer))
    out.emplace(one == file ? name : one.filename().string(), read_file(one));
  return out;
}

// All versions of the reader know the field; later ones prefer the file.
void set_chat_template(const std::string& text, std::map<std::string, std::string>& files) {
  std::string& config = files[kConfig];
  Json fields =
      json_as<DataError>(kConfig, [&] { return config.empty() ? Json() : read_json(config); });
  fields["chat_template"] = text;
  config = fields.dump(2) + "\n";
  if (const auto file = files.find(kChatTemplateFile); file != files.end()) file->second = text;
}

}  // namespace

std::map<std::string, std::string> exported_tokenizer(const Child<Tokenizer>& tokenizer,
                                                      const std::string& chat_template) {
  std::map<std::string, std::string> out = own_files(tokenizer);
  if (!chat_template.empty() && !out.empty()) set_chat_template(chat_template, out);
  return out;
}

}  // namespace axle
