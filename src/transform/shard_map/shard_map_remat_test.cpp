// Remat policies of a remat around a shard_map decide about the values of its body.
#include <gmock/gmock.h>

#include "ir/text/text_form.h"
#include "ops/annotate.h"
#include "ops/collectives/collectives.h"
#include "ops/elementwise/elementwise.h"
#include "ops/products/products.h"
#include "ops/reductions/reductions.h"
#include "testing/collective_samples.h"
#include "testing/host_tensors.h"
#include "transform/control_flow/control_flow.h"
#include "transform/grad.h"
#include "transform/remat/remat.h"
#include "transform/shard_map/shard_map.h"
#include "transform/simplify.h"

namespace axle {
namespace {

using testing::normal_values;
using testing::over;

constexpr int64_t kRows = 4, kDim = 6, kHidden = 8, kLayers = 3;
const HostTensor kX = normal_values({kRows, kDim}, 1), kIn = normal_values({kDim, kHidden}, 2),
                 kOut = normal_values({kHidden, kDim}, 3);

// x + psum(o(tanh(q) * sin(q))) * c: a layer whose rows and whose hidden dim are divided. c is a
// scalar that differs on every device.
Values layer(const Values& v) {
  return shard_map(
      [](const Values& p) {
        const Tensor q = name(dot(p[0], p[1]), "q");
        const Tensor c = name(sin(sum(q)), "c");
        const Tensor h = tanh(q) * sin(q) * tanh(c);
        return Values{p[0] + psum(dot(h, p[2]), {"model"})};
      },
      v, over({{{"data"}}, {{kReplicated, "model"}}, {{"model"}}}, {{{"data"}}}));
}

using Wrap = std::function<Values(const TensorFunction&, const Values&)>;
Values plain(const TensorFunction& fn, const Values& v) { return fn(v); }
Wrap remats(const RematPolicy& policy) {
  return [=](const TensorFunction& fn, const Values& v) { return remat(fn, v, policy); };
}
TensorFunction wrapped(const Wrap& wrap, const TensorFunction& fn) {
  return [=](const Values& v) { return wrap(fn, v); };
}

// Returns the loss and the gradients.
TensorFunction gradient(const TensorFunction& fn) {
  return [fn](const Values& x) {
    auto [out, gradients] =
        value_and_grad([&](const Values& v) { return Values{sum(sin(fn(v)[0]))}; }, x);
    out.insert(out.end(), gradients.begin(), gradients.end());
    return out;
  };
}

// The loop over layers that all have the same weights.
TensorFunction layers(const Wrap& wrap) {
  return [wrap](const Values& v) {
    const auto step = [&](const Values& carry, const Values&) {
      return ScanResult{wrap(layer, {carry[0], v[1], v[2]}), {}};
    };
    return scan(step, {v[0]}, {}, kLayers).carry;
  };
}

std::shared_ptr<Region> step_of(const TensorFunction& fn) {
  return simplify(*trace(gradient(fn), {kX.type(), kIn.type(), kOut.type()}));
}

// What one shard_map of a program computes.
struct Part {
  int64_t dots, results;
  bool operator==(const Part&) const = default;
};
std::ostream& operator<<(std::ostream& out, const Part& p) {
  return out << p.dots << " dots, " << p.results << " results";
}

// Describes the shard_maps of a region, also those in the bodies of its ops.
std::vector<Part> parts(const Region& region) {
  std::vector<Part> out;
  for (const OpNode* op : region.ops()) {
    if (op->rules->name() == "shard_map") {
      out.push_back(
          {count_ops(op->region(), "dot_general"), static_cast<int64_t>(op->outputs.size())});
      continue;
    }
    for (const auto& inner : op->regions) {
      const auto own = parts(*inner);
      out.insert(out.end(), own.begin(), own.end());
    }
  }
  return out;
}

// The gradients of the layer's three arguments.
constexpr int64_t kGradients = 3;

TEST(ShardMapRemat, PoliciesDecideWhatLeavesTheBody) {
  using ::testing::ElementsAre;
  const auto with = [](const RematPolicy& policy) {
    return parts(*step_of(wrapped(remats(policy), layer)));
  };
  // q, its sine, tanh and sum, the tanh of c, two products.
  EXPECT_THAT(parts(*step_of(layer)), ElementsAre(Part{2, 8}, Part{4, kGradients}));
  // The second product is not recomputed: the backward pass does not read it.
  const auto nothing = with(save_nothing());
  ASSERT_EQ(nothing.size(), 3u);
  EXPECT_EQ(nothing[0], (Part{2, 1}));
  EXPECT_EQ(nothing[1].dots, 1);
  EXPECT_EQ(nothing[2], (Part{4, kGradients}));
  for (const RematPolicy& policy : {save_names({"q"}), save_dots(), save_matching({"q"}),
                                    offload_dots(), save_matching({}, {"q"})}) {
    SCOPED_TRACE(policy.text);
    const auto saved = with(policy);
    ASSERT_EQ(saved.size(), 3u);
    EXPECT_EQ(saved[0], (Part{2, 2}));
    EXPECT_EQ(saved[1].dots, 0);
    EXPECT_EQ(saved[2], (Part{4, kGradients}));
  }
  const auto both = with(save_names({"q", "c"}));
  EXPECT_EQ(both[0], (Part{2, 3}));
  EXPECT_THAT(with(save_everything()), ElementsAre(Part{2, 8}, Part{4, kGradients}));
}

// Of eight devices, each keeps its own part: [2, 2] of q, one number of c.
TEST(ShardMapRemat, ResidualsAreThePartsOfAllDevices) {
  const auto step = step_of(wrapped(remats(save_names({"q", "c"})), layer));
  const OpNode& forward = *std::ranges::find_if(
      step->ops(), [](const OpNode* op) { return op->rules->name() == "shard_map"; })[0];
  EXPECT_THAT(forward.outputs, ::testing::UnorderedElementsAre(
                                   kX.type(), Type{DType::kF32, {8 * kRows / 2, kHidden / 4}},
                                   Type{DType::kF32, {8}}));
}

TEST(ShardMapRemat, OffloadedValuesGoToTheHostAndBack) {
  const auto places = [](const RematPolicy& policy) {
    return count_ops(*step_of(wrapped(remats(policy), layer)), "place");
  };
  EXPECT_EQ(places(save_names({"q", "c"})), 0);
  EXPECT_EQ(places(save_names({"c"}, {"q"})), 2);
  EXPECT_EQ(places(save_names({}, {"q", "c"})), 4);
}

TEST(ShardMapRemat, PoliciesReachThroughLoops) {
  const auto dots = [](const TensorFunction& fn) { return count_ops(*step_of(fn), "dot_general"); };
  const auto inside = [](const RematPolicy& policy) { return layers(remats(policy)); };
  EXPECT_EQ(dots(inside(save_nothing())), 7);
  EXPECT_EQ(dots(inside(save_names({"q"}))), 6);
  // A loop that is recomputed needs both products for the next iteration.
  const auto around = [](const RematPolicy& policy) {
    return wrapped(remats(policy), layers(plain));
  };
  EXPECT_EQ(dots(around(save_nothing())), 8);
  EXPECT_EQ(dots(around(save_names({"q"}))), 7);
  EXPECT_EQ(dots(around(save_dots())), 6);
}

TEST(ShardMapRemat, GradientsAreTheSameToTheLastBit) {
  // A loop of layers on the devices, over axes of two shard_maps.
  const TensorFunction nested = [](const Values& v) {
    return shard_map(
        [](const Values& rows) {
          return shard_map(
              [](const Values& p) {
                const auto step = [&](const Values& carry, const Values&) {
                  const Tensor q = name(dot(carry[0], p[1]), "q");
                  const Tensor c = name(sin(sum(q)), "c");
                  const Tensor y = psum(dot(tanh(q) * sin(q) * c, p[2]), {"model"});
                  return ScanResult{{carry[0] + y}, {}};
                };
                return scan(step, {p[0]}, {}, kLayers).carry;
              },
              rows, over({{}, {{kReplicated, "model"}}, {{"model"}}}, {{}}, {"model"}));
        },
        v, over({{{"data"}}, {}, {}}, {{{"data"}}}, {"data"}));
  };
  const TensorFunction fns[] = {layer, layers(plain), nested};
  for (const TensorFunction& fn : fns) {
    const auto expected = eval(gradient(fn), {kX, kIn, kOut});
    for (const RematPolicy& policy :
         {save_nothing(), save_everything(), save_dots(), offload_dots(), save_names({"q"}),
          save_names({"c"}, {"q"}), save_matching({}, {"q|c"})}) {
      SCOPED_TRACE(policy.text);
      EXPECT_EQ(eval(gradient(wrapped(remats(policy), fn)), {kX, kIn, kOut}), expected);
    }
  }
  const auto expected = eval(gradient(layers(plain)), {kX, kIn, kOut});
  for (const RematPolicy& policy : {save_nothing(), save_names({"q"}), save_names({"c"}, {"q"})}) {
    SCOPED_TRACE(policy.text);
    const TensorFunction inner = layers(remats(policy));
    EXPECT_EQ(eval(gradient(inner), {kX, kIn, kOut}), expected);
    EXPECT_EQ(eval(gradient(wrapped(remats(save_names({"c"})), inner)), {kX, kIn, kOut}), expected);
  }
}

}  // namespace
}  // namespace axle
