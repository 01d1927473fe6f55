#include "interop/tokenizer_paths.h"

#include <fmt/format.h>

#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "base/error.h"
#include "base/reversed.h"
#include "base/text/text.h"
#include "checkpoint/run_files.h"
#include "config/document/serialize.h"
#include "interop/tokenizer_files.h"
#include "io/file.h"
#include "io/user_path.h"

namespace axle {
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

}  // namespace axle
