#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>

#include "base/text/utf8.h"
#include "data/tokenizers/hugging_face/json_fields.h"
#include "data/tokenizers/hugging_face/tokenizer_json.h"

namespace axle::hugging_face {

AddedToken read_added_token(const JsonView& json) {
  AddedToken out{.text = json.at("content").text(),
                 .special = bool_field(json, "special", false),
                 .single_word = bool_field(json, "single_word", false),
                 .strip_left = bool_field(json, "lstrip", false),
                 .strip_right = bool_field(json, "rstrip", false)};
  out.normalized = bool_field(json, "normalized", !out.special);
  return out;
}

std::vector<AddedToken> read_added_tokens(const JsonView& json, const Vocabulary& vocabulary) {
  std::vector<AddedToken> out;
  std::unordered_map<std::string, size_t> known;  // by text
  int64_t next_id = vocabulary.num_tokens();
  for (const JsonView& row : json.elements()) {
    AddedToken token = read_added_token(row);
    const JsonView id = row.at("id");
    token.id = static_cast<int32_t>(id.integer(0, Vocabulary::kMaxId));
    if (token.text.empty()) continue;
    const auto [same, is_new] = known.try_emplace(token.text, out.size());
    const int64_t own = !is_new
                            ? out[same->second].id
                            : vocabulary.find(token.text).value_or(static_cast<int32_t>(next_id));
    if (token.id != own)
      id.fail(fmt::format("{}, the id of '{}' by the vocabulary", own, printable(token.text)));
    next_id = std::max(next_id, own + 1);
    if (is_new)
      out.push_back(std::move(token));
    else
      out[same->second] = std::move(token);
  }
  return out;
}

}  // namespace axle::hugging_face
