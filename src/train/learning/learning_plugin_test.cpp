// One mixer of each kind learns small tasks to their known answers.
#include <gmock/gmock.h>

#include <set>

#include "config/registry.h"
#include "layers/experts/linear_routers.h"
#include "train/learning/learning_tasks_test.h"

namespace axle {
namespace {

TEST(Learning, EveryMixerHasATask) {
  std::set<std::string> with_row;
  for (const LearningCase& c : learning_cases()) {
    with_row.insert(c.name.substr(0, c.name.find(' ')));
    EXPECT_FALSE(c.tasks.empty()) << c.name;
    EXPECT_EQ(c.mixer.any().type().name, c.name.substr(0, c.name.find(' ')));
  }
  for (const std::string& name : names_of(typeid(Mixer)))
    EXPECT_TRUE(with_row.contains(name)) << name << ": add a row to learning_cases()";
}

TEST(Learning, RowsAreAsTheirTasksSay) {
  SplitMix64 random(3);
  using enum LearningTask;
  const Tree<HostTensor> copying = task_batch({kCopying}, random),
                         recall = task_batch({kRecall}, random);
  for (int64_t row = 0; row < kTaskRows; ++row) {
    const auto at = [&](const Tree<HostTensor>& batch, const char* name, int64_t t) {
      return static_cast<int32_t>(batch.at(name).at(row * kTaskLength + t));
    };
    for (int64_t t = 0; t < 6; ++t) {
      EXPECT_EQ(at(copying, "target_labels", 6 + t), at(copying, "input_ids", t));
      EXPECT_EQ(at(copying, "target_labels", t), -1);
    }
    for (int64_t t = 8; t < 12; ++t) {
      int found = 0;
      for (int64_t i = 0; i < 8; i += 2) {
        if (at(recall, "input_ids", i) != at(recall, "input_ids", t)) continue;
        EXPECT_EQ(at(recall, "input_ids", i + 1), at(recall, "target_labels", t));
        ++found;
      }
      EXPECT_EQ(found, 1) << "each key asked for is that of one pair";
    }
  }
}

using LearningQuick = LearningTest;

// Equally frequent tokens: each of four experts ends with about a quarter of them, by a loss or by
// a bias, and the task is learned.
TEST_F(LearningQuick, ExpertsAreBalanced) {
  for (const Child<Router>& router :
       {Child<Router>(TopKRouter::Config{.top_k = 1, .losses = {.load_balance = 0.1}}),
        Child<Router>(BalancedRouter::Config{.top_k = 1,
        .update_rate = 0.02,
        .routed_scale = 1,
        .losses = {.load_balance = 0, .z = 0}})}) {
    SCOPED_TRACE(router.any().type().name);
    LearningCase c = learning_case("MoE");
    c.mixer.get_if<MoE>()->router = router;
    const Tree<double> metrics = learn(c)[0];
    EXPECT_GT(metrics.at("accuracy"), 0.97);
    for (const char* layer : {"0", "1"}) {
      const std::string load = "summary/model/decoder/layers/layer/body/router/";
      EXPECT_LT(metrics.at(load + "max_load/" + layer), 1.6);
      EXPECT_GT(metrics.at(load + "min_load/" + layer), 0.4);
    }
  }
}

}  // namespace
}  // namespace axle
