// What the files of a tokenizer say of conversations.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/text/json.h"

namespace axle {

struct ChatSettings {
  /// A Jinja template; empty: there is none.
  std::string chat_template = {};
  /// Names that templates use and texts of special tokens: {"bos_token", "<s>"}.
  std::vector<std::pair<std::string, std::string>> special_tokens = {};
  /// Further ids that end an answer, beside SpecialIds::eos.
  std::vector<int32_t> end_ids = {};
};

/// Returns the template of a tokenizer_config.json: its field "chat_template", which is a text or a
/// list of templates with names, whose "default" is taken. Empty if the file has no such field.
/// Throws JsonError.
std::string chat_template_in(const JsonView& tokenizer_config);

}  // namespace axle
