// References of products, convolutions and Fourier transforms.
#include <complex>
#include <numbers>

#include "transform/laws/naive_test.h"

namespace axle::testing {
namespace {

using NaiveProductsComplex = std::complex<long double>;
using Dims = std::vector<int64_t>;

// Adds a[i] * b[j] to y[to].
void add_product(Naive& y, size_t to, const Naive& a, size_t i, const Naive& b, size_t j) {
  if (y.im.empty()) {
    y.re[to] += a.re[i] * b.re[j];
    return;
  }
  y.re[to] += a.re[i] * b.re[j] - a.im[i] * b.im[j];
  y.im[to] += a.re[i] * b.im[j] + a.im[i] * b.re[j];
}
void wrap_integers(Naive& y) {
  if (!is_integer(y.type.dtype)) return;
  for (long double& v : y.re) v = wrapped(static_cast<__int128>(v), y.type.dtype);
}

// The two lists of "[0] x [1]".
std::pair<Dims, Dims> pairs(const NaiveCall& c, std::string_view key) {
  const Dims all = c.attrs.numbers(key);
  const auto half = all.begin() + static_cast<ptrdiff_t>(all.size() / 2);
  return {Dims(all.begin(), half), Dims(half, all.end())};
}

Naives dot_general(const NaiveCall& c) {
  const Naive &a = c.x[0], &b = c.x[1];
  const auto [a_sum, b_sum] = pairs(c, "contracting");
  const auto [a_batch, b_batch] = pairs(c, "batch");
  Dims a_free, b_free, sizes;
  for (int64_t d = 0; d < a.type.rank(); ++d) {
    if (!lists(a_sum, d) && !lists(a_batch, d)) a_free.push_back(d);
  }
  for (int64_t d = 0; d < b.type.rank(); ++d) {
    if (!lists(b_sum, d) && !lists(b_batch, d)) b_free.push_back(d);
  }
  for (const int64_t d : a_sum) sizes.push_back(a.dim(d));
  Naive y(c.result());
  size_t to = 0;
  each_index(y.type.dims, [&](const Shape& i) {
    Shape in_a(a.type.dims.size()), in_b(b.type.dims.size());
    const auto set = [&](Shape& index, const Dims& dims, size_t first) {
      for (size_t k = 0; k < dims.size(); ++k) index[static_cast<size_t>(dims[k])] = i[first + k];
    };
    set(in_a, a_batch, 0);
    set(in_b, b_batch, 0);
    set(in_a, a_free, a_batch.size());
    set(in_b, b_free, a_batch.size() + a_free.size());
    each_index(sizes, [&](const Shape& k) {
      for (size_t d = 0; d < k.size(); ++d) {
        in_a[static_cast<size_t>(a_sum[d])] = k[d];
        in_b[static_cast<size_t>(b_sum[d])] = k[d];
      }
      add_product(y, to, a, position(a.type.dims, in_a), b, position(b.type.dims, in_b));
    });
    ++to;
  });
  wrap_integers(y);
  return {y};
}

// The positions of the dims that a layout "[b, 0, 1, f]" names: those of the first two letters,
// then of 0, 1, ...
Dims layout(const std::string& text, char first, char second) {
  std::vector<std::string> names;
  for (const char ch : text) {
    if (ch == '[' || ch == ',')
      names.emplace_back();
    else if (ch != ' ' && ch != ']')
      names.back() += ch;
  }
  Dims out(names.size());
  for (size_t d = 0; d < names.size(); ++d) {
    const size_t role = names[d] == std::string(1, first)    ? 0
                        : names[d] == std::string(1, second) ? 1
                                                             : 2 + std::stoul(names[d]);
    out[role] = static_cast<int64_t>(d);
  }
  return out;
}

// y[n, s, o] = sum over k and i of x[n, s * stride + k * dilation - low, i] * kernel[k, i, o].
Naives convolution(const NaiveCall& c) {
  const Naive &x = c.x[0], &kernel = c.x[1];
  Naive y(c.result());
  const std::string text = c.attrs.value("dims");
  const size_t cross = text.find(']') + 1, arrow = text.find("->");
  const Dims of_x = layout(text.substr(0, cross), 'b', 'f'),
             of_kernel = layout(text.substr(cross + 1, arrow - cross - 1), 'o', 'i'),
             of_y = layout(text.substr(arrow + 2), 'b', 'f');
  const size_t spatial = of_x.size() - 2;
  const auto list = [&](std::string_view key) {
    Dims out = c.attrs.numbers(key);
    return out.empty() ? Dims(spatial, 1) : out;
  };
  const Dims strides = list("strides"), holes = list("base_dilations"),
             spread = list("window_dilations");
  Dims low = c.attrs.numbers("padding");
  if (low.empty()) low.assign(2 * spatial, 0);
  const int64_t feature_groups =
                    c.attrs.has("feature_groups") ? c.attrs.number("feature_groups") : 1,
                batch_groups = c.attrs.has("batch_groups") ? c.attrs.number("batch_groups") : 1;
  const auto at = [](const Shape& i, int64_t d) { return i[static_cast<size_t>(d)]; };
  const int64_t outputs = kernel.dim(of_kernel[0]);
  const int64_t group_outputs = outputs / (feature_groups * batch_groups);
  size_t to = 0;
  each_index(y.type.dims, [&](const Shape& i) {
    const int64_t o = at(i, of_y[1]), group = o / group_outputs;
    size_t from = 0;
    each_index(kernel.type.dims, [&](const Shape& k) {
      const size_t kernel_at = from++;
      if (at(k, of_kernel[0]) != o) return;
      Shape in(x.type.dims.size());
      bool inside = true;
      for (size_t d = 0; d < spatial; ++d) {
        const int64_t p =
            at(i, of_y[d + 2]) * strides[d] + at(k, of_kernel[d + 2]) * spread[d] - low[2 * d];
        const int64_t n = x.dim(of_x[d + 2]);
        inside = inside && p >= 0 && p % holes[d] == 0 && p / holes[d] < n;
        in[static_cast<size_t>(of_x[d + 2])] = p / holes[d];
      }
      if (!inside) return;
      const int64_t inputs = kernel.dim(of_kernel[1]);
      in[static_cast<size_t>(of_x[1])] =
          at(k, of_kernel[1]) + (feature_groups > 1 ? group * inputs : 0);
      in[static_cast<size_t>(of_x[0])] =
          at(i, of_y[0]) + (batch_groups > 1 ? group * y.dim(of_y[0]) : 0);
      add_product(y, to, x, position(x.type.dims, in), kernel, kernel_at);
    });
    ++to;
  });
  wrap_integers(y);
  return {y};
}

// The group of a row: the rows of a list are those of group 0, then of group 1, ...; -1 for rows
// behind the last one.
int64_t group_of(const Naive& sizes, int64_t o, int64_t i, int64_t row) {
  long double end = 0;
  for (int64_t g = 0; g < sizes.dim(2); ++g) {
    end += sizes.re[position(sizes.type.dims, {o, i, g})];
    if (static_cast<long double>(row) < end) return g;
  }
  return -1;
}

Naives ragged_dot(const NaiveCall& c) {
  const Naive &lhs = c.x[0], &rhs = c.x[1];
  Naive y(c.result());
  size_t to = 0;
  each_index(y.type.dims, [&](const Shape& i) {
    const int64_t g = group_of(c.x[2], i[0], i[1], i[2]);
    for (int64_t k = 0; g >= 0 && k < lhs.dim(3); ++k) {
      add_product(y, to, lhs, position(lhs.type.dims, {i[0], i[1], i[2], k}), rhs,
                  position(rhs.type.dims, {i[0], g, k, i[3]}));
    }
    ++to;
  });
  return {y};
}

Naives ragged_dot_contracting(const NaiveCall& c) {
  const Naive &lhs = c.x[0], &rhs = c.x[1];
  Naive y(c.result());
  size_t to = 0;
  each_index(y.type.dims, [&](const Shape& at) {  // o, g, k, n
    for (int64_t i = 0; i < lhs.dim(1); ++i) {
      for (int64_t m = 0; m < lhs.dim(2); ++m) {
        if (group_of(c.x[2], at[0], i, m) != at[1]) continue;
        add_product(y, to, lhs, position(lhs.type.dims, {at[0], i, m, at[2]}), rhs,
                    position(rhs.type.dims, {at[0], i, m, at[3]}));
      }
    }
    ++to;
  });
  return {y};
}

// The sum of the definition for each element. A half spectrum is first completed: the element at
// -k is the conjugate of that at k, where all but the last dim count from the end.
Naives fft(const NaiveCall& c) {
  const std::string kind = c.attrs.value("kind");
  const Shape sizes = c.attrs.numbers("sizes");
  const Naive& x = c.x[0];
  Naive y(c.result());
  const size_t rank = x.type.dims.size(), first = rank - sizes.size();
  const bool inverse = kind == "IFFT" || kind == "IRFFT";
  long double total = 1;
  for (const int64_t n : sizes) total *= static_cast<long double>(n);
  const int64_t last = sizes.back();
  const auto element = [&](Shape i) -> NaiveProductsComplex {
    const bool mirrored = kind == "IRFFT" && i.back() > last / 2;
    if (mirrored) {
      for (size_t d = first; d < rank; ++d) {
        const int64_t n = sizes[d - first];
        i[d] = (n - i[d]) % n;
      }
    }
    const size_t at = position(x.type.dims, i);
    const NaiveProductsComplex v{x.re[at], x.im.empty() ? 0 : x.im[at]};
    return mirrored ? std::conj(v) : v;
  };
  size_t to = 0;
  each_index(y.type.dims, [&](const Shape& k) {
    NaiveProductsComplex sum = 0;
    each_index(sizes, [&](const Shape& j) {
      long double turns = 0;
      Shape from = k;
      for (size_t d = 0; d < sizes.size(); ++d) {
        from[first + d] = j[d];
        turns += static_cast<long double>(j[d] * k[first + d] % sizes[d]) /
                 static_cast<long double>(sizes[d]);
      }
      const long double angle = 2 * std::numbers::pi_v<long double> * turns;
      sum += element(from) * std::polar(1.0L, inverse ? angle : -angle);
    });
    if (inverse) sum /= total;
    y.re[to] = sum.real();
    if (!y.im.empty()) y.im[to] = sum.imag();
    ++to;
  });
  return {y};
}

}  // namespace

void add_product_references(References& out) {
  out["dot_general"] = dot_general;
  out["convolution"] = convolution;
  out["ragged_dot"] = ragged_dot;
  out["ragged_dot_contracting"] = ragged_dot_contracting;
  out["fft"] = fft;
}

}  // namespace axle::testing
