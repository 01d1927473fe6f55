// Small files of ranks and of Tekken.
#pragma once

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace axle {

inline std::string base64_of(std::string_view bytes) {
  constexpr std::string_view kDigits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out;
  for (size_t at = 0; at < bytes.size(); at += 3) {
    const auto byte = [&](size_t i) {
      return at + i < bytes.size() ? static_cast<uint8_t>(bytes[at + i]) : 0u;
    };
    const unsigned bits = byte(0) << 16 | byte(1) << 8 | byte(2);
    for (size_t i = 0; i < 4; ++i)
      out += at + i > bytes.size() ? '=' : kDigits[bits >> (18 - 6 * i) & 63];
  }
  return out;
}

/// The bytes, then tokens whose parts are tokens of lower ranks.
inline std::vector<std::string> small_tokens() {
  std::vector<std::string> out;
  for (int byte = 0; byte < 256; ++byte) out.emplace_back(1, static_cast<char>(byte));
  out.insert(out.end(), {"he", "th", "the", " t", " the", "12"});
  return out;
}

inline std::string ranks_file() {
  std::string out;
  int rank = 0;
  for (const std::string& token : small_tokens())
    out += fmt::format("{} {}\n", base64_of(token), rank++);
  return out;
}

/// With 24 special tokens; the last token is beyond the vocabulary.
inline nlohmann::ordered_json tekken_file() {
  nlohmann::ordered_json vocab;
  for (const std::string& token : small_tokens()) {
    vocab.push_back(
        {{"rank", vocab.size()}, {"token_bytes", base64_of(token)}, {"token_str", nullptr}});
  }
  return {{"config",
           {{"pattern", R"(\p{N}| ?\p{L}+|\s+)"},
            {"num_vocab_tokens", 262},
            {"default_vocab_size", 285},
            {"default_num_special_tokens", 24},
            {"version", "v3"}}},
          {"vocab", vocab}};
}

}  // namespace axle
