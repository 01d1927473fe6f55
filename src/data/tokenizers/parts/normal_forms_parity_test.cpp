// Normal forms of all characters against `tokenizers`: tools/oracle/normal_forms.py.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/hash.h"
#include "base/text/unicode.h"
#include "io/file.h"
#include "testing/checkout.h"

namespace axle {
namespace {

constexpr char32_t kBlock = 0x1000;

// A hash of the forms of each character of a block, alone and between marks.
std::string hash_of_block(char32_t first, NormalForm form) {
  Sha256 hash;
  for (char32_t c = first; c < first + kBlock; ++c) {
    if (c >= 0xd800 && c <= 0xdfff) continue;
    std::string own;
    append_utf8(own, c);
    for (const std::string& text :
         {own, "e" + own + "\u0301", "a\u0345" + own + "\u0334", own + "\U00011930\u0323"})
      hash.add(normal_form(text, form) + "\n");
  }
  return hash.hex().substr(0, 16);
}

struct Form {
  const char* name;
  NormalForm form;
};
class NormalForms : public ::testing::TestWithParam<Form> {};

TEST_P(NormalForms, MatchHuggingFaceTokenizersForAllCharacters) {
  const auto hashes =
      nlohmann::json::parse(read_file(reference_file("tokenizers/normal_forms.json")))
          .at(GetParam().name)
          .get<std::vector<std::string>>();
  ASSERT_EQ(hashes.size(), 0x110000u / kBlock);
  for (size_t i = 0; i < hashes.size(); ++i) {
    const auto first = static_cast<char32_t>(i) * kBlock;
    EXPECT_EQ(hash_of_block(first, GetParam().form), hashes[i])
        << "block of " << std::hex << uint32_t{first};
  }
}

constexpr Form kForms[] = {{"NFC", NormalForm::kNfc},
                           {"NFD", NormalForm::kNfd},
                           {"NFKC", NormalForm::kNfkc},
                           {"NFKD", NormalForm::kNfkd}};
INSTANTIATE_TEST_SUITE_P(Forms, NormalForms, ::testing::ValuesIn(kForms),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace axle
