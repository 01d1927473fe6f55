// References of reductions, running reductions and normalizations along an axis.
#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

#include "transform/laws/naive_test.h"

namespace axle::testing {
namespace {

using NaiveReductionsReal = long double;
using Line = std::vector<NaiveReductionsReal>;
constexpr NaiveReductionsReal kNaiveReductionsInf =
    std::numeric_limits<NaiveReductionsReal>::infinity();

// Calls fn(element of x, element of y) for each element of x; y lacks the axes.
template <class F>
void each_reduced(const Naive& x, const Naive& y, const std::vector<int64_t>& axes, F fn) {
  size_t from = 0;
  each_index(x.type.dims, [&](const Shape& i) {
    Shape to;
    for (size_t d = 0; d < i.size(); ++d) {
      if (!lists(axes, static_cast<int64_t>(d))) to.push_back(i[d]);
    }
    fn(from++, position(y.type.dims, to));
  });
}

NaiveReductionsReal at_least_nan(NaiveReductionsReal a, NaiveReductionsReal b,
                                 NaiveReductionsReal v) {
  return std::isnan(a) || std::isnan(b) ? a + b : v;
}
NaiveReductionsReal naive_reductions_larger(NaiveReductionsReal a, NaiveReductionsReal b) {
  return at_least_nan(a, b, std::max(a, b));
}
NaiveReductionsReal naive_reductions_smaller(NaiveReductionsReal a, NaiveReductionsReal b) {
  return at_least_nan(a, b, std::min(a, b));
}

// The largest or least number of a dtype: the maximum or minimum of nothing.
NaiveReductionsReal extreme(DType dtype, bool largest) {
  if (dtype == DType::kPred) return largest;
  if (is_float(dtype)) {
    const NaiveReductionsReal end = dtype == DType::kF8E4M3FN ? 448 : kNaiveReductionsInf;
    return largest ? end : -end;
  }
  const int bits = is_storage_only(dtype) ? 4 : 8 * static_cast<int>(size_bytes(dtype));
  if (is_unsigned(dtype)) return largest ? std::ldexp(1.0L, bits) - 1 : 0;
  return largest ? std::ldexp(1.0L, bits - 1) - 1 : -std::ldexp(1.0L, bits - 1);
}

using Combine = std::function<NaiveReductionsReal(NaiveReductionsReal, NaiveReductionsReal)>;
Reference reduction(Combine f, std::function<NaiveReductionsReal(DType)> of_nothing) {
  return [=](const NaiveCall& c) {
    Naive y(c.result());
    const DType dtype = y.type.dtype;
    y.re.assign(y.size(), of_nothing(dtype));
    each_reduced(c.x[0], y, c.attrs.numbers("axes"), [&](size_t from, size_t to) {
      y.re[to] = f(y.re[to], c.x[0].re[from]);
      if (is_integer(dtype)) y.re[to] = wrapped(static_cast<__int128>(y.re[to]), dtype);
      if (!y.im.empty()) y.im[to] = f(y.im[to], c.x[0].im[from]);  // sums only
    });
    return Naives{y};
  };
}
NaiveReductionsReal bit_and(NaiveReductionsReal a, NaiveReductionsReal b) {
  return static_cast<NaiveReductionsReal>(static_cast<__int128>(a) & static_cast<__int128>(b));
}
NaiveReductionsReal bit_or(NaiveReductionsReal a, NaiveReductionsReal b) {
  return static_cast<NaiveReductionsReal>(static_cast<__int128>(a) | static_cast<__int128>(b));
}
NaiveReductionsReal bit_xor(NaiveReductionsReal a, NaiveReductionsReal b) {
  return static_cast<NaiveReductionsReal>(static_cast<__int128>(a) ^ static_cast<__int128>(b));
}

// Replaces each line along `axis` by fn(line), of any length.
Naive map_lines(const Naive& x, const Type& type, int64_t axis,
                const std::function<Line(const Line&)>& fn) {
  Naive y(type);
  Shape lines = x.type.dims;
  const auto n = static_cast<size_t>(lines[static_cast<size_t>(axis)]);
  lines[static_cast<size_t>(axis)] = 1;
  const bool drops = type.rank() < x.type.rank();
  each_index(lines, [&](Shape i) {
    Line line;
    for (size_t k = 0; k < n; ++k) {
      i[static_cast<size_t>(axis)] = static_cast<int64_t>(k);
      line.push_back(x.re[position(x.type.dims, i)]);
    }
    const Line out = fn(line);
    for (size_t k = 0; k < out.size(); ++k) {
      Shape to = i;
      if (drops)
        to.erase(to.begin() + axis);
      else
        to[static_cast<size_t>(axis)] = static_cast<int64_t>(k);
      y.re[position(type.dims, to)] = out[k];
    }
  });
  return y;
}

Reference first_extreme(bool largest) {
  return [largest](const NaiveCall& c) {
    return Naives{map_lines(c.x[0], c.result(), c.attrs.number("axis"), [&](const Line& line) {
      for (size_t k = 0; k < line.size(); ++k) {
        if (std::isnan(line[k])) return Line{static_cast<NaiveReductionsReal>(k)};
      }
      const auto it = largest ? std::ranges::max_element(line) : std::ranges::min_element(line);
      return Line{static_cast<NaiveReductionsReal>(it - line.begin())};
    })};
  };
}

// Element k is f of the elements up to k, or from k on.
Reference cumulative(const std::function<NaiveReductionsReal(const Line&)>& f) {
  return [f](const NaiveCall& c) {
    const bool reversed = c.attrs.value("reversed") == "true";
    const DType dtype = c.result().dtype;
    return Naives{map_lines(c.x[0], c.result(), c.attrs.number("axis"), [&](const Line& line) {
      Line out;
      for (size_t k = 0; k < line.size(); ++k) {
        const auto at = line.begin() + static_cast<ptrdiff_t>(k);
        const Line part = reversed ? Line(at, line.end()) : Line(line.begin(), at + 1);
        out.push_back(f(part));
        if (is_integer(dtype)) out.back() = wrapped(static_cast<__int128>(out.back()), dtype);
      }
      return out;
    })};
  };
}
std::function<NaiveReductionsReal(const Line&)> fold(Combine f) {
  return [f](const Line& line) {
    NaiveReductionsReal total = line[0];
    for (size_t k = 1; k < line.size(); ++k) total = f(total, line[k]);
    return total;
  };
}

// Numbers in these tests are far from the range of a long double.
NaiveReductionsReal log_sum_exp(const Line& line) {
  NaiveReductionsReal sum = 0;
  for (const NaiveReductionsReal v : line) sum += std::exp(v);
  return std::log(sum);
}

Reference of_lines(const std::function<Line(const Line&)>& fn) {
  return [fn](const NaiveCall& c) {
    return Naives{map_lines(c.x[0], c.result(), c.attrs.number("axis"), fn)};
  };
}

Naives cross_entropy(const NaiveCall& c) {
  Naives y = {Naive(c.result(0)), Naive(c.result(1))};
  const auto n = static_cast<size_t>(c.x[0].dim(-1));
  for (size_t row = 0; row < y[0].size(); ++row) {
    const auto first = c.x[0].re.begin() + static_cast<ptrdiff_t>(row * n);
    const NaiveReductionsReal label = c.x[1].re[row];
    y[1].re[row] = log_sum_exp(Line(first, first + static_cast<ptrdiff_t>(n)));
    const bool is_class = label >= 0 && label < static_cast<NaiveReductionsReal>(n);
    y[0].re[row] = y[1].re[row] - (is_class ? first[static_cast<ptrdiff_t>(label)] : 0);
  }
  return y;
}

}  // namespace

void add_reduction_references(References& out) {
  const auto add = [](NaiveReductionsReal a, NaiveReductionsReal b) { return a + b; };
  const auto multiply = [](NaiveReductionsReal a, NaiveReductionsReal b) { return a * b; };
  out["reduce_sum"] = reduction(add, [](DType) { return 0; });
  out["reduce_prod"] = reduction(multiply, [](DType) { return 1; });
  out["reduce_max"] = reduction(naive_reductions_larger, [](DType d) { return extreme(d, false); });
  out["reduce_min"] = reduction(naive_reductions_smaller, [](DType d) { return extreme(d, true); });
  out["reduce_and"] =
      reduction(bit_and, [](DType d) { return d == DType::kPred ? 1 : wrapped(-1, d); });
  out["reduce_or"] = reduction(bit_or, [](DType) { return 0; });
  out["reduce_xor"] = reduction(bit_xor, [](DType) { return 0; });
  out["argmax"] = first_extreme(true);
  out["argmin"] = first_extreme(false);
  out["cumsum"] = cumulative(fold(add));
  out["cumprod"] = cumulative(fold(multiply));
  out["cummax"] = cumulative(fold(naive_reductions_larger));
  out["cummin"] = cumulative(fold(naive_reductions_smaller));
  out["cumlogsumexp"] = cumulative(log_sum_exp);
  out["logsumexp"] = of_lines([](const Line& line) { return Line{log_sum_exp(line)}; });
  out["log_softmax"] = of_lines([](Line line) {
    const NaiveReductionsReal z = log_sum_exp(line);
    for (NaiveReductionsReal& v : line) v -= z;
    return line;
  });
  out["softmax"] = of_lines([](Line line) {
    const NaiveReductionsReal z = log_sum_exp(line);
    for (NaiveReductionsReal& v : line) v = std::exp(v - z);
    return line;
  });
  out["softmax_cross_entropy"] = cross_entropy;
}

}  // namespace axle::testing
