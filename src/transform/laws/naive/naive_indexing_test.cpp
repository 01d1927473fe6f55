// References of slices, gathers and scatters at computed positions, and of sorts.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "transform/laws/naive_test.h"

namespace axle::testing {
namespace {

// Starts from operand `first` on, moved so that a window of these sizes fits.
Shape starts_of(const NaiveCall& c, size_t first, const Shape& sizes) {
  Shape out;
  for (size_t d = 0; d < sizes.size(); ++d) {
    const auto start = static_cast<int64_t>(c.x[first + d].re[0]);
    out.push_back(std::max<int64_t>(0, std::min(start, c.x[0].type.dims[d] - sizes[d])));
  }
  return out;
}

Naives dynamic_slice(const NaiveCall& c) {
  const Shape starts = starts_of(c, 1, c.attrs.numbers("sizes"));
  return {moved_elements(c.x[0], c.result(), [&](Shape i) {
    for (size_t d = 0; d < i.size(); ++d) i[d] += starts[d];
    return i;
  })};
}

Naives dynamic_update_slice(const NaiveCall& c) {
  const Shape starts = starts_of(c, 2, c.x[1].type.dims);
  Naive y = c.x[0];
  size_t from = 0;
  each_index(c.x[1].type.dims, [&](Shape i) {
    for (size_t d = 0; d < i.size(); ++d) i[d] += starts[d];
    copy_element(c.x[1], from++, y, position(y.type.dims, i));
  });
  return {y};
}

// StableHLO's rules for gather and scatter: where the element `slice_index` of the slices lies in
// the operand. `clamp` moves windows inside. Returns false for windows outside.
class Windows {
 public:
  explicit Windows(const NaiveCall& c)
      : operand_(c.x[0].type.dims),
        indices_(c.x[1]),
        sizes_(c.attrs.numbers("sizes")),
        offset_(c.attrs.numbers("offset")),
        collapsed_(c.attrs.numbers("collapsed")),
        index_map_(c.attrs.numbers("index_map")),
        vector_dim_(c.attrs.number("index_vector_dim")) {
    const auto batch = c.attrs.numbers("batch");
    operand_batch_.assign(batch.begin(), batch.begin() + static_cast<ptrdiff_t>(batch.size() / 2));
    indices_batch_.assign(batch.begin() + static_cast<ptrdiff_t>(batch.size() / 2), batch.end());
  }

  bool find(const Shape& slice_index, bool clamp, Shape& at) const {
    Shape of_position;  // the index into the indices, without the dim of the components
    for (size_t d = 0; d < slice_index.size(); ++d) {
      if (!lists(offset_, static_cast<int64_t>(d))) of_position.push_back(slice_index[d]);
    }
    at.assign(operand_.size(), 0);
    for (size_t k = 0; k < index_map_.size(); ++k) {
      Shape component = of_position;
      if (vector_dim_ < indices_.type.rank())
        component.insert(component.begin() + vector_dim_, static_cast<int64_t>(k));
      at[static_cast<size_t>(index_map_[k])] =
          static_cast<int64_t>(indices_.re[position(indices_.type.dims, component)]);
    }
    for (size_t b = 0; b < operand_batch_.size(); ++b) {
      const int64_t dim = indices_batch_[b] - (indices_batch_[b] > vector_dim_ ? 1 : 0);
      at[static_cast<size_t>(operand_batch_[b])] = of_position[static_cast<size_t>(dim)];
    }
    bool inside = true;
    for (size_t d = 0; d < at.size(); ++d) {
      const int64_t moved = std::max<int64_t>(0, std::min(at[d], operand_[d] - sizes_[d]));
      inside = inside && moved == at[d];
      if (clamp) at[d] = moved;
    }
    size_t next = 0;
    for (size_t d = 0; d < at.size(); ++d) {
      const auto dim = static_cast<int64_t>(d);
      if (lists(collapsed_, dim) || lists(operand_batch_, dim)) continue;
      at[d] += slice_index[static_cast<size_t>(offset_[next++])];
    }
    return inside;
  }

 private:
  const Shape& operand_;
  const Naive& indices_;
  std::vector<int64_t> sizes_, offset_, collapsed_, operand_batch_, indices_batch_, index_map_;
  int64_t vector_dim_;
};

Naives gather(const NaiveCall& c) {
  const Windows windows(c);
  return {moved_elements(c.x[0], c.result(), [&](const Shape& i) {
    Shape at;
    windows.find(i, true, at);
    return at;
  })};
}

// combine(y, i, x, j): element i of y takes element j of the updates.
template <class F>
Reference scatter(F combine) {
  return [combine](const NaiveCall& c) {
    const Windows windows(c);
    Naive y = c.x[0];
    size_t from = 0;
    each_index(c.x[2].type.dims, [&](const Shape& i) {
      Shape at;
      if (windows.find(i, false, at)) combine(y, position(y.type.dims, at), c.x[2], from);
      ++from;
    });
    return Naives{y};
  };
}

template <class F>
Reference scatter_with(F f) {
  return scatter([f](Naive& y, size_t i, const Naive& x, size_t j) {
    y.re[i] = f(y.re[i], x.re[j]);
    if (y.type.dtype == DType::kPred)
      y.re[i] = y.re[i] != 0;
    else if (is_integer(y.type.dtype))
      y.re[i] = wrapped(static_cast<__int128>(y.re[i]), y.type.dtype);
    if (!y.im.empty()) y.im[i] = f(y.im[i], x.im[j]);  // sums only
  });
}

// True if a comes before b. NaN is the largest; -0 equals 0.
bool before(long double a, long double b, bool ascending) {
  if (!ascending) std::swap(a, b);
  if (std::isnan(a)) return false;
  return std::isnan(b) || a < b;
}

// Inserts each element of a line behind all that do not come after it.
std::vector<size_t> sorted_positions(const std::vector<std::vector<long double>>& keys,
                                     bool ascending) {
  std::vector<size_t> order;
  for (size_t i = 0; i < keys[0].size(); ++i) {
    const auto comes_before = [&](size_t other) {
      for (const auto& key : keys) {
        if (before(key[i], key[other], ascending)) return true;
        if (before(key[other], key[i], ascending)) return false;
      }
      return false;
    };
    size_t at = order.size();
    while (at > 0 && comes_before(order[at - 1])) --at;
    order.insert(order.begin() + static_cast<ptrdiff_t>(at), i);
  }
  return order;
}

Naives sort(const NaiveCall& c) {
  const auto axis = static_cast<size_t>(c.attrs.number("axis"));
  const auto num_keys = static_cast<size_t>(c.attrs.number("num_keys"));
  const bool ascending = c.attrs.value("order") == "ascending";
  Naives y = c.x;
  const Shape& shape = c.x[0].type.dims;
  Shape lines = shape;
  lines[axis] = 1;
  if (shape[axis] == 0) return y;
  each_index(lines, [&](const Shape& line) {
    const auto at = [&](size_t i) {
      Shape index = line;
      index[axis] = static_cast<int64_t>(i);
      return position(shape, index);
    };
    std::vector<std::vector<long double>> keys(num_keys);
    for (size_t k = 0; k < num_keys; ++k) {
      for (size_t i = 0; i < static_cast<size_t>(shape[axis]); ++i)
        keys[k].push_back(c.x[k].re[at(i)]);
    }
    const auto order = sorted_positions(keys, ascending);
    for (size_t operand = 0; operand < y.size(); ++operand) {
      for (size_t i = 0; i < order.size(); ++i)
        copy_element(c.x[operand], at(order[i]), y[operand], at(i));
    }
  });
  return y;
}

// True if a is less than b: by sign, then NaN by its sign at an end, then by value.
bool in_total_order(long double a, long double b) {
  if (std::signbit(a) != std::signbit(b)) return std::signbit(a);
  if (std::isnan(a) || std::isnan(b)) return std::signbit(a) ? !std::isnan(b) : !std::isnan(a);
  return a < b;
}

Naives top_k(const NaiveCall& c) {
  const auto k = static_cast<size_t>(c.attrs.number("k"));
  Naives y = {Naive(c.result(0)), Naive(c.result(1))};
  const auto n = static_cast<size_t>(c.x[0].dim(-1));
  for (size_t first = 0; n > 0 && first < c.x[0].size(); first += n) {
    const std::vector<long double> line(c.x[0].re.begin() + static_cast<ptrdiff_t>(first),
                                        c.x[0].re.begin() + static_cast<ptrdiff_t>(first + n));
    std::vector<size_t> order;  // each behind those that are not less in the total order
    for (size_t i = 0; i < n; ++i) {
      const auto is_less = [&](size_t j) { return in_total_order(line[j], line[i]); };
      size_t at = 0;
      while (at < order.size() && !is_less(order[at])) ++at;
      order.insert(order.begin() + static_cast<ptrdiff_t>(at), i);
    }
    for (size_t i = 0; i < k; ++i) {
      y[0].re[first / n * k + i] = line[order[i]];
      y[1].re[first / n * k + i] = static_cast<long double>(order[i]);
    }
  }
  return y;
}

long double or_nan(long double a, long double b, long double v) {
  return std::isnan(a) || std::isnan(b) ? a + b : v;
}

}  // namespace

void add_indexing_references(References& out) {
  out["dynamic_slice"] = dynamic_slice;
  out["dynamic_update_slice"] = dynamic_update_slice;
  out["gather"] = gather;
  out["scatter"] =
      scatter([](Naive& y, size_t i, const Naive& x, size_t j) { copy_element(x, j, y, i); });
  out["scatter_add"] = scatter_with([](auto a, auto b) { return a + b; });
  out["scatter_mul"] = scatter_with([](auto a, auto b) { return a * b; });
  out["scatter_min"] = scatter_with([](auto a, auto b) { return or_nan(a, b, a < b ? a : b); });
  out["scatter_max"] = scatter_with([](auto a, auto b) { return or_nan(a, b, a > b ? a : b); });
  out["sort"] = sort;
  out["top_k"] = top_k;
}

}  // namespace axle::testing
