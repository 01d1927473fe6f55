#include <gmock/gmock.h>

#include <set>

#include "ir/op_rules.h"
#include "ops/elementwise/elementwise.h"
#include "ops/ops.h"

namespace axle {
namespace {

// A row that forgets its cost does not compile: costs have no default.
static_assert(!std::is_default_constructible_v<CostRule>);

TEST(Registry, EveryRowIsComplete) {
  ASSERT_GT(all_ops().size(), 90u);
  for (const OpRules* op : all_ops()) {
    SCOPED_TRACE(std::string(op->name()));
    EXPECT_FALSE(op->name().empty());
    EXPECT_TRUE(op->row().infer) << "no shape inference";
    EXPECT_TRUE(op->row().eval) << "no evaluation";
    EXPECT_TRUE(op->row().hlo.name() || op->row().hlo.function()) << "no lowering";
    EXPECT_TRUE(op->row().batch) << "no batching; say no_operands if it has none";
    EXPECT_TRUE(op->row().vjp || op->row().linearize)
        << "no derivative; say no_gradient if there is none";
  }
}

TEST(Registry, NamesAreUnique) {
  std::set<std::string_view> names;
  for (const OpRules* op : all_ops()) EXPECT_TRUE(names.insert(op->name()).second) << op->name();
}

}  // namespace
}  // namespace axle
