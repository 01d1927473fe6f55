#include <fmt/format.h>
#include <gmock/gmock.h>

#include "pjrt/compiler.h"

namespace axle {
namespace {

using ::testing::ElementsAre;

constexpr std::string_view kLine =
    "W1121 23:12:12.335242    2503 hlo_rematerialization.cc:3402] Can't reduce memory use below "
    "51.84GiB (55660090558 bytes) by rematerialization; only reduced to 69.15GiB\n";

TEST(CompilerWarnings, AreReadOnceEach) {
  const std::string log = fmt::format(
      "{0}I1121 23:12:12.3 1 a.cc:1] information\n"
      "W1121 23:11:29.386169    2503 shardy_xla_pass.cc:431] Module contains "
      "sdy shardings or meshes\nplain text\n"
      "{0}E1121 23:12:12.3 1 b.cc:2] failed\nW1121 no end\n",
      kLine);
  EXPECT_THAT(compiler_warnings(log),
              ElementsAre("Can't reduce memory use below 51.84GiB (55660090558 bytes) by "
                          "rematerialization; only reduced to 69.15GiB",
                          "failed"));
  EXPECT_THAT(compiler_warnings(""), ElementsAre());
}

}  // namespace
}  // namespace axle
