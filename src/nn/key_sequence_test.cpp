#include <gtest/gtest.h>

#include <set>

#include "nn/invocation.h"
#include "transform/trace.h"

namespace axle {
namespace {

TEST(KeySequence, TheFirstKeysDoNotDependOnHowManyFollow) {
  const auto keys = [](int n) {
    return eval(
        [n](const Values& key) {
          KeySequence sequence(random::Key::wrap(key[0]));
          Values out;
          for (int i = 0; i < n; ++i) out.push_back(sequence.next().data());
          return out;
        },
        {random::key_words(4)});
  };
  const auto few = keys(2), many = keys(6);
  EXPECT_EQ(few[0], many[0]);
  EXPECT_EQ(few[1], many[1]);
  std::set<std::string> different;
  for (const HostTensor& key : many) different.insert(key.text());
  EXPECT_EQ(different.size(), many.size());
}

}  // namespace
}  // namespace axle
