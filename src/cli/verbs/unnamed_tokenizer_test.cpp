// Token files that do not say which tokenizer made them.
#include <gmock/gmock.h>

#include "cli/run_test.h"
#include "io/file.h"
#include "testing/checkout.h"

namespace axle {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

class UnnamedTokenizer : public ::testing::Test {
 protected:
  UnnamedTokenizer() { replace_file(dir_ / "text.txt", std::string(600, 'a')); }
  Ran build(const char* name) {
    return run_axle({"data", "build", dir_ / "text.txt", "--tokenizer",
                     reference_file("lm_eval/named/tokenizer.json"), "--out", dir_ / name});
  }
  Ran train(const Arguments& data) {
    std::filesystem::remove_all(dir_ / "run");
    return run_axle(
        joined(joined({"train", "--init-from", reference_file("lm_eval/named")}, data),
               {"--dir", dir_ / "run", "--steps", "1", "--backend", "interpreter", "--set",
                "input.batch_size=1", "--set", "input.seq_len=16", "--set", "evalers={}"}));
  }
  TempDir dir_;
};

TEST_F(UnnamedTokenizer, ModelsTokenizerIsUsedAndReported) {
  for (const char* name : {"a", "b", "c"}) ASSERT_EQ(build(name).code, 0);
  const Ran named = train({"--data", dir_ / "a.idx"});
  EXPECT_EQ(named.code, 0) << named.err;
  EXPECT_THAT(named.out, AllOf(HasSubstr("data: 1 file"), Not(HasSubstr("which tokenizer"))));
  remove_tree(dir_ / "a.json");
  remove_tree(dir_ / "b.json");
  EXPECT_THAT(train({"--data", dir_ / "a.idx"}).out,
              HasSubstr("data: 1 file; " + (dir_ / "a.idx") +
                        " does not say which tokenizer its ids are of: the model's is taken\n"));
  const Ran two =
      train({"--data", dir_ / "a.idx", "--data", dir_ / "b.idx", "--data", dir_ / "c.idx"});
  EXPECT_THAT(two.out, HasSubstr("a.idx and 1 more do not say which tokenizer their ids are of"));
}

}  // namespace
}  // namespace axle
