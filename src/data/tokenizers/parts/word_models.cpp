#include "data/tokenizers/parts/word_models.h"

#include "base/text/unicode.h"

namespace axle {

void WordPieceModel::encode_anew(std::string_view piece, std::vector<int32_t>& ids) const {
  int64_t num_characters = 0;
  for_each_code_point(piece, [&](char32_t) { ++num_characters; });
  if (num_characters > options_.max_characters) return ids.push_back(options_.unknown);
  const size_t first = ids.size();
  std::string part;
  for (size_t begin = 0; begin < piece.size();) {
    const size_t prefix = begin == 0 ? 0 : options_.continuing_prefix.size();
    part.assign(begin == 0 ? "" : options_.continuing_prefix).append(piece.substr(begin));
    std::optional<int32_t> id;
    while (part.size() > prefix && !(id = vocabulary_.find(part))) {
      do part.pop_back();  // a whole character
      while (part.size() > prefix &&
             (static_cast<uint8_t>(piece[begin + part.size() - prefix]) & 0xc0) == 0x80);
    }
    if (!id) {
      ids.resize(first);
      return ids.push_back(options_.unknown);
    }
    ids.push_back(*id);
    begin += part.size() - prefix;
  }
}

}  // namespace axle
