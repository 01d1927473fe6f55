// Compares the parts that encode SentencePiece models with the library, on models with pieces of
// all types and texts that mix these pieces, spaces and other characters.
#include "data/tokenizers/sentencepiece_parts.h"

#include <bit>
#include <functional>

#include "data/tokenizers/mixed_texts_test.h"
#include "data/tokenizers/sentencepiece_tokenizer.h"
#include "io/file.h"
#include "io/proto.h"
#include "testing/temp_dir.h"
#include "testing/trained_tokenizer.h"

namespace axle {
namespace {

enum Type : uint64_t { kNormal = 1, kUnknown, kControl, kUserDefined, kUnused, kByte };
struct Piece {
  std::string text;
  float score;
  uint64_t type;
};

// Returns the model with its pieces changed; those after the last are added.
std::string with_pieces(const std::string& model,
                        const std::function<void(std::vector<Piece>&)>& change) {
  std::vector<Piece> pieces;
  ProtoWriter others;
  ProtoReader reader(model);
  while (const auto field = reader.next()) {
    if (field->number != 1) {
      others.bytes(field->number, field->bytes());
      continue;
    }
    Piece piece{{}, 0, kNormal};
    ProtoReader fields(field->bytes());
    while (const auto part = fields.next()) {
      if (part->number == 1) piece.text = part->bytes();
      if (part->number == 2) piece.score = std::bit_cast<float>(static_cast<uint32_t>(part->bits));
      if (part->number == 3) piece.type = static_cast<uint64_t>(part->varint());
    }
    pieces.push_back(piece);
  }
  change(pieces);
  ProtoWriter out;
  for (const Piece& piece : pieces)
    out.message(1,
                ProtoWriter().bytes(1, piece.text).fixed32(2, piece.score).varint(3, piece.type));
  return out.text() + others.text();
}

// Changes the type of every n-th of the normal pieces, from the first on.
auto every(size_t n, size_t first, Type type) {
  return [=](std::vector<Piece>& pieces) {
    size_t index = 0;
    for (Piece& piece : pieces) {
      if (piece.type == kNormal && index++ % n == first) piece.type = type;
    }
  };
}
void better_by_a_hundred(std::vector<Piece>& pieces) {
  for (Piece& piece : pieces) piece.score += 100;
}

bool takes(const std::string& model) {
  return SentencePieceParts::of_model(model, check_sentencepiece_model(model, "m.model"),
                                      "m.model") != nullptr;
}

void expect_ids_of_the_library(const std::string& model, int num_texts) {
  const TempDir dir;
  replace_file(dir / "m.model", model);
  expect_mixed_texts_as_the_library(dir / "m.model", num_texts);
}

struct Kind {
  const char* name;
  const char* options;
};
class SentencePiecePartsKinds : public ::testing::TestWithParam<Kind> {
 protected:
  std::string trained(const std::string& more = {}) {
    return trained_tokenizer(std::string(GetParam().options) + more);
  }
};
INSTANTIATE_TEST_SUITE_P(
    Trained, SentencePiecePartsKinds,
    ::testing::Values(
        Kind{"bpe", "--model_type=bpe --vocab_size=400"},
        Kind{"bpe_of_llama",
             "--model_type=bpe --vocab_size=512 --byte_fallback=true --split_digits=true "
             "--normalization_rule_name=identity --remove_extra_whitespaces=false"},
        Kind{"bpe_across_words",
             "--model_type=bpe --vocab_size=500 --split_by_whitespace=false "
             "--add_dummy_prefix=false"},
        Kind{"bpe_spaces_behind",
             "--model_type=bpe --vocab_size=400 --treat_whitespace_as_suffix=true"},
        Kind{"unigram", "--model_type=unigram --vocab_size=300"},
        Kind{"unigram_bytes",
             "--model_type=unigram --vocab_size=500 --byte_fallback=true "
             "--remove_extra_whitespaces=false"},
        Kind{"unigram_spaces_behind",
             "--model_type=unigram --vocab_size=300 --treat_whitespace_as_suffix=true "
             "--remove_extra_whitespaces=false --add_dummy_prefix=false"}),
    [](const auto& kind) { return kind.param.name; });

// Symbols that begin others, that overlap, with spaces and symbols of spaces, that normalization
// would change, and that are characters of words.
constexpr const char* kSymbols =
    " --user_defined_symbols=<sep>,<sep>x,sep>b,[x],bake,\xe2\x96\x81ke,\xe2\x96\x81\xe2\x96\x81,"
    "\xe2\x96\x81\xe2\x96\x81\xe2\x96\x81,\xe2\x93\x90,\xef\xbc\xa1\xef\xbc\xa2,m,\xe7\x8c\xab"
    "\xe3\x81\xa7";

TEST_P(SentencePiecePartsKinds, EncodeUserDefinedPieces) {
  const std::string model = trained(kSymbols);
  ASSERT_TRUE(takes(model));
  expect_ids_of_the_library(model, 2000);
  const std::string with_spaces = with_pieces(model, [](std::vector<Piece>& pieces) {
    for (const char* text : {"lo ti", " ", "  ", " an", "est ", "\n\n"})
      pieces.push_back({text, 0, kUserDefined});
  });
  ASSERT_TRUE(takes(with_spaces));
  expect_ids_of_the_library(with_spaces, 2000);
}

TEST_P(SentencePiecePartsKinds, EncodeLearnedPiecesMarkedAsUserDefined) {
  const std::string model = trained();
  for (const size_t n : {2, 5, 40}) {
    const std::string changed = with_pieces(model, every(n, 1, kUserDefined));
    ASSERT_TRUE(takes(changed));
    expect_ids_of_the_library(changed, 1000);
    expect_ids_of_the_library(with_pieces(changed, better_by_a_hundred), 1000);
  }
}

TEST_P(SentencePiecePartsKinds, CutUnusedPieces) {
  const std::string model = trained(kSymbols);
  for (const size_t n : {2, 3, 10}) {
    for (const size_t first : {size_t{0}, n - 1}) {
      const std::string changed = with_pieces(model, every(n, first, kUnused));
      ASSERT_TRUE(takes(changed));
      expect_ids_of_the_library(changed, 500);
    }
  }
}

// Scores that are not in the order of merges, many of them equal.
TEST_P(SentencePiecePartsKinds, CutUnusedPiecesOfAnyScore) {
  const std::string model = with_pieces(trained(kSymbols), [](std::vector<Piece>& pieces) {
    std::mt19937 random(7);
    for (Piece& piece : pieces) {
      if (piece.type != kNormal) continue;
      piece.score = -1.f - static_cast<float>(random() % 30);
      if (random() % 3 == 0) piece.type = kUnused;
    }
  });
  ASSERT_TRUE(takes(model));
  expect_ids_of_the_library(model, 2000);
}

// The library adds up the scores of a text in f32: the longer the text, the coarser. So a word may
// be cut in another way elsewhere, where two ways are nearly as good.
TEST(SentencePieceParts, EncodeWordsWhosePiecesDependOnTheTextBefore) {
  const std::string model = with_pieces(
      trained_tokenizer("--model_type=unigram --vocab_size=300"), [](std::vector<Piece>& pieces) {
        std::mt19937 random(5);
        for (Piece& piece : pieces) {
          const auto size = static_cast<float>(piece.text.size());
          if (piece.type == kNormal)
            piece.score = -size - static_cast<float>(random() % 64) * 0x1p-13f;
        }
      });
  ASSERT_TRUE(takes(model));
  const TempDir dir;
  replace_file(dir / "m.model", model);
  sentencepiece::SentencePieceProcessor library;
  ASSERT_TRUE(library.Load(dir / "m.model").ok());
  const auto ours = sentencepiece_tokenizer(dir / "m.model");
  std::string text;
  std::vector<int32_t> ids, apart;
  for (int round = 0; round < 20; ++round) {
    for (const std::string& line : made_up_lines(100, 8)) {
      text += (text.empty() ? "" : " ") + line;
      ids = ours->encode(line);
      apart.insert(apart.end(), ids.begin(), ids.end());
    }
    ids = ours->encode(text);
    ASSERT_EQ(ids, library.EncodeAsIds(text)) << text.size();
  }
  EXPECT_NE(ids, apart);
}

// The library encodes others.
TEST(SentencePieceParts, LeaveUnusualModelsToTheLibrary) {
  EXPECT_FALSE(takes(trained_tokenizer("--model_type=word --vocab_size=150")));
  EXPECT_FALSE(takes(trained_tokenizer("--model_type=char --vocab_size=60")));
  const std::string model = trained_bpe();
  ASSERT_TRUE(takes(model));
  const auto with = [&](std::string text, Type type) {
    return with_pieces(model, [&](std::vector<Piece>& pieces) {
      pieces.push_back({std::move(text), 0, type});
    });
  };
  EXPECT_TRUE(takes(with("<new>", kUserDefined)));
  EXPECT_FALSE(takes(with("<0x41>", kUserDefined)));    // the name of a byte, too
  EXPECT_FALSE(takes(with("b", kControl)));             // found in text, an error then
  EXPECT_FALSE(takes(with("ab\xd8\xb4", kNormal)));     // of a character that is no piece
  EXPECT_FALSE(takes(with("\xe7\x8c", kUserDefined)));  // half of a character
  EXPECT_FALSE(takes(with(std::string("a\0b", 3), kUserDefined)));  // the library sees "a"
}

}  // namespace
}  // namespace axle
