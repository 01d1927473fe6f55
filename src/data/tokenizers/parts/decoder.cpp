#include "data/tokenizers/parts/decoder.h"

#include <utility>

#include "data/tokenizers/parts/byte_level.h"
#include "data/tokenizers/parts/normalizers.h"
#include "data/tokenizers/parts/token_model.h"

namespace axle {

void decode_byte_level(std::string& token) {
  if (auto bytes = from_byte_level(token)) token = *std::move(bytes);
}

void decode_byte_token(std::string& token) {
  if (const auto byte = byte_of_token(token)) token.assign(1, static_cast<char>(*byte));
}

std::function<void(std::string&)> decode_word_piece(std::string prefix, bool cleanup) {
  std::vector<Normalizer> replaced;
  constexpr const char* kPairs[][2] = {{" .", "."},     {" ?", "?"},           {" !", "!"},
                                       {" ,", ","},     {" ' ", "'"},          {" n't", "n't"},
                                       {" 'm", "'m"},   {" do not", " don't"}, {" 's", "'s"},
                                       {" 've", "'ve"}, {" 're", "'re"}};
  for (const auto& [from, to] : kPairs) replaced.push_back(replace_text(from, to));
  return [prefix = std::move(prefix), cleanup, replaced](std::string& token) {
    if (token.starts_with(prefix) && !prefix.empty())
      token.erase(0, prefix.size());
    else
      token.insert(token.begin(), ' ');
    if (!cleanup) return;
    for (const Normalizer& replace : replaced) replace(token);
  };
}

std::function<void(std::string&)> strip_text(std::string text, size_t left, size_t right) {
  return [text = std::move(text), left, right](std::string& token) {
    if (text.empty()) return;
    for (size_t i = 0; i < left && token.starts_with(text); ++i) token.erase(0, text.size());
    for (size_t i = 0; i < right && token.ends_with(text); ++i)
      token.resize(token.size() - text.size());
  };
}

}  // namespace axle
