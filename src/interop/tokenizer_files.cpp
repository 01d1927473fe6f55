#include "interop/tokenizer_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "base/error.h"
#include "base/lists.h"
#include "base/text/text.h"
#include "checkpoint/folder.h"
#include "config/serialize.h"
#include "data/tokenizers/gguf/gguf_tokenizer.h"
#include "data/tokenizers/hugging_face/hugging_face_tokenizer.h"
#include "data/tokenizers/open_tokenizer.h"
#include "data/tokenizers/sentencepiece_tokenizer.h"
#include "io/file.h"
#include "io/gguf/gguf_file.h"

namespace axle {
namespace {

namespace fs = std::filesystem;

constexpr const char* kBeside[] = {"tokenizer_config.json", "special_tokens_map.json",
                                   "added_tokens.json", "generation_config.json",
                                   "chat_template.jinja"};

// These read the files beside them, whatever their own name.
bool reads_files_beside(const Child<Tokenizer>& tokenizer) {
  return tokenizer.get_if<HuggingFaceTokenizer>() || tokenizer.get_if<SentencePieceTokenizer>();
}

}  // namespace

std::vector<fs::path> tokenizer_files(const fs::path& path, const Child<Tokenizer>& tokenizer) {
  std::vector<fs::path> out = {path};
  if (!reads_files_beside(tokenizer) && names_beside(path).empty()) return out;
  for (const char* name : kBeside) {
    const fs::path file = path.parent_path() / name;
    if (path_exists(file)) out.push_back(file);
  }
  return out;
}

std::vector<std::string> names_beside(const fs::path& tokenizer) {
  if (std::ranges::count(kTokenizerNames, tokenizer.filename().string()) == 0) return {};
  return {std::begin(kBeside), std::end(kBeside)};
}

std::string read_tokenizer_file(const fs::path& file) {
  return is_gguf(file) ? gguf_tokenizer_alone(file) : read_file(file);
}

namespace fs = std::filesystem;
namespace {

using Json = nlohmann::ordered_json;

// Calls fn(path, tokenizer) for the file of each tokenizer and chat template in the document, whose
// path it may change. The tokenizer of a chat template is null.
void each_tokenizer_file(Json& document,
                         const std::function<void(Json& path, const Json& tokenizer)>& fn) {
  if (!document.is_object()) return;
  for (auto& [key, value] : document.items()) {
    if (key == "tokenizer" && value.is_object() && value.contains("path") &&
        value["path"].is_string())
      fn(value["path"], value);
    else if (key == "chat_template" && value.is_string())
      fn(value, Json());
    else
      each_tokenizer_file(value, fn);
  }
}

}  // namespace

void resolve_tokenizer_paths(Json& document, const fs::path& dir) {
  const bool is_model_folder = path_exists(checkpoints_of(dir));
  each_tokenizer_file(document, [&](Json& file, const Json&) {
    const fs::path path = path_of_text(file.get<std::string>());
    if (path.is_relative() && (is_model_folder || path_exists(dir / path)))
      file = text_of_path((dir / path).string());
  });
}

void take_kept_tokenizers(Json& document, const fs::path& dir, const Report& report) {
  std::set<fs::path> told;
  each_tokenizer_file(document, [&](Json& file, const Json& tokenizer) {
    const fs::path path = path_of_text(file.get<std::string>()), kept = dir / path.filename();
    if (path_exists(path) || path.filename().empty() || !path_exists(kept)) return;
    file = text_of_path(kept.string());
    if (!told.insert(path).second) return;
    report(fmt::format("WARNING: {} does not exist; the {} is read from {}", path.string(),
                       tokenizer.is_null() ? "chat template" : "tokenizer", kept.string()));
  });
}

void check_tokenizer_files(Json document, const fs::path& dir) {
  each_tokenizer_file(document, [&](Json& file, const Json&) {
    const fs::path path = path_of_text(file.get<std::string>());
    if (path_exists(path) || path.filename().empty()) return;
    const std::vector<std::string> beside = names_beside(path);
    throw DataError(
        fmt::format("{}: expected a file, got {}; copy it to {}{}", path.string(), nothing_at(path),
                    (dir / path.filename()).string(),
                    beside.empty() ? "" : ", with what lay beside it of " + join(beside, ", ")));
  });
}

void keep_tokenizers(const Json& document, const fs::path& dir,
                     const std::function<void(const fs::path&)>& will_make) {
  std::map<std::string, std::map<fs::path, Child<Tokenizer>>> by_name;
  Json copy = document;
  each_tokenizer_file(copy, [&](const Json& file, const Json& fields) {
    const fs::path path = path_of_text(file.get<std::string>());
    if (!fs::is_regular_file(path)) return;
    Child<Tokenizer>& tokenizer = by_name[path.filename()][path];
    if (!fields.is_null()) from_json(tokenizer, fields);
  });
  for (const auto& [name, paths] : by_name) {
    if (paths.size() > 1 || path_exists(dir / name)) continue;
    // The tokenizer comes last: where it is, the others are.
    const auto& [path, tokenizer] = *paths.begin();
    for (const fs::path& file : Reversed(tokenizer_files(path, tokenizer))) {
      const fs::path to = dir / file.filename();
      if (path_exists(to)) continue;
      will_make(to);
      replace_file(to, read_tokenizer_file(file));
    }
  }
}

std::filesystem::path trained_chat_template_file(const std::filesystem::path& dir) {
  return dir / "trained_chat_template.jinja";
}

void keep_chat_template(const std::vector<std::string>& texts, const std::filesystem::path& dir,
                        bool is_new) {
  const std::filesystem::path file = trained_chat_template_file(dir);
  if (!texts.empty())
    replace_file(file, texts.front());
  else if (is_new)
    remove_tree(file);  // of a start that was given up
}

std::optional<ChatTemplate> trained_chat_template(const LoadedModel& loaded) {
  const std::filesystem::path& file = loaded.chat_template_file;
  if (!file.empty())
    return chat_template_of_text(*loaded.tokenizer, read_file(file), file.string());
  const nlohmann::ordered_json& input = loaded.input;
  const std::string kind = input.is_object() ? input.value("class", "") : "";
  if (kind != "ChatInput" && kind != "PreferenceInput") return std::nullopt;
  std::optional<std::string> named;
  if (input.contains("chat_template") && input["chat_template"].is_string())
    named = input["chat_template"].get<std::string>();
  return chat_template_or_plain(*loaded.tokenizer, named, "--chat-template");
}

}  // namespace axle
