#include "nn/tensor_tree.h"

#include <gtest/gtest.h>

#include "testing/op_test.h"

namespace axle {
namespace {

struct Inner {
  Tensor only;
  template <class F>
  void each_field(F&& fn) {
    fn("only", only);
  }
};
struct Outer {
  Tensor a;
  std::optional<Tensor> absent = {}, present = {};
  std::vector<Inner> list = {};
  Tree<Tensor> tree = {};
  template <class F>
  void each_field(F&& fn) {
    fn("a", a);
    fn("absent", absent);
    fn("present", present);
    fn("list", list);
    fn("", tree);  // its elements count as fields
  }
};

TEST(TensorTree, TensorsAreReadAndReplacedInOrder) {
  testing::run_all(
      [](const Values& x) {
        Outer value{.a = x[0],
                    .present = x[1],
                    .list = {{x[2]}, {x[3]}},
                    .tree = {{"k", x[4]}, {"l", x[5]}}};
        const Values all = tensors_of(value);
        EXPECT_EQ(all.size(), 6u);
        std::vector<std::string> names;
        for (const auto& [name, t] : named_tensors_of(value)) names.push_back(name);
        EXPECT_EQ(names, (std::vector<std::string>{"a", "present", "list/0/only", "list/1/only",
                                                   "k", "l"}));
        for (size_t i = 0; i < all.size(); ++i) EXPECT_TRUE(same(all[i], x[i])) << i;
        const Values turned(x.rbegin(), x.rend());
        auto at = turned.begin();
        replace_tensors(value, at);
        EXPECT_EQ(at, turned.end());
        EXPECT_TRUE(same(value.a, x[5]) && same(*value.present, x[4]) && !value.absent &&
                    same(value.list[1].only, x[2]) && same(value.tree.at("l"), x[0]));
        return x;
      },
      std::vector<HostTensor>(6));
}

}  // namespace
}  // namespace axle
