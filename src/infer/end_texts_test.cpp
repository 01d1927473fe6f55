#include <gtest/gtest.h>

#include "infer/text_generator.h"

namespace axle {
namespace {

// What is shown of a text, and whether an end came.
using Result = std::pair<std::string, bool>;

// The text comes in pieces of `size` bytes.
Result shown(const std::vector<std::string>& ends, const std::string& text, size_t size) {
  EndTexts finder(ends);
  std::string out;
  for (size_t at = 0; at < text.size() && !finder.found(); at += size)
    out += finder.push(std::string_view(text).substr(at, size));
  const bool found = finder.found();
  return {out + finder.finish(), found};
}

TEST(EndTexts, AnEndIsFoundAcrossPieces) {
  for (const size_t size : {1, 2, 3, 5, 100}) {
    EXPECT_EQ(shown({"<end>"}, "one <en two<end>three", size), (Result{"one <en two", true}))
        << size;
    EXPECT_EQ(shown({"<end>", "two"}, "one two<end>", size), (Result{"one ", true})) << size;
    EXPECT_EQ(shown({"aab"}, "aaaab", size), (Result{"aa", true})) << size;
    EXPECT_EQ(shown({"", "<end>"}, "one <end", size), (Result{"one <end", false})) << size;
    EXPECT_EQ(shown({}, "one", size), (Result{"one", false})) << size;
  }
}

TEST(EndTexts, HoldsBackOnlyTextThatMayBecomeAnEnd) {
  EndTexts finder({"<end>"});
  EXPECT_EQ(finder.push("a<"), "a");
  EXPECT_EQ(finder.push("b<e"), "<b");
  EXPECT_EQ(finder.push("nd>c"), "");
  EXPECT_TRUE(finder.found());
  EXPECT_EQ(finder.finish(), "");
}

}  // namespace
}  // namespace axle
