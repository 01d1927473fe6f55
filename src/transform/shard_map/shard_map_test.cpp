// shard_map on simulated devices: what the devices compute together is what one device computes.
#include "transform/shard_map/shard_map.h"

#include <gmock/gmock.h>

#include "ir/text/text_form.h"
#include "ops/collectives/collective.h"
#include "ops/collectives/collectives.h"
#include "ops/create.h"
#include "ops/elementwise/elementwise.h"
#include "ops/movement/movement.h"
#include "ops/products/products.h"
#include "ops/reductions/reductions.h"
#include "testing/collective_samples.h"
#include "testing/error_of.h"
#include "testing/error_without_lines.h"
#include "testing/gradient_check.h"
#include "testing/host_tensors.h"
#include "transform/control_flow/control_flow.h"
#include "transform/grad.h"
#include "transform/vmap.h"

namespace axle {
namespace {

using testing::expect_near;
using testing::normal_values;

using testing::collectives;
using testing::CollectiveSample;
using testing::kMesh;
using testing::over;

// x[B, K] w[K, N] with K divided over "model" and B over "data".
Values divided_product(const Values& v) {
  return shard_map(
      [](const Values& parts) { return Values{psum(dot(parts[0], parts[1]), {"model"})}; }, v,
      over({{{"data", "model"}}, {{"model"}}}, {{{"data"}}}));
}

const HostTensor kShardMapX = normal_values({4, 8}, 1), kW = normal_values({8, 3}, 2);

TEST(ShardMap, AProductOfPartsIsTheProduct) {
  const auto actual = eval(divided_product, {kShardMapX, kW});
  const auto expected =
      eval([](const Values& v) { return Values{dot(v[0], v[1])}; }, {kShardMapX, kW});
  ASSERT_EQ(actual[0].type(), expected[0].type());
  expect_near(actual[0], expected[0], 1e-5);
}

TEST(ShardMap, ItsGradientsAreThoseOfTheProduct) {
  testing::check_gradients(divided_product, {kShardMapX, kW});
}

TEST(ShardMap, CollectivesMeanWhatTheySay) {
  const HostTensor x = normal_values({8, 4}, 3);
  for (const CollectiveSample& c : collectives()) {
    SCOPED_TRACE(c.name);
    expect_near(eval(c.on_devices, {x})[0], eval(c.on_one, {x})[0], 1e-6);
  }
}

TEST(ShardMap, CollectivesUnderVmapAreALoop) {
  const HostTensor x = normal_values({3, 8, 4}, 4);
  for (const CollectiveSample& c : collectives()) {
    SCOPED_TRACE(c.name);
    const auto both = [&](const TensorFunction& fn) {
      return eval([&](const Values& v) { return vmap(fn, v); }, {x})[0];
    };
    expect_near(both(c.on_devices), both(c.on_one), 1e-6);
  }
}

TEST(ShardMap, TheBatchOfAVmapIsDividedOverItsMeshAxes) {
  const HostTensor x = normal_values({6, 8}, 5);
  const auto expected = eval(
      [](const Values& v) {
        const Values p = split(v[0] * v[0], {2, 2, 2, 2}, 1);
        return Values{p[0] + p[1] + p[2] + p[3]};
      },
      {x});
  expect_near(eval(testing::divided_batch, {x})[0], expected[0], 1e-6);
  const auto region = trace(testing::divided_batch, {x.type()});
  EXPECT_THAT(print(*region), ::testing::HasSubstr("in = [data, model]"));
}

// Collectives in loops, branches and with captured tensors.
TEST(ShardMap, WorksWithOpsThatHaveABody) {
  const auto fn = [](const Values& v) {
    const Tensor outer = v[1];
    return shard_map(
        [&](const Values& parts) {
          const auto step = [&](const Values& c, const Values& i) {
            const Tensor mixed =
                ppermute(c[0] * outer, {"model"}, {{0, 1}, {1, 2}, {2, 3}, {3, 0}});
            const Values next = cond(
                i[0] < 2, [](const Values& a) { return Values{sin(a[0])}; },
                [](const Values& a) { return Values{a[0] * 2}; }, {mixed});
            return ScanResult{next, {psum(sum(next[0]), {"model"})}};
          };
          const ScanResult r = scan(step, {parts[0]}, {iota({3}, 0)}, 3);
          return Values{r.carry[0], r.ys[0]};
        },
        {v[0]}, over({{{"model"}}}, {{{"model"}}, {}}));
  };
  const std::vector<HostTensor> x = {normal_values({8}, 6), HostTensor({2}, {0.5f, 1.5f})};
  const auto expected = eval(
      [](const Values& v) {
        const Tensor outer = tile(v[1], {4});
        Values sums;
        Tensor c = v[0];
        for (int i = 0; i < 3; ++i) {
          const Tensor scaled = c * outer;
          c = concatenate({slice_in_dim(scaled, 0, 6, 8), slice_in_dim(scaled, 0, 0, 6)}, 0);
          c = i < 2 ? sin(c) : c * 2;
          sums.push_back(sum(c));
        }
        return Values{c, stack(sums)};
      },
      x);
  const auto actual = eval(fn, x);
  expect_near(actual[0], expected[0], 1e-5);
  expect_near(actual[1], expected[1], 1e-5);
  testing::check_gradients(fn, x);
}

TEST(ShardMap, NestsOverOtherAxes) {
  const auto fn = [](const Values& v) {
    return shard_map(
        [](const Values& outer) {
          return shard_map(
              [](const Values& inner) { return Values{psum(psum(inner[0], {"model"}), {"data"})}; },
              outer, over({{{"model"}}}, {{}}, {"model"}));
        },
        v, over({{{kReplicated, "data"}}}, {{}}, {"data"}));
  };
  const HostTensor x = normal_values({8, 4}, 7);
  const auto expected = eval(
      [](const Values& v) {
        const auto added = [](const Values& p) {
          Tensor s = p[0];
          for (size_t i = 1; i < p.size(); ++i) s = s + p[i];
          return s;
        };
        return Values{added(split(added(split(v[0], {2, 2, 2, 2}, 0)), {2, 2}, 1))};
      },
      {x});
  expect_near(eval(fn, {x})[0], expected[0], 1e-5);
}

// A device that waits at a collective must not take another one for gone that just leaves a nested
// shard_map. Many turns, since only some of them meet at that moment.
TEST(ShardMap, DevicesWaitForThoseInANestedOne) {
  const auto fn = [](const Values& v) {
    return shard_map(
        [](const Values& outer) {
          const auto step = [&](const Values& c, const Values&) {
            const Tensor own = shard_map([](const Values& p) { return Values{p[0] + 1}; }, c,
                                         over({{{"model"}}}, {{{"model"}}}, {"model"}))[0];
            return ScanResult{{pmax(own, {"data"})}, {}};
          };
          return scan(step, outer, {}, 100).carry;
        },
        v, over({{}}, {{}}, {"data"}));
  };
  EXPECT_EQ(eval(fn, {HostTensor({4}, {0.f, 1.f, 2.f, 3.f})})[0],
            HostTensor({4}, {100.f, 101.f, 102.f, 103.f}));
}

TEST(ShardMap, OnOneDeviceIsTheFunction) {
  const auto region = trace(
      [](const Values& v) {
        return shard_map(
            [](const Values& p) {
              return Values{psum(all_gather(p[0], {"data"}, 0), {"data"}) +
                            astype(axis_index({"data"}), DType::kF32)};
            },
            v, {.mesh = {{{"data", 1}}}, .in_specs = {{{"data"}}}, .out_specs = {{}}});
      },
      {{DType::kF32, {4}}});
  EXPECT_EQ(count_ops(*region, "shard_map") + count_ops(*region, "psum"), 0);
}

// A shard_map is differentiated outside of its body, where no axis is manual any more; on one
// device nothing is left of it.
TEST(ShardMap, RulesOfCustomVjpMayCallCollectives) {
  const auto of_device = [] { return astype(axis_index({"data", "model"}), DType::kF32) + 1; };
  const auto product = [=](const Tensor& x) { return psum(x * of_device(), {"model"}); };
  const CustomVjp rule{
      .name = "product",
      .forward =
          [=](const Values& x) {
            return WithResiduals{{product(x[0])}, {}};
          },
      .backward = [=](const Values&,
                      const Values& g) { return Values{psum(g[0], {"model"}) * of_device()}; }};
  const HostTensor x = normal_values({3, 8, 4}, 8);
  for (const Mesh& mesh : {kMesh, Mesh{{{"data", 1}, {"model", 1}}}}) {
    const auto mapped = [&](const TensorFunction& body) {
      return [=](const Values& v) {
        ShardMapOptions options = over({PartitionSpec{{DimAxes("model"), DimAxes("data")}}},
                                       {PartitionSpec{{kReplicated, "data"}}});
        options.mesh = mesh;
        return shard_map(body, v, options);
      };
    };
    const auto gradient = [](const TensorFunction& fn, const Values& v) {
      const auto loss = [&](const Values& a) {
        const Tensor y = fn(a)[0];
        return Values{sum(y * y)};
      };
      return value_and_grad(loss, v).second;
    };
    const auto gradients = [&](const TensorFunction& body) {
      const TensorFunction fn = mapped(body);
      return eval(
          [&](const Values& v) {
            Values out = gradient(fn, {index_in_dim(v[0], 0, 1)});
            out.push_back(vmap([&](const Values& a) { return gradient(fn, a); }, v)[0]);
            return out;
          },
          {x});
    };
    const auto own = gradients([&](const Values& p) { return custom_vjp(rule, p); });
    const auto expected = gradients([&](const Values& p) { return Values{product(p[0])}; });
    for (size_t i = 0; i < expected.size(); ++i) expect_near(own[i], expected[i], 1e-5);
  }
}

TEST(ShardMap, DevicesThatMeetInDifferentCollectivesAreReported) {
  const auto fn = [](const Values& v) {
    return shard_map(
        [](const Values& p) {
          // Each device loops as often as its own number says.
          const auto goes_on = [&](const Values& c) { return c[0] < sum(p[0]); };
          const auto step = [](const Values& c) {
            return Values{c[0] + pmax(c[0] * 0 + 1, {"model"})};
          };
          return while_loop(goes_on, step, {scalar(0)});
        },
        v, over({{{"model"}}}, {{}}, {"model"}));
  };
  EXPECT_THAT(
      error_of<InternalError>([&] {
        eval(fn, {HostTensor({4}, {1.f, 2.f, 1.f, 1.f})});
      }),
      ::testing::HasSubstr("expected 4 simulated devices at the collective over model, got 1; "
                           "all devices must compute the same collectives in the same order"));
}

// The first device along "model" takes one branch, the others take the other.
TEST(ShardMap, DevicesInDifferentCollectivesOfOneGroupAreReported) {
  const auto error = [](const TensorFunction& of_first, const TensorFunction& of_others) {
    return error_of<InternalError>([&] {
      eval(
          [&](const Values& v) {
            return shard_map(
                [&](const Values& p) {
                  return cond(sum(axis_index({"model"})) < 1, of_first, of_others, p);
                },
                v, over({{}}, {{}}, {"model"}));
          },
          {HostTensor({4}, {1.f, 2.f, 3.f, 4.f})});
    });
  };
  const auto added = [](const Values& v) { return Values{psum(v[0], {"model"})}; };
  const auto largest = [](const Values& v) { return Values{pmax(v[0], {"model"})}; };
  const auto of_two = [](const Values& v) {
    return Values{tile(psum(slice_in_dim(v[0], 0, 0, 2), {"model"}), {2})};
  };
  using ::testing::AllOf, ::testing::HasSubstr;
  EXPECT_THAT(error(added, largest),
              AllOf(HasSubstr("expected one collective over model"), HasSubstr("psum f32[4]"),
                    HasSubstr("pmax f32[4]"),
                    HasSubstr("all devices must compute the same collectives in the same order")));
  EXPECT_THAT(error(added, of_two), AllOf(HasSubstr("psum f32[4]"), HasSubstr("psum f32[2]")));
}

TEST(ShardMap, CollectivesWithoutTheirMeshNameTheLayer) {
  const NameScope layer("decoder");
  EXPECT_THAT(error_of<ShapeError>([] {
                device_groups({{"data", 2}}, {{{"model", 4}}});
              }),
              ::testing::MatchesRegex("decoder: collective.*: expected a program over a mesh with "
                                      "data=2, got 'model=4'"));
}

TEST(ShardMap, TheMeshAxesOfABatchDivideIt) {
  const auto fn = [](const Values& v) {
    return vmap(
        [](const Values& a) {
          return shard_map([](const Values& p) { return p; }, a,
                           over({{{"model"}}}, {{{"model"}}}));
        },
        v, {.mesh_axes = {"data"}});
  };
  EXPECT_THAT(error_of<ShapeError>([&] {
                trace(fn, {{DType::kF32, {3, 8}}});
              }),
              ::testing::HasSubstr("expected a batch that its mesh axes divide, got a batch of 3 "
                                   "over data=2"));
}

TEST(ShardMap, SaysWhatDoesNotFit) {
  const auto error = [](const TensorFunction& fn, const ShardMapOptions& options) {
    return error_without_lines<ShapeError>([&] {
      trace([&](const Values& v) { return shard_map(fn, v, options); }, {{DType::kF32, {6}}});
    });
  };
  const auto same = [](const Values& v) { return v; };
  EXPECT_EQ(
      error(same, over({{{"model"}}}, {{}})),
      "the top level: shard_map: argument 0 [6]: dim 0 must be divisible by its mesh axes, got 6 "
      "over model=4 = 4 parts; it divides into 1, 2, 3");
  EXPECT_EQ(
      error(same, over({{{"pipeline"}}}, {{}})),
      "the top level: shard_map: expected manual axes (data=2,model=4) in the spec of argument "
      "0, got 'pipeline'");
  EXPECT_EQ(error(same, over({}, {{}})),
            "the top level: shard_map: expected a spec for each of 1 arguments, got 0; operands: "
            "f32[6] of the top level (parameter)");
  EXPECT_EQ(error(same, over({{{"data"}}}, {})),
            "the top level: shard_map: expected a spec for each of 1 outputs, got 0; operands: "
            "f32[3] of the top level (parameter)");
  EXPECT_EQ(error([](const Values& v) { return Values{psum(v[0], {"rows"})}; }, over({{}}, {{}})),
            "the top level: psum: expected an axis that an enclosing shard_map makes manual (data, "
            "model), got 'rows'; call it inside shard_map over this axis; operands: f32[6] of the "
            "top level (parameter)");
  EXPECT_EQ(
      error_without_lines<ShapeError>([] {
        trace([](const Values& v) { return Values{psum(v[0], {"data"})}; }, {{DType::kF32, {6}}});
      }),
      "the top level: psum: expected an axis that an enclosing shard_map makes manual (there is "
      "none), got 'data'; call it inside shard_map over this axis; operands: f32[6] of the top "
      "level (parameter)");
}

}  // namespace
}  // namespace axle
