// Compares every op with JAX: results, vjps for given cotangents, and values at special points.
#include <gmock/gmock.h>

#include <set>

#include "io/safetensors.h"
#include "ops/movement/movement.h"
#include "ops/products/products.h"
#include "testing/checkout.h"
#include "testing/gradient_check.h"
#include "testing/host_tensors.h"
#include "testing/op_samples.h"
#include "transform/control_flow/control_flow.h"

namespace axle {
namespace {

using testing::largest_element;
using testing::samples::Binary;
using testing::samples::Unary;

enum class Agreement { kClose, kExact };
struct Case {
  TensorFunction fn;
  Agreement agreement = Agreement::kClose;
};
constexpr Agreement kExact = Agreement::kExact;

Case one(Unary f, Agreement agreement = Agreement::kClose) {
  return {[f](const Values& x) { return Values{f(x[0])}; }, agreement};
}
Case two(Binary f, Agreement agreement = Agreement::kClose) {
  return {[f](const Values& x) { return Values{f(x[0], x[1])}; }, agreement};
}
Case call(std::function<Tensor(const Values&)> f, Agreement agreement = Agreement::kClose) {
  return {[f](const Values& x) { return Values{f(x)}; }, agreement};
}

void add_elementwise(Tree<Case>& c) {
  c = {{"neg", one(operator-, kExact)},
       {"abs", one(abs, kExact)},
       {"sign", one(sign, kExact)},
       {"floor", one(floor, kExact)},
       {"ceil", one(ceil, kExact)},
       {"is_finite", one(is_finite, kExact)},
       {"square", one(square)},
       {"exp", one(exp)},
       {"exp2", one(exp2)},
       {"expm1", one(expm1)},
       {"log", one(log)},
       {"log1p", one(log1p)},
       {"sqrt", one(sqrt)},
       {"rsqrt", one(rsqrt)},
       {"cbrt", one(cbrt)},
       {"sin", one(sin)},
       {"cos", one(cos)},
       {"tan", one(tan)},
       {"tanh", one(tanh)},
       {"logistic", one(logistic)},
       {"erf", one(erf)},
       {"erfc", one(erfc)},
       {"erf_inv", one(erf_inv)},
       {"gelu_tanh", one(gelu)},
       {"gelu_exact", one(exact_gelu)},
       {"silu", one(silu)},
       {"softplus", one(softplus)},
       {"add", two(operator+, kExact)},
       {"sub", two(operator-, kExact)},
       {"mul", two(operator*, kExact)},
       {"div", two(operator/)},
       {"max", two(maximum, kExact)},
       {"min", two(minimum, kExact)},
       {"atan2", two(atan2)},
       {"rem", two(remainder)},
       {"pow", two(pow)},
       {"logaddexp", two(logaddexp)},
       {"int_div", two(operator/, kExact)},
       {"int_rem", two(remainder, kExact)}};
  c["round_even"] = call([](const Values& x) { return round_nearest_even(x[0] * 4); }, kExact);
  c["integer_pow_m3"] = call([](const Values& x) { return integer_pow(x[0], -3); });
  c["select"] = call([](const Values& x) { return select(x[0], x[1], x[2]); }, kExact);
  c["clamp"] = call([](const Values& x) { return clamp(x[0], x[1], x[2]); }, kExact);
  c["reduce_precision_bf16"] =
      call([](const Values& x) { return reduce_precision(x[0], 8, 7); }, kExact);
  c["max_ties"] = call(
      [](const Values& x) {
        const Tensor whole = round_nearest_even(x[0]);
        return maximum(whole, reverse(whole, {0}));
      },
      kExact);
  c["shifts"] = {
      [](const Values& x) {
        return Values{x[0] << 40, shift_right_logical(x[0], full_like(x[0], 3)), x[0] >> 3};
      },
      kExact};
  c["popcount_clz"] = {[](const Values& x) {
                         return Values{popcount(x[0]), count_leading_zeros(x[0])};
                       },
                       kExact};
}

void add_reductions(Tree<Case>& c) {
  c["sum_12"] = call([](const Values& x) { return reduce_sum(x[0], {1, 2}); });
  c["mean_0"] = call([](const Values& x) { return mean(x[0], {0}); });
  c["max_1_ties"] =
      call([](const Values& x) { return reduce_max(round_nearest_even(x[0]), {1}); }, kExact);
  c["prod"] = call([](const Values& x) { return reduce_prod(x[0], {1}); });
  c["argmax"] = call([](const Values& x) { return argmax(x[0], 1); }, kExact);
  c["cumsum"] = call([](const Values& x) { return cumsum(x[0], 1); });
  c["cumsum_rev"] = call([](const Values& x) { return cumsum(x[0], 0, true); });
  c["cummax"] = call([](const Values& x) { return cummax(x[0], 1); });
  c["cumprod"] = call([](const Values& x) { return cumprod(x[0], 0); });
  c["cumlogsumexp"] = call([](const Values& x) { return cumlogsumexp(x[0], 0); });
  c["softmax"] = call([](const Values& x) { return softmax(x[0]); });
  c["log_softmax"] = call([](const Values& x) { return log_softmax(x[0]); });
  c["logsumexp"] = call([](const Values& x) { return logsumexp(x[0]); });
  c["dot"] = call([](const Values& x) { return dot(x[0], x[1]); });
  c["dot_batch"] = call([](const Values& x) { return einsum("bkt,bsk->bts", x[0], x[1]); });
  c["ragged_dot"] = call([](const Values& x) {
    return ragged_dot(x[0], x[1], constant(HostTensor({3}, {3, 0, 4})));
  });
  c["einsum_btd_dnh"] = call([](const Values& x) { return einsum("btd,dnh->bnth", x[0], x[1]); });
}

void add_movement(Tree<Case>& c) {
  c["reshape"] = call([](const Values& x) { return reshape(x[0], {6, 2, 2}); }, kExact);
  c["transpose"] = call([](const Values& x) { return transpose(x[0], {2, 0, 1}); }, kExact);
  c["broadcast"] = call([](const Values& x) { return broadcast_in_dim(x[0], {3, 5, 4}, {0, 2}); });
  c["slice_strided"] = call(
      [](const Values& x) {
        return slice(x[0], {1, 0}, {9, 6}, {3, 2});
      },
      kExact);
  c["pad_mixed"] = call([](const Values& x) { return pad(x[0], x[1], {-1, 1}, {2, -1}, {1, 0}); });
  c["concat"] = call([](const Values& x) { return concatenate({x[0], x[1], x[0]}, 1); });
  c["rev"] = call([](const Values& x) { return reverse(x[0], {0, 1}); }, kExact);
  c["dynamic_slice_clamped"] = call(
      [](const Values& x) {
        return dynamic_slice(x[0], {scalar(7, DType::kI32), scalar(2, DType::kI32)}, {3, 2});
      },
      kExact);
  c["dynamic_update_slice"] = call(
      [](const Values& x) {
        return dynamic_update_slice(x[0], x[1], {scalar(3, DType::kI32), scalar(1, DType::kI32)});
      },
      kExact);
  c["take_rows"] = call([](const Values& x) { return take(x[0], x[1], 0); });
  c["take_along"] = call([](const Values& x) { return take_along_axis(x[0], x[1], 1); });
  c["scatter_add"] = call([](const Values& x) {
    return scatter_add(x[0], x[2], x[1],
                       {.offset = {1}, .collapsed = {0}, .index_map = {0}, .index_vector_dim = 1});
  });
  c["sort"] = call([](const Values& x) { return sort(x[0]); }, kExact);
  c["sort_kv"] = {[](const Values& x) { return sort_key_val(x); }, kExact};
  c["top_k"] = {[](const Values& x) {
                  const auto [values, indices] = top_k(x[0], 3);
                  return Values{values, indices};
                },
                kExact};
  c["scan_rnn"] = call([](const Values& in) {
    const ScanBody step = [&](const Values& carry, const Values& x) -> ScanResult {
      const Tensor h = tanh(reshape(dot(reshape(carry[0], {1, 4}), in[0]), {4}) + x[0]);
      return {{h}, {2 * h}};
    };
    return scan(step, {zeros({4})}, {in[1]}, 6).ys[0];
  });
  c["scan_reverse"] = {[](const Values& in) {
    const ScanBody step = [](const Values& carry, const Values& x) -> ScanResult {
      return {{0.5 * carry[0] + x[0]}, {carry[0]}};
    };
    const ScanResult result = scan(step, {ones({})}, in, 5, {.reverse = true});
    return Values{result.carry[0], result.ys[0]};
  }};
}

void add_indexing(Tree<Case>& c) {
  const GatherOptions fill{.mode = GatherMode::kFill, .fill = 7};
  c["take_fill_oob"] =
      call([fill](const Values& x) { return take(x[0], from_end(x[1], 3), 0, fill); }, kExact);
  c["scatter_max"] = call([](const Values& x) { return max_at(x[0], x[2], x[1]); }, kExact);
  c["scatter_mul"] = call([](const Values& x) { return multiply_at(x[0], x[2], x[1]); }, kExact);
  c["nextafter"] = two(nextafter, kExact);
}

void add_complex_and_linalg(Tree<Case>& c) {
  c["rfft"] = call([](const Values& x) { return square(abs(rfft(x[0]))); });
  c["cholesky"] = call(
      [](const Values& x) { return cholesky(matmul(x[0], transposed(x[0])) + 4 * eye(4, 4)); });
  c["triangular_solve"] =
      call([](const Values& x) { return triangular_solve(x[0] + 3 * eye(4, 4), x[1]); });
}

// The file holds false predicates; its false branch squares.
void add_branches(Tree<Case>& c) {
  const auto sine = [](const Values& x) { return Values{sin(x[0])}; };
  const auto squared = [](const Values& x) { return Values{x[0] * x[0]}; };
  c["cond"] = {
      [=](const Values& x) { return cond(index_in_dim(x[0], 0, 0), sine, squared, {x[1]}); }};
}

void add_windows_and_convolutions(Tree<Case>& c) {
  c["conv_1d"] = call([](const Values& x) {
    return convolution(x[0], x[1], {.strides = {2}, .padding = {{2, 1}}, .kernel_dilation = {2}});
  });
  c["conv_2d_groups"] = call([](const Values& x) {
    return convolution(x[0], x[1],
                       {.strides = {1, 2}, .padding = PaddingRule::kSame, .feature_groups = 2});
  });
  c["conv_lhs_dilated"] = call([](const Values& x) {
    return convolution(x[0], x[1], {.padding = {{2, 2}}, .input_dilation = {2}});
  });
  c["max_pool"] = call(
      [](const Values& x) {
        return max_pool(x[0], {.window = {2, 2}, .strides = {2, 2}});
      },
      kExact);
  // The reference sums; it does not divide by the size of the window.
  c["avg_pool_same"] = call([](const Values& x) {
    return reduce_window_sum(x[0],
                             {.sizes = {1, 3}, .strides = {1, 2}, .padding = PaddingRule::kSame});
  });
}

Tree<Case> cases() {
  Tree<Case> c;
  add_elementwise(c);
  add_reductions(c);
  add_movement(c);
  add_indexing(c);
  add_complex_and_linalg(c);
  add_windows_and_convolutions(c);
  add_branches(c);
  return c;
}

// Operands (op, index) that are scalars: the file stores them with shape [1].
const std::set<std::pair<std::string, int>> kScalars = {
    {"pad_mixed", 1}, {"clamp", 0}, {"clamp", 2}};

const std::string kNumbers = reference_file("jax/ops.safetensors");

// Compares element by element. Where results must be exact, zeros must have the same sign.
void expect_agreement(const HostTensor& actual, const HostTensor& expected, Agreement agreement,
                      double scale) {
  ASSERT_EQ(actual.size(), expected.size());
  EXPECT_EQ(actual.dtype(), expected.dtype());
  for (int64_t i = 0; i < actual.size(); ++i) {
    const double a = actual.at(i), e = expected.at(i);
    if (std::isnan(e) || std::isinf(e) || agreement == Agreement::kExact) {
      EXPECT_TRUE(a == e || (std::isnan(a) && std::isnan(e)))
          << "at " << i << ": " << a << " instead of " << e;
      EXPECT_TRUE(e != 0 || std::signbit(a) == std::signbit(e)) << "sign of the zero at " << i;
    } else {
      EXPECT_NEAR(a, e, 1e-5 * std::max(std::abs(e), scale)) << "at " << i;
    }
  }
}

class OpParity : public ::testing::Test {
 protected:
  void SetUp() override { numbers_ = load_safetensors(kNumbers); }
  const HostTensor* find(const std::string& path) const {
    const auto it = numbers_.find(path);
    return it == numbers_.end() ? nullptr : &it->second;
  }
  std::vector<HostTensor> inputs(const std::string& op) const {
    std::vector<HostTensor> out;
    while (const HostTensor* x = find(op + "/in" + std::to_string(out.size()))) {
      const bool scalar = kScalars.contains({op, static_cast<int>(out.size())});
      out.push_back(scalar ? x->reshaped({}) : *x);
    }
    return out;
  }
  void check_vjp(const std::string& op, const Case& c, const std::vector<HostTensor>& x) const;
  Tree<HostTensor> numbers_;
};

void OpParity::check_vjp(const std::string& op, const Case& c,
                         const std::vector<HostTensor>& x) const {
  if (!find(op + "/ct0")) return;
  const TensorFunction gradient = [&](const Values& v) {
    const Linearized f = vjp(c.fn, v);
    Values ct;
    for (size_t i = 0; i < f.outputs.size(); ++i) {
      const HostTensor* given = find(op + "/ct" + std::to_string(i));
      ct.push_back(given ? constant(given->reshaped(f.outputs[i].shape())) : Tensor());
    }
    Values out, g = f.pullback(ct);
    for (size_t i = 0; i < g.size(); ++i) {
      if (is_float(v[i].dtype())) out.push_back(g[i] ? g[i] : zeros_like(v[i]));
    }
    return out;
  };
  const std::vector<HostTensor> g = eval(gradient, x);
  size_t next = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    if (!is_float(x[i].dtype())) continue;
    SCOPED_TRACE("gradient of input " + std::to_string(i));
    const HostTensor* expected = find(op + "/grad" + std::to_string(i));
    ASSERT_TRUE(expected);
    expect_agreement(g[next++], *expected, Agreement::kClose, largest_element(*expected));
  }
}

TEST_F(OpParity, EveryReferenceOpHasACase) {
  const Tree<Case> all = cases();
  for (const auto& [path, value] : numbers_) {
    const std::string op = path.substr(0, path.find('/'));
    EXPECT_TRUE(all.contains(op)) << op;
  }
}

TEST_F(OpParity, ResultsAndGradients) {
  for (const auto& [op, c] : cases()) {
    SCOPED_TRACE(op);
    const std::vector<HostTensor> x = inputs(op);
    ASSERT_FALSE(x.empty());
    const std::vector<HostTensor> y = eval(c.fn, x);
    for (size_t i = 0; i < y.size(); ++i) {
      const HostTensor* expected = find(op + "/out" + std::to_string(i));
      ASSERT_TRUE(expected);
      expect_agreement(y[i], *expected, c.agreement, largest_element(*expected));
    }
    check_vjp(op, c, x);
  }
}

TEST_F(OpParity, SpecialPoints) {
  int checked = 0;
  for (const auto& [op, c] : cases()) {
    const HostTensor* x = find(op + "/special_in");
    if (!x) continue;
    SCOPED_TRACE(op);
    HostTensor expected = *find(op + "/special_out");
    HostTensor y = eval(c.fn, {*x})[0];
    // The reference ran on hardware that treats subnormal numbers as zero or nearly zero, so these
    // points are not compared.
    for (int64_t i = 0; i < x->size() && y.dtype() == DType::kF32 && y.size() == x->size(); ++i) {
      const double v = std::abs(x->at(i));
      if (v > 0 && v < std::numeric_limits<float>::min())
        y.values<float>()[static_cast<size_t>(i)] =
            expected.values<float>()[static_cast<size_t>(i)];
    }
    expect_agreement(y, expected, c.agreement, 1e-30);
    ++checked;
  }
  EXPECT_GT(checked, 20);
}

}  // namespace
}  // namespace axle
