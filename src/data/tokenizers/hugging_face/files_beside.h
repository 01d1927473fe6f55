// The small files that lie beside tokenizer.json.
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "data/tokenizers/chat_settings.h"

namespace axle::hugging_face {

/// tokenizer_config.json, generation_config.json and chat_template.jinja, as far as they are there.
class FilesBeside {
 public:
  /// Reads the files. Throws DataError for one that is not JSON.
  explicit FilesBeside(const std::filesystem::path& tokenizer);

  /// Returns the text of the special token that tokenizer_config.json names: "eos_token".
  std::optional<std::string> special_token(std::string_view name) const;
  /// Returns the template, the special tokens, and the ids of generation_config.json that end a
  /// text. A template of its own file takes the place of that in tokenizer_config.json. Throws
  /// DataError for a field of another kind, and for an id that is not below `vocab_size`.
  ChatSettings chat_settings(int64_t vocab_size) const;

 private:
  struct File {
    explicit File(const std::filesystem::path& file);
    std::string path;
    std::optional<nlohmann::ordered_json> json = {};
  };
  File tokenizer_config_, generation_config_;
  std::filesystem::path chat_template_;
};

}  // namespace axle::hugging_face
