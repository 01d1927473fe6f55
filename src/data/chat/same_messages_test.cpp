#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "data/chat/written_messages.h"

namespace axle {
namespace {

using Json = nlohmann::ordered_json;

Json message_of(char content) { return {{"role", "user"}, {"content", std::string(1, content)}}; }

// A message for each letter.
Json messages(const std::string& letters) {
  Json out = Json::array();
  for (const char letter : letters) out.push_back(message_of(letter));
  return out;
}

TEST(SameMessages, FieldsMayComeInAnyOrder) {
  const Json other = {{"content", "a"}, {"role", "user"}};
  EXPECT_TRUE(are_same(message_of('a'), other));
  EXPECT_FALSE(are_same(message_of('b'), other));
  EXPECT_TRUE(have_among_them(messages("ba"), Json::array({other})));
}

TEST(SameMessages, AgreesWithStringSearch) {
  // All strings of two letters, against the search of the library.
  for (int bits = 0; bits < 1 << 9; ++bits) {
    std::string text;
    for (int i = 0; i < 9; ++i) text += (bits >> i) % 2 ? 'b' : 'a';
    const Json all = messages(text);
    for (const char* part : {"a", "ab", "aab", "aabaa", "abab", "ababb", "aaaa", "babab", ""}) {
      EXPECT_EQ(have_among_them(all, messages(part)), text.find(part) != text.npos)
          << part << " in " << text;
    }
  }
  EXPECT_FALSE(have_among_them(messages("ab"), messages("aba")));
}

// Each of the messages compared with the whole part would take an hour.
TEST(SameMessages, ManyEqualMessagesAreReadOnce) {
  const std::string equal(40'000, 'a');
  const Json all = messages(equal);
  EXPECT_FALSE(have_among_them(all, messages(equal.substr(0, 20'000) + "b")));
  EXPECT_TRUE(have_among_them(all, messages(equal.substr(0, 20'000))));
}

}  // namespace
}  // namespace axle
