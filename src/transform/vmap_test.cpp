// vmap computes what a loop over the examples computes: for every op, and for ops with a body.
#include "transform/vmap.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <set>

#include "ir/text/text_form.h"
#include "testing/body_samples.h"
#include "testing/collective_samples.h"
#include "testing/device_samples.h"
#include "testing/error_without_lines.h"
#include "testing/host_tensors.h"
#include "testing/op_samples.h"
#include "transform/call.h"
#include "transform/control_flow/control_flow.h"
#include "transform/grad.h"
#include "transform/remat/remat.h"

namespace axle {
namespace {

using testing::op_samples;
using testing::OpSample;
using testing::samples::uniform;

// Returns other values with the same range: the elements in reverse order; for one element, another
// number.
HostTensor variant(const HostTensor& x) {
  HostTensor out = x;
  dispatch_any(x.dtype(), [&]<class T>(std::type_identity<T>) {
    const auto v = out.values<T>();
    std::ranges::reverse(v);
    if (v.size() != 1) return;
    if constexpr (kIsComplex<T>)
      v[0] -= T(1, 1);
    else
      v[0] = convert_element<T>(x.dtype() == DType::kPred ? 1 - x.at(0) : x.at(0) - 1);
  });
  return out;
}

HostTensor stacked(const std::vector<HostTensor>& parts, const Type& type) {
  Shape shape = type.dims;
  shape.insert(shape.begin(), static_cast<int64_t>(parts.size()));
  HostTensor out(Type{type.dtype, shape});
  for (size_t i = 0; i < parts.size(); ++i)
    std::ranges::copy(parts[i].bytes(),
                      out.bytes().begin() + static_cast<int64_t>(i * type.num_bytes()));
  return out;
}

// Expects vmap(fn) to be the stacked results of fn, with the arguments in `batched` different for
// each of `size` examples.
void check_vmap(const TensorFunction& fn, const std::vector<HostTensor>& inputs,
                const std::vector<bool>& batched, size_t size) {
  std::vector<std::vector<HostTensor>> examples(size, inputs);
  std::vector<HostTensor> arguments = inputs;
  VmapOptions options{.axis_size = static_cast<int64_t>(size)};
  for (size_t i = 0; i < inputs.size(); ++i) {
    options.in_axes.push_back(batched[i] ? std::optional<int64_t>(0) : std::nullopt);
    if (!batched[i]) continue;
    std::vector<HostTensor> parts;
    for (size_t b = 0; b < size; ++b) {
      if (b % 2 == 1) examples[b][i] = variant(inputs[i]);
      parts.push_back(examples[b][i]);
    }
    arguments[i] = stacked(parts, inputs[i].type());
  }
  const auto actual = eval([&](const Values& v) { return vmap(fn, v, options); }, arguments);
  std::vector<std::vector<HostTensor>> expected;
  for (const auto& example : examples) expected.push_back(eval(fn, example));
  const auto one = eval(fn, inputs);
  ASSERT_EQ(actual.size(), one.size());
  for (size_t r = 0; r < one.size(); ++r) {
    std::vector<HostTensor> parts;
    for (const auto& results : expected) parts.push_back(results[r]);
    const HostTensor all = stacked(parts, one[r].type());
    ASSERT_EQ(actual[r].type(), all.type());
    testing::expect_near(actual[r], all, 1e-5);
  }
}

// For each operand, whether it is batched; every combination but that of none.
std::vector<std::vector<bool>> combinations(size_t count) {
  std::vector<std::vector<bool>> out;
  for (unsigned bits = 1; bits < 1u << count; ++bits) {
    out.emplace_back();
    for (size_t i = 0; i < count; ++i) out.back().push_back(bits >> i & 1);
  }
  return out;
}

TEST(Vmap, EveryOpEqualsALoop) {
  for (const OpSample& sample : op_samples()) {
    if (sample.op == "rng_bit_generator") continue;  // see the next test
    for (const std::vector<bool>& batched : combinations(sample.inputs.size())) {
      for (const size_t size : {0, 1, 3}) {
        SCOPED_TRACE(fmt::format("{}, batch of {}", sample.op, size));
        ASSERT_NO_FATAL_FAILURE(check_vmap(sample.fn, sample.inputs, batched, size));
      }
    }
  }
}

// The samples of ops with a body: of each op, of bodies within bodies, and of devices.
std::vector<OpSample> vmap_all_body_samples() {
  std::vector<OpSample> out = testing::body_samples();
  for (OpSample& sample : testing::device_samples()) out.push_back(std::move(sample));
  return out;
}

TEST(Vmap, EveryOpWithABodyEqualsALoop) {
  for (const OpSample& sample : vmap_all_body_samples()) {
    for (const std::vector<bool>& batched : combinations(sample.inputs.size())) {
      for (const size_t size : {0, 1, 3}) {
        SCOPED_TRACE(fmt::format("{}, batch of {}", sample.op, size));
        ASSERT_NO_FATAL_FAILURE(check_vmap(sample.fn, sample.inputs, batched, size));
      }
    }
  }
}

TEST(Vmap, EveryCollectiveEqualsALoop) {
  for (const testing::CollectiveSample& sample : testing::collectives()) {
    for (const size_t size : {0, 1, 3}) {
      SCOPED_TRACE(fmt::format("{}, batch of {}", sample.name, size));
      ASSERT_NO_FATAL_FAILURE(check_vmap(sample.on_devices, {uniform({8, 4})}, {true}, size));
    }
  }
}

// The platform's generator takes one key, so the first key of a batch draws for all examples.
TEST(Vmap, RandomBitsOfThePlatformUseTheFirstKey) {
  for (const int64_t size : {0, 1, 3}) {
    HostTensor keys(Type{DType::kU32, {size, 4}});
    uint32_t next = 7;
    for (uint32_t& word : keys.values<uint32_t>()) word = ++next;
    const auto bits = eval(
        [](const Values& v) {
          return vmap([](const Values& k) { return Values{rng_bit_generator(k[0], {2, 3})}; }, v);
        },
        {keys});
    EXPECT_EQ(bits[0].shape(), Shape({size, 2, 3}));
    if (size == 0) continue;
    const auto expected = eval(
        [&](const Values& v) {
          return Values{rng_bit_generator(v[0], {size, 2, 3})};
        },
        {HostTensor({4}, {8u, 9u, 10u, 11u})});
    EXPECT_EQ(bits[0], expected[0]);
  }
}

// The gradients of all arguments that have one, for cotangents of 0.5.
TensorFunction pulled_back(const TensorFunction& fn) {
  return [fn](const Values& v) {
    const Linearized f = vjp(fn, v);
    Values cotangents;
    for (const Tensor& y : f.outputs)
      cotangents.push_back(is_differentiable(y.dtype()) ? full_like(y, 0.5) : Tensor());
    Values out;
    const Values of_inputs = f.pullback(cotangents);
    for (const Tensor& g : of_inputs) {
      if (g) out.push_back(g);
    }
    return out;
  };
}

TEST(Vmap, GradientsOfEveryOpEqualThoseOfALoop) {
  for (const OpSample& sample : op_samples()) {
    std::vector<bool> all(sample.inputs.size(), true);
    const auto has_gradient = [](const HostTensor& x) { return is_differentiable(x.dtype()); };
    if (!std::ranges::any_of(sample.inputs, has_gradient)) continue;
    SCOPED_TRACE(std::string(sample.op));
    ASSERT_NO_FATAL_FAILURE(check_vmap(pulled_back(sample.fn), sample.inputs, all, 2));
  }
}

TEST(WeeklyVmap, GradientsOfEveryOpWithABodyEqualThoseOfALoop) {
  for (const OpSample& sample : vmap_all_body_samples()) {
    if (sample.op == "while") continue;  // it has no reverse mode
    const TensorFunction once = pulled_back(sample.fn);
    for (const TensorFunction& gradients : {once, pulled_back(once)}) {
      for (const std::vector<bool>& batched : combinations(sample.inputs.size())) {
        for (const size_t size : {0, 1, 3}) {
          SCOPED_TRACE(fmt::format("{}, batch of {}", sample.op, size));
          ASSERT_NO_FATAL_FAILURE(check_vmap(gradients, sample.inputs, batched, size));
        }
      }
    }
  }
}

Tensor layer(const Tensor& x, const Tensor& w) { return name(tanh(dot(x, w)), "hidden"); }

ScanResult layer_step(const Values& carry, const Values& xs) {
  const Tensor h = layer(carry[0], xs[0]);
  return {{h, carry[1] + 1}, {sum(h) + carry[1], xs[1]}};
}

// A loop of layers. The second carry depends on no argument, the second ys only on the last one.
Values layers(const Values& a) {
  const ScanResult r = scan(layer_step, {a[0], scalar(0, DType::kF32)}, {a[1], a[2]}, 3);
  return {r.carry[0], r.carry[1], r.ys[0], r.ys[1]};
}

const std::vector<HostTensor> kInputs = {uniform({4}), uniform({3, 4, 4}, -1, 1, 2),
                                         uniform({3, 2})};

TEST(Vmap, AScanEqualsALoop) {
  for (const auto& batched : combinations(3)) {
    ASSERT_NO_FATAL_FAILURE(check_vmap(layers, kInputs, batched, 2));
    ASSERT_NO_FATAL_FAILURE(check_vmap(layers, kInputs, batched, 0));
  }
}

// A carry that the first iteration does not batch, but the second.
TEST(Vmap, AScanFindsCarriesThatBecomeBatched) {
  const TensorFunction rotate = [](const Values& a) {
    return scan(
               [](const Values& c, const Values&) {
                 return ScanResult{{c[1], c[2] * 2, c[2]}, {}};
               },
               {a[0], a[0], a[1]}, {}, 3)
        .carry;
  };
  check_vmap(rotate, {uniform({2}), uniform({2}, -1, 1, 3)}, {false, true}, 2);
}

TEST(Vmap, LeavesWhatIsNotBatchedAlone) {
  const auto region = trace(
      [](const Values& v) {
        return vmap(layers, v, {.in_axes = {std::nullopt, std::nullopt, 1}});
      },
      {{DType::kF32, {4}}, {DType::kF32, {3, 4, 4}}, {DType::kF32, {3, 5, 2}}});
  for (const OpNode* op : region->ops()) {
    if (op->rules->name() != "scan") continue;
    EXPECT_EQ(op->outputs[0].dims, Shape({4}));
  }
}

Values gradients_of(const TensorFunction& fn, const Values& x) {
  return value_and_grad([&](const Values& v) { return Values{sum(fn(v)[0])}; }, x).second;
}

TEST(Vmap, RematAndCallsEqualALoop) {
  const TensorFunction body = [](const Values& v) {
    return Values{layer(layer(v[0], v[1]), v[1])};
  };
  const TensorFunction functions[] = {
      [&](const Values& v) { return remat(body, v, save_names({"hidden"})); },
      [&](const Values& v) { return remat(body, v, save_nothing()); },
      [&](const Values& v) { return call("layers", body, v); }};
  for (const TensorFunction& fn : functions) {
    const std::vector<HostTensor> x = {uniform({4}), uniform({4, 4}, -1, 1, 2)};
    for (const auto& batched : combinations(2)) {
      ASSERT_NO_FATAL_FAILURE(check_vmap(fn, x, batched, 2));
      ASSERT_NO_FATAL_FAILURE(
          check_vmap([&](const Values& v) { return gradients_of(fn, v); }, x, batched, 2));
    }
  }
}

// The gradient of a sum over examples is the sum of their gradients, also for an argument that all
// share.
TEST(Vmap, GradientsEqualThoseOfALoop) {
  const std::vector<HostTensor> x = {uniform({3, 4}), uniform({4, 4}, -1, 1, 2)};
  const auto one = [](const Tensor& row, const Tensor& w) { return sum(layer(row, w)); };
  const auto together = [&](const Values& v) {
    return vmap([&](const Values& a) { return Values{one(a[0], a[1])}; }, v,
                {.in_axes = {0, std::nullopt}});
  };
  const auto looped = [&](const Values& v) {
    Values losses;
    for (int64_t i = 0; i < 3; ++i) losses.push_back(one(index_in_dim(v[0], 0, i), v[1]));
    return Values{stack(losses)};
  };
  const auto a = eval([&](const Values& v) { return gradients_of(together, v); }, x);
  const auto b = eval([&](const Values& v) { return gradients_of(looped, v); }, x);
  for (size_t i = 0; i < a.size(); ++i) testing::expect_near(a[i], b[i], 1e-6);
}

// f(x, w) = x * w with three times the gradient.
Values tripled(const Values& v) {
  return custom_vjp({.name = "tripled",
                     .forward =
                         [](const Values& x) {
                           return WithResiduals{{x[0] * x[1]}, {x[0], x[1]}};
                         },
                     .backward =
                         [](const Values& residuals, const Values& g) {
                           return Values{g[0] * residuals[1] * 3, g[0] * residuals[0] * 3};
                         }},
                    v);
}

TEST(Vmap, ACustomGradientEqualsALoop) {
  const std::vector<HostTensor> x = {uniform({4}), uniform({4}, -1, 1, 2)};
  for (const auto& batched : combinations(2)) {
    ASSERT_NO_FATAL_FAILURE(check_vmap(tripled, x, batched, 2));
    ASSERT_NO_FATAL_FAILURE(
        check_vmap([](const Values& v) { return gradients_of(tripled, v); }, x, batched, 2));
  }
}

TEST(Vmap, ADifferentiatedBatchUsesTheCustomGradient) {
  const auto gradients = eval(
      [](const Values& v) {
        return gradients_of(
            [](const Values& a) {
              return vmap(tripled, a, {.in_axes = {0, std::nullopt}});
            },
            v);
      },
      {HostTensor({2, 1}, {2.f, 5.f}), HostTensor({1}, {7.f})});
  EXPECT_EQ(gradients[0], HostTensor({2, 1}, {21.f, 21.f}));
  EXPECT_EQ(gradients[1], HostTensor({1}, {21.f}));
}

TEST(Vmap, Nests) {
  const auto outer = [](const Values& v) {
    return vmap(
        [](const Values& rows) {
          return vmap([&](const Values& columns) { return Values{rows[0] * columns[0]}; },
                      {rows[1]});
        },
        v, {.in_axes = {0, std::nullopt}, .out_axes = {1}});
  };
  EXPECT_EQ(eval(outer, {HostTensor({2}, {1.f, 2.f}), HostTensor({3}, {1.f, 10.f, 100.f})})[0],
            HostTensor({3, 2}, {1.f, 2.f, 10.f, 20.f, 100.f, 200.f}));
}

TEST(Vmap, AnyAxisIsMappedAndReturned) {
  const HostTensor x({2, 3}, {1.f, 2.f, 3.f, 4.f, 5.f, 6.f});
  const auto y = eval(
      [](const Values& v) {
        return vmap([](const Values& a) { return Values{cumsum(a[0], 0)}; }, v,
                    {.in_axes = {-1}, .out_axes = {-1}});
      },
      {x});
  EXPECT_EQ(y[0], HostTensor({2, 3}, {1.f, 2.f, 3.f, 5.f, 7.f, 9.f}));
}

TEST(Vmap, AnOutputThatIsTheSameForAllMayStaySo) {
  const auto y = eval(
      [](const Values& v) {
        const auto fn = [](const Values& a) { return Values{a[0], a[1] + 1}; };
        return vmap(fn, v, {.in_axes = {0, std::nullopt}, .out_axes = {0, std::nullopt}});
      },
      {uniform({3}), HostTensor({2}, {1.f, 2.f})});
  EXPECT_EQ(y[1], HostTensor({2}, {2.f, 3.f}));
}

std::string constraint_text(const DimAxes& mesh_axes) {
  const auto region = trace(
      [&](const Values& v) {
        return vmap([](const Values& a) { return Values{sharding_constraint(a[0], {{"model"}})}; },
                    v, {.mesh_axes = mesh_axes});
      },
      {{DType::kF32, {2, 4}}});
  return print(*region);
}

TEST(Vmap, ShardingConstraintsGetTheMeshAxesOfTheBatch) {
  EXPECT_THAT(constraint_text({}), ::testing::HasSubstr("spec = [?, model]"));
  EXPECT_THAT(constraint_text({"pipeline"}), ::testing::HasSubstr("spec = [pipeline, model]"));
  EXPECT_EQ(error_without_lines<ShapeError>([] { constraint_text({"model"}); }),
            "the top level: sharding_constraint: expected a mesh axis for the batch that the "
            "constraint does not name, got 'model'; operands: f32[4] of the top level "
            "(parameter)");
}

TEST(Vmap, SaysWhatDoesNotFit) {
  const auto error = [](const std::vector<Type>& types, const VmapOptions& options) {
    return error_without_lines<ShapeError>([&] {
      trace([&](const Values& v) { return vmap([](const Values& a) { return a; }, v, options); },
            types);
    });
  };
  const Type two{DType::kF32, {2}}, three{DType::kF32, {3}};
  EXPECT_EQ(error({two, three}, {}),
            "the top level: vmap: expected batches of one size, got 2 and 3; operands: f32[2] of "
            "the top level (parameter), f32[3] of the top level (parameter)");
  EXPECT_EQ(error({two}, {.in_axes = {std::nullopt}}),
            "the top level: vmap: expected axis_size where no argument has a batch dim");
  EXPECT_EQ(error({two}, {.in_axes = {1}}),
            "the top level: vmap: expected an axis of 1 dims, got 1; operands: f32[2] of the top "
            "level (parameter)");
  EXPECT_EQ(error({two}, {.in_axes = {0, 0}}),
            "the top level: vmap: expected in_axes for 1 values, got 2; operands: f32[2] of the "
            "top level (parameter)");
  EXPECT_EQ(error({two}, {.out_axes = {std::nullopt}}),
            "the top level: vmap: expected output 0 to be the same for all examples, got one that "
            "differs; give it an out_axis; operands: f32[2] of the top level (parameter)");
}

}  // namespace
}  // namespace axle
