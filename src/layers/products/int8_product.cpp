#include "layers/products/int8_product.h"

#include <algorithm>

#include "config/register.h"
#include "nn/statistic.h"
#include "ops/elementwise/elementwise.h"
#include "ops/movement/movement.h"
#include "ops/products/products.h"
#include "ops/products/scaled_integers.h"
#include "ops/reductions/reductions.h"
#include "transform/grad.h"

namespace axle {
namespace {

// Returns the numbers of x, whose integers have the gradient of x / scale with a constant scale.
ScaledIntegers rounded(const Tensor& x, const std::vector<int64_t>& summed) {
  const CustomVjp rule{.name = "round_to_int8",
                       .forward =
                           [summed](const Values& v) {
                             const auto [integers, scale] = to_integers(v[0], summed);
                             return WithResiduals{{integers, scale}, {scale}};
                           },
                       .backward =
                           [](const Values& saved, const Values& g) {
                             const Tensor wide = astype(g[0], saved[0].dtype()) / saved[0];
                             return Values{astype(wide, g[0].dtype())};
                           }};
  const Values out = custom_vjp(rule, {x});
  return {out[0], out[1]};
}

}  // namespace

Tensor Int8Product::forward(const Tensor& x, const Tensor& weight) {
  const auto [q_x, s_x] = rounded(x, contracted_dims(x, letters_.x, letters_));
  const auto [q_w, s_w] = rounded(weight, contracted_dims(weight, letters_.weight, letters_));
  const bool wide_backward = backward_ == Int8Backward::kWide;
  const DotOptions options{
      .result_dtype = wide_dtype(x.dtype()),
      .algorithm = wide_backward ? DotAlgorithm::kI8I8I32 : DotAlgorithm::kI8I8I32Backward};
  const Tensor y = einsum(spec_, q_x, q_w, options);
  const Tensor scaled = y * spread_to(s_x, letters_.x, letters_.y, y) *
                        spread_to(s_w, letters_.weight, letters_.y, y);
  return astype(scaled, x.dtype());
}

AXLE_REGISTER(Int8Product)

namespace {

// Returns a label for each dim: its letter, or a negative number for the dims of "...", counted
// from the last of these.
std::vector<int> labels_of(const std::string& letters, int64_t rank) {
  std::vector<int> out;
  for (size_t i = 0; i < letters.size(); ++i) {
    if (letters[i] != '.') {
      out.push_back(letters[i]);
      continue;
    }
    for (auto n = static_cast<int>(rank) - static_cast<int>(letters.size() - 3); n > 0; --n)
      out.push_back(-n);
    i += 2;
  }
  return out;
}

}  // namespace

std::vector<int64_t> contracted_dims(const Tensor& x, const std::string& letters,
                                     const ProductLetters& product) {
  const std::vector<int> labels = labels_of(letters, x.rank());
  std::vector<int64_t> out;
  for (size_t i = 0; i < labels.size(); ++i) {
    if (labels[i] > 0 && product.contracted.find(static_cast<char>(labels[i])) != std::string::npos)
      out.push_back(static_cast<int64_t>(i));
  }
  return out;
}

Tensor amax(const Tensor& x, const std::vector<int64_t>& dims) {
  return astype(reduce_max(abs(x), dims, true), wide_dtype(x.dtype()));
}
Tensor amax(const Tensor& x) {
  return astype(reduce_max(abs(x), all_axes(x)), wide_dtype(x.dtype()));
}

Tensor amax_of_tokens(const Tensor& x) { return amax(without_padding(x)); }

Tensor scale_for(const Tensor& amax, double largest) { return select(amax > 0, amax / largest, 1); }

Tensor spread_to(const Tensor& scale, const std::string& from, const std::string& to,
                 const Tensor& y) {
  std::vector<int> own = labels_of(from, scale.rank());
  const std::vector<int> all = labels_of(to, y.rank());
  std::vector<int64_t> dropped, places;
  for (size_t i = 0; i < own.size(); ++i) {
    const auto at = std::ranges::find(all, own[i]);
    if (at == all.end())
      dropped.push_back(static_cast<int64_t>(i));
    else
      places.push_back(at - all.begin());
  }
  std::vector<int64_t> order(places.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = static_cast<int64_t>(i);
  std::ranges::sort(order, {}, [&](int64_t i) { return places[i]; });
  std::ranges::sort(places);
  return broadcast_in_dim(transpose(squeeze(scale, dropped), order), y.shape(), places);
}

}  // namespace axle
