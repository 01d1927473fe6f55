#include "ops/products/dot_eval.h"

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstring>

#include "base/threads.h"
#include "ops/movement/strided.h"

namespace axle {
namespace {

using Dims = std::vector<int64_t>;

// A SIMD register of 16 bytes. Compilers split or fuse its operations to fit the machine.
template <class T>
struct Register {
  typedef T Type __attribute__((vector_size(16)));
};
template <class T>
inline constexpr int64_t kLanes = 16 / sizeof(T);
template <class T>
inline constexpr int64_t kColumns = 2 * kLanes<T>;  // width of a panel
constexpr int64_t kRows = 4;

int64_t product(const Shape& shape, const Dims& dims) {
  int64_t out = 1;
  for (const int64_t d : dims) out *= shape[static_cast<size_t>(d)];
  return out;
}

Dims concatenate_dims(std::initializer_list<const Dims*> lists) {
  Dims out;
  for (const Dims* list : lists) out.insert(out.end(), list->begin(), list->end());
  return out;
}

// Returns x with its dims in the order of `perm`.
HostTensor permuted(const HostTensor& x, const Dims& perm) {
  if (std::ranges::is_sorted(perm)) return x;
  const Shape strides = row_major_strides(x.shape());
  StridedView from;
  Shape shape;
  for (const int64_t d : perm) {
    shape.push_back(x.shape()[static_cast<size_t>(d)]);
    from.strides.push_back(strides[static_cast<size_t>(d)]);
  }
  HostTensor out(Type{x.dtype(), shape});
  copy_strided(shape, x, from, out, {0, row_major_strides(shape)});
  return out;
}

struct Sizes {
  int64_t batch, m, n, k;
};

// Packs [batch, k, n] into [batch, panels, k, kColumns]. The last panel is padded with zeros.
template <class T>
std::vector<T> in_panels(std::span<const T> b, const Sizes& s) {
  const int64_t panels = (s.n + kColumns<T> - 1) / kColumns<T>;
  std::vector<T> out(static_cast<size_t>(s.batch * panels * s.k * kColumns<T>));
  for (int64_t g = 0; g < s.batch; ++g) {
    for (int64_t p = 0; p < panels; ++p) {
      const int64_t width = std::min(kColumns<T>, s.n - p * kColumns<T>);
      for (int64_t k = 0; k < s.k; ++k) {
        std::copy_n(&b[static_cast<size_t>((g * s.k + k) * s.n + p * kColumns<T>)], width,
                    &out[static_cast<size_t>(((g * panels + p) * s.k + k) * kColumns<T>)]);
      }
    }
  }
  return out;
}

// c[r, :] = a[r, :] * panel for `rows` rows of a.
template <class T, int64_t rows>
void multiply_panel(const T* a, const T* panel, int64_t k, T* c) {
  using V = typename Register<T>::Type;
  V sum[rows][2] = {};
  for (int64_t i = 0; i < k; ++i) {
    V b[2];
    std::memcpy(b, panel + i * kColumns<T>, sizeof(b));
    for (int64_t r = 0; r < rows; ++r) {
      sum[r][0] += a[r * k + i] * b[0];
      sum[r][1] += a[r * k + i] * b[1];
    }
  }
  std::memcpy(c, sum, sizeof(sum));
}

// Computes the rows [begin, end) of c. Rows are counted through all batches.
template <class T>
void multiply_rows(const T* a, const T* panels, T* c, const Sizes& s, int64_t begin, int64_t end) {
  const int64_t num_panels = (s.n + kColumns<T> - 1) / kColumns<T>;
  T block[kRows * kColumns<T>];
  for (int64_t row = begin; row < end;) {
    const int64_t g = row / s.m;
    const int64_t rows = std::min(end, (g + 1) * s.m) - row >= kRows ? kRows : 1;
    for (int64_t p = 0; p < num_panels; ++p) {
      const T* panel = panels + (g * num_panels + p) * s.k * kColumns<T>;
      if (rows == kRows)
        multiply_panel<T, kRows>(a + row * s.k, panel, s.k, block);
      else
        multiply_panel<T, 1>(a + row * s.k, panel, s.k, block);
      const int64_t width = std::min(kColumns<T>, s.n - p * kColumns<T>);
      for (int64_t r = 0; r < rows; ++r) {
        std::copy_n(block + r * kColumns<T>, width, c + (row + r) * s.n + p * kColumns<T>);
      }
    }
    row += rows;
  }
}

// Complex numbers, which no register holds.
template <class T>
void multiply_plain(const T* a, const T* b, T* c, const Sizes& s) {
  for (int64_t row = 0; row < s.batch * s.m; ++row) {
    const T* const matrix = b + row / s.m * s.k * s.n;
    for (int64_t k = 0; k < s.k; ++k) {
      for (int64_t n = 0; n < s.n; ++n) c[row * s.n + n] += a[row * s.k + k] * matrix[k * s.n + n];
    }
  }
}

template <class T>
void multiply(const T* a, std::span<const T> b, T* c, const Sizes& s) {
  const auto panels = in_panels<T>(b, s);
  const int64_t total = s.batch * s.m;
  constexpr int64_t kWorthAThread = 1 << 18;  // multiplications that make a second thread pay off
  if (total < 2 * kRows || total * s.n * s.k < kWorthAThread)
    return multiply_rows(a, panels.data(), c, s, 0, total);
  const int64_t half = total / 2 / kRows * kRows;
  const auto second_half = [&] { multiply_rows(a, panels.data(), c, s, half, total); };
  std::thread other;
  if (!try_start(other, second_half)) second_half();
  multiply_rows(a, panels.data(), c, s, 0, half);
  if (other.joinable()) other.join();
}

template <class T>
void run(const DotDims& dims, const HostTensor& a, const HostTensor& b, HostTensor& y) {
  const Dims a_free = free_dims(a.type().rank(), dims.a_contracting, dims.a_batch);
  const Dims b_free = free_dims(b.type().rank(), dims.b_contracting, dims.b_batch);
  const Sizes s{product(a.shape(), dims.a_batch), product(a.shape(), a_free),
                product(b.shape(), b_free), product(a.shape(), dims.a_contracting)};
  if (y.size() == 0) return;
  constexpr DType kType = dtype_of<T>();
  const HostTensor left =
      permuted(a.astype(kType), concatenate_dims({&dims.a_batch, &a_free, &dims.a_contracting}));
  const HostTensor right =
      permuted(b.astype(kType), concatenate_dims({&dims.b_batch, &dims.b_contracting, &b_free}));
  HostTensor c(Type{kType, y.shape()});
  const T* const rows = left.values<T>().data();
  if constexpr (kIsComplex<T>)
    multiply_plain(rows, right.values<T>().data(), c.values<T>().data(), s);
  else
    multiply(rows, right.values<T>(), c.values<T>().data(), s);
  y = y.dtype() == kType ? std::move(c) : c.astype(y.dtype());
}

// Splits x into parts of fewer bits whose sum comes close to x.
std::vector<HostTensor> rounded_parts(const HostTensor& x, const DotRounding& rounding) {
  HostTensor rest = x;
  std::vector<HostTensor> parts;
  for (int i = 0; i < rounding.num_parts; ++i) {
    HostTensor part = rest;
    const auto of_part = part.values<float>(), of_rest = rest.values<float>();
    for (size_t j = 0; j < of_part.size(); ++j) {
      of_part[j] = with_fraction_bits(of_rest[j], rounding.mantissa_bits);
      of_rest[j] = std::isfinite(of_part[j]) ? of_rest[j] - of_part[j] : 0;
    }
    parts.push_back(std::move(part));
  }
  return parts;
}

// Adds the products of parts, the smallest ones first.
void run_in_parts(const DotDims& dims, const HostTensor& a, const HostTensor& b, HostTensor& y,
                  const DotRounding& rounding) {
  const auto parts_of_a = rounded_parts(a, rounding), parts_of_b = rounded_parts(b, rounding);
  HostTensor sum(Type{DType::kF32, y.shape()});
  for (int order = rounding.num_orders; order-- > 0;) {
    for (int i = 0; i < rounding.num_parts; ++i) {
      if (order - i < 0 || order - i >= rounding.num_parts) continue;
      HostTensor product(sum.type());
      run<float>(dims, parts_of_a[static_cast<size_t>(i)],
                 parts_of_b[static_cast<size_t>(order - i)], product);
      const auto to = sum.values<float>(), from = product.values<float>();
      for (size_t j = 0; j < to.size(); ++j) to[j] += from[j];
    }
  }
  y = sum.astype(y.dtype());
}

}  // namespace

std::vector<int64_t> free_dims(int64_t rank, const Dims& contracting, const Dims& batch) {
  Dims out;
  for (int64_t d = 0; d < rank; ++d) {
    if (std::ranges::find(contracting, d) == contracting.end() &&
        std::ranges::find(batch, d) == batch.end()) {
      out.push_back(d);
    }
  }
  return out;
}

void eval_dot(const DotDims& dims, const HostTensor& a, const HostTensor& b, HostTensor& y,
              DotAlgorithm algorithm) {
  // Integers are multiplied as unsigned numbers: their wraparound is defined in C++. The low bits
  // of narrow ones are those of wide ones.
  if (is_integer(a.dtype())) {
    return size_bytes(y.dtype()) == 8 ? run<uint64_t>(dims, a, b, y) : run<uint32_t>(dims, a, b, y);
  }
  if (a.dtype() == DType::kC128) return run<std::complex<double>>(dims, a, b, y);
  if (a.dtype() == DType::kC64) return run<std::complex<float>>(dims, a, b, y);
  const auto rounding = rounding_of(algorithm);
  if (a.dtype() == DType::kF64 || y.dtype() == DType::kF64)
    run<double>(dims, a, b, y);
  else if (rounding && a.dtype() == DType::kF32)
    run_in_parts(dims, a, b, y, *rounding);
  else
    run<float>(dims, a, b, y);
}

}  // namespace axle
