// Random texts of the pieces of a SentencePiece model, encoded here and by the library.
#pragma once

#include "base/text/unicode.h"
#include "data/random.h"
#include "data/tokenizers/tokenizer_library_test.h"

namespace axle {

/// Texts of pieces of a model, parts of them, spaces, characters of all planes and bytes that are
/// no UTF-8. Half of the pieces are special: control pieces, user-defined and unused ones.
class MixedTexts {
 public:
  explicit MixedTexts(const sentencepiece::SentencePieceProcessor& library) {
    for (int id = 0; id < library.GetPieceSize(); ++id) {
      const std::string& piece = library.IdToPiece(id);
      all_.push_back(piece);
      const bool is_plain = library.GetScore(id) != 0 && !library.IsUnused(id);
      if (!is_plain && !library.IsByte(id)) special_.push_back(piece);
    }
  }
  std::string next() {
    std::string out;
    for (size_t n = below(12); n > 0; --n) out += part();
    return out;
  }

 private:
  size_t below(size_t n) { return random_.below(n); }
  std::string spaced(std::string text) {  // with spaces in place of their symbols
    for (size_t at = 0; (at = text.find("\xe2\x96\x81", at)) != text.npos;)
      text.replace(at, 3, " ");
    return text;
  }
  std::string part() {
    const std::string piece =
        below(2) && !special_.empty() ? special_[below(special_.size())] : all_[below(all_.size())];
    switch (below(10)) {
      case 0:
        return piece;
      case 1:
        return std::string(1 + below(4), ' ');
      case 2:
        return piece.substr(0, utf8_step(piece).size);
      case 3: {
        static constexpr char32_t kEnds[] = {0x7f, 0x7ff, 0xd7ff, 0x1ffff};
        std::string out;
        append_utf8(out, static_cast<char32_t>(below(kEnds[below(4)] + 1)));
        return out;
      }
      case 4:
        return below(40) ? std::string(1, static_cast<char>('a' + below(26))) : "\xe7\x8c";
      default:
        return spaced(piece);
    }
  }
  SplitMix64 random_{11};
  std::vector<std::string> all_, special_;
};

inline void expect_mixed_texts_as_the_library(const std::string& path, int num_texts) {
  sentencepiece::SentencePieceProcessor library;
  ASSERT_TRUE(library.Load(path).ok());
  const auto ours = sentencepiece_tokenizer(path);
  MixedTexts texts(library);
  std::string all;
  for (int i = 0; i < num_texts; ++i) {
    const std::string text = texts.next();
    ASSERT_EQ(ours->encode(text), library.EncodeAsIds(text)) << ::testing::PrintToString(text);
    if (!find_invalid_utf8(text)) all += text;
  }
  EXPECT_EQ(ours->encode(all), library.EncodeAsIds(all));
}

}  // namespace axle
