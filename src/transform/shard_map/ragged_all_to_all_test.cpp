// ragged_all_to_all on simulated devices: its edges. collective_samples.h has what it means.
#include <gmock/gmock.h>

#include "ops/collectives/collectives.h"
#include "testing/collective_samples.h"
#include "testing/error_of.h"
#include "testing/gradient_check.h"
#include "transform/vmap.h"

namespace axle {
namespace {

using ::testing::HasSubstr;
using testing::kMesh;
using testing::normal_values;
using testing::over;

// Every device sends `size` rows from `from` to the next device along "data", which puts them at
// `to`. v: x[4, 3] divided over "data", then from[], size[] and to[].
Values to_next(const Values& v) {
  const auto body = [](const Values& p) {
    const Tensor next = 1 - axis_index({"data"});
    const Tensor is_next = astype(equal(iota({2}, 0), next), DType::kI32);
    const auto for_next = [&](const Tensor& entry) { return is_next * entry; };
    return Values{ragged_all_to_all(
        p[0], p[0] * 2, {for_next(p[1]), for_next(p[2]), for_next(p[3]), for_next(p[2])},
        {"data"})};
  };
  return shard_map(body, v, over({{{"data"}}, {}, {}, {}}, {{{"data"}}}));
}

HostTensor number(int32_t value) { return HostTensor::scalar(value); }

TEST(RaggedAllToAll, RowsOfOneDeviceReplaceThoseOfAnother) {
  const HostTensor x({4, 1}, {1.0f, 2.0f, 3.0f, 4.0f});
  EXPECT_EQ(eval(to_next, {x, number(1), number(1), number(0)}).at(0),
            HostTensor({4, 1}, {4.0f, 4.0f, 2.0f, 8.0f}));
  EXPECT_EQ(eval(to_next, {x, number(0), number(2), number(0)}).at(0),
            HostTensor({4, 1}, {3.0f, 4.0f, 1.0f, 2.0f}));
  EXPECT_EQ(eval(to_next, {x, number(0), number(0), number(0)}).at(0),
            HostTensor({4, 1}, {2.0f, 4.0f, 6.0f, 8.0f}));
}

TEST(RaggedAllToAll, GradientsGoBackAlongTheSlices) {
  testing::check_gradients(to_next, {normal_values({4, 3}, 1), number(1), number(1), number(0)});
}

TEST(RaggedAllToAll, ExamplesOfABatchMayHaveSlicesOfTheirOwn) {
  const HostTensor x = normal_values({3, 4, 3}, 2), from({3}, {0, 1, 0}), size({3}, {1, 1, 2}),
                   to({3}, {1, 1, 0});
  const auto looped = [](const Values& v) {
    Values out;
    for (int64_t i = 0; i < 3; ++i) {
      out.push_back(to_next({index_in_dim(v[0], 0, i), index_in_dim(v[1], 0, i),
                             index_in_dim(v[2], 0, i), index_in_dim(v[3], 0, i)})[0]);
    }
    return Values{stack(out)};
  };
  const auto of_batch = [](const Values& v) { return vmap(to_next, v); };
  EXPECT_EQ(eval(of_batch, {x, from, size, to}), eval(looped, {x, from, size, to}));
}

TEST(RaggedAllToAll, OnOneDeviceItMovesRows) {
  const auto fn = [](const Values& v) {
    const auto body = [](const Values& p) {
      const auto entry = [](int32_t value) { return constant(HostTensor({1}, {value})); };
      return Values{
          ragged_all_to_all(p[0], p[1], {entry(1), entry(2), entry(0), entry(2)}, {"alone"})};
    };
    return shard_map(body, v, {.mesh = {{{"alone", 1}}}, .in_specs = {{}, {}}, .out_specs = {{}}});
  };
  EXPECT_EQ(
      eval(fn, {HostTensor({3}, {1.0f, 2.0f, 3.0f}), HostTensor({4}, {5.0f, 6.0f, 7.0f, 8.0f})})
          .at(0),
      HostTensor({4}, {2.0f, 3.0f, 7.0f, 8.0f}));
}

TEST(RaggedAllToAll, SaysWhatDoesNotFit) {
  const HostTensor x = normal_values({4, 3}, 1);
  EXPECT_THAT(error_of<ShapeError>([&] {
                eval(to_next, {x, number(1), number(2), number(0)});
              }),
              HasSubstr("expected slices within the tensors, got 2 rows from 1 to 0"));
  const auto with_types = [](const Type& output, const Type& entries) {
    trace(
        [](const Values& v) {
          return shard_map(
              [](const Values& p) {
                return Values{ragged_all_to_all(p[0], p[1], {p[2], p[2], p[2], p[2]}, {"data"})};
              },
              v, over({{}, {}, {}}, {{}}));
        },
        {{DType::kF32, {4, 3}}, output, entries});
  };
  const Type pair{DType::kI32, {2}};
  EXPECT_THAT(error_of<ShapeError>([&] {
                with_types({DType::kF32, {4, 2}}, pair);
              }),
              HasSubstr("expected an operand and an output that differ in dim 0 alone"));
  EXPECT_THAT(error_of<ShapeError>([&] {
                with_types({DType::kF32, {5, 3}}, {DType::kI32, {3}});
              }),
              HasSubstr("expected offsets and sizes of one integer dtype with 2 entries"));
  EXPECT_THAT(error_of<ShapeError>([&] {
                with_types({DType::kF32, {5, 3}}, {DType::kF32, {2}});
              }),
              HasSubstr("expected offsets and sizes of one integer dtype with 2 entries"));
}

}  // namespace
}  // namespace axle
