#include "ops/products/dot_eval.h"

#include <algorithm>
#include <cmath>
#include <complex>
#include <memory>

#include "base/parallel.h"

// No fused multiply-add: it would round once where machines without it round twice. Sums stay in
// registers in debug builds, too.
#pragma GCC push_options
#pragma GCC optimize("O3", "fp-contract=off")

namespace axle {
namespace {

// `kRows` rows times the columns of two registers of `kBytes` bytes. Inlined into functions that
// are compiled for machines with such registers.
template <class T, int kBytes, int kRows>
[[gnu::always_inline]] inline void multiply_strips_at(const T* a, const T* b, int64_t depth, T* c,
                                                      int64_t stride) {
  typedef T V __attribute__((vector_size(kBytes)));
  // The same register in memory, anywhere.
  typedef T Stored __attribute__((vector_size(kBytes), aligned(alignof(T)), may_alias));
  constexpr int64_t kLanes = kBytes / sizeof(T);
  V left[kRows], right[kRows];
#pragma GCC unroll 16
  for (int r = 0; r < kRows; ++r) {
    left[r] = *reinterpret_cast<const Stored*>(c + r * stride);
    right[r] = *reinterpret_cast<const Stored*>(c + r * stride + kLanes);
  }
  for (int64_t i = 0; i < depth; ++i) {
    const V b_left = *reinterpret_cast<const Stored*>(b + i * 2 * kLanes),
            b_right = *reinterpret_cast<const Stored*>(b + (i * 2 + 1) * kLanes);
#pragma GCC unroll 16
    for (int r = 0; r < kRows; ++r) {
      left[r] += a[i * kRows + r] * b_left;
      right[r] += a[i * kRows + r] * b_right;
    }
  }
#pragma GCC unroll 16
  for (int r = 0; r < kRows; ++r) {
    *reinterpret_cast<Stored*>(c + r * stride) = left[r];
    *reinterpret_cast<Stored*>(c + r * stride + kLanes) = right[r];
  }
}

template <class T>
void multiply_16(const T* a, const T* b, int64_t depth, T* c, int64_t stride) {
  multiply_strips_at<T, 16, 4>(a, b, depth, c, stride);
}
template <class T>
constexpr DotKernel<T> kernel_16{4, 32 / sizeof(T), multiply_16<T>};

#ifdef __x86_64__
template <class T>
[[gnu::target("avx2")]] void multiply_32(const T* a, const T* b, int64_t depth, T* c,
                                         int64_t stride) {
  multiply_strips_at<T, 32, 6>(a, b, depth, c, stride);
}
template <class T>
constexpr DotKernel<T> kernel_32{6, 64 / sizeof(T), multiply_32<T>};

template <class T>
[[gnu::target("avx512f,avx512dq")]] void multiply_64(const T* a, const T* b, int64_t depth, T* c,
                                                     int64_t stride) {
  multiply_strips_at<T, 64, 8>(a, b, depth, c, stride);
}
template <class T>
constexpr DotKernel<T> kernel_64{8, 128 / sizeof(T), multiply_64<T>};
#endif

}  // namespace

template <class T>
const DotKernel<T>& dot_kernel() {
#ifdef __x86_64__
  static const DotKernel<T>& chosen =
      __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") ? kernel_64<T>
      : __builtin_cpu_supports("avx2")                                        ? kernel_32<T>
                                                                              : kernel_16<T>;
  return chosen;
#else
  return kernel_16<T>;
#endif
}
template const DotKernel<float>& dot_kernel<float>();
template const DotKernel<double>& dot_kernel<double>();
template const DotKernel<uint32_t>& dot_kernel<uint32_t>();
template const DotKernel<uint64_t>& dot_kernel<uint64_t>();

}  // namespace axle

#pragma GCC pop_options

namespace axle {
namespace {

using Dims = std::vector<int64_t>;
using Offsets = std::vector<int64_t>;

// Returns the position of each index of these dims, in row-major order, in a dense array.
Offsets offsets_of(const Shape& shape, const Dims& dims) {
  const Shape strides = row_major_strides(shape);
  Offsets out{0};
  for (const int64_t d : dims) {
    Offsets finer;
    for (const int64_t start : out) {
      for (int64_t i = 0; i < shape[d]; ++i) finer.push_back(start + i * strides[d]);
    }
    out = std::move(finer);
  }
  return out;
}

// An operand as matrices: the element (g, i, k) lies at batch[g] + free[i] + contracting[k].
struct Matrices {
  Offsets batch, free, contracting;
};

struct Sizes {
  int64_t batch, m, n, k;
};

int64_t num_strips(int64_t n, int64_t width) { return (n + width - 1) / width; }

// Packs the terms of up to `width` rows (or columns) as [k, width], padded with zeros.
template <class T, class S>
void pack_strip(const S* x, std::span<const int64_t> free, const Offsets& contracting,
                int64_t width, T* out) {
  const size_t n = free.size();
  bool is_line = true;
  for (size_t r = 0; r < n; ++r) is_line &= free[r] == free[0] + static_cast<int64_t>(r);
  for (const int64_t k : contracting) {
    if (is_line) {
      for (size_t r = 0; r < n; ++r)
        out[r] = convert_element<T>(x[k + free[0] + static_cast<int64_t>(r)]);
    } else {
      for (size_t r = 0; r < n; ++r) out[r] = convert_element<T>(x[k + free[r]]);
    }
    std::fill(out + n, out + width, T(0));
    out += width;
  }
}

// Packs the strips [begin, end) of an operand. Strips are counted through all batches.
template <class T>
void pack_strips(const HostTensor& x, const Matrices& at, int64_t width, int64_t begin, int64_t end,
                 T* out) {
  const auto num_free = std::ssize(at.free);
  const auto k = std::ssize(at.contracting);
  const int64_t strips = num_strips(num_free, width);
  const auto pack = [&]<class S>(std::type_identity<S>) {
    for (int64_t strip = begin; strip < end; ++strip) {
      const int64_t first = strip % strips * width;
      const std::span free = std::span(at.free).subspan(
          static_cast<size_t>(first), static_cast<size_t>(std::min(width, num_free - first)));
      pack_strip<T>(x.values<S>().data() + at.batch[strip / strips], free, at.contracting, width,
                    out + (strip - begin) * k * width);
    }
  };
  if (x.dtype() == DType::kBF16)
    pack(std::type_identity<BF16>{});
  else
    pack(std::type_identity<T>{});
}

// Multiplies strips [begin, end) of one matrix of a by all of b's matrix `panels`.
template <class T>
void multiply_strips(const T* strips, int64_t begin, int64_t end, const T* panels, T* c,
                     const Sizes& s) {
  constexpr int64_t kDepth = 256;  // a part of this length of one panel stays in the nearest cache
  const auto& [rows, columns, kernel] = dot_kernel<T>();
  std::vector<T> tile(static_cast<size_t>(rows * columns));
  for (int64_t k = 0; k < s.k; k += kDepth) {
    const int64_t depth = std::min(kDepth, s.k - k);
    for (int64_t column = 0; column < s.n; column += columns) {
      const T* const panel = panels + column * s.k + k * columns;
      const int64_t width = std::min(columns, s.n - column);
      for (int64_t strip = begin; strip < end; ++strip) {
        const int64_t height = std::min(rows, s.m - strip * rows);
        const T* const a = strips + (strip - begin) * s.k * rows + k * rows;
        T* const to = c + strip * rows * s.n + column;
        if (height == rows && width == columns) {
          kernel(a, panel, depth, to, s.n);
          continue;
        }
        for (int64_t r = 0; r < height; ++r) std::copy_n(to + r * s.n, width, &tile[r * columns]);
        kernel(a, panel, depth, tile.data(), columns);
        for (int64_t r = 0; r < height; ++r) std::copy_n(&tile[r * columns], width, to + r * s.n);
      }
    }
  }
}

// Returns how many items of this many operations are worth a thread.
int64_t items_for_a_thread(int64_t operations) {
  constexpr int64_t kWorthAThread = 1 << 17;
  return std::max<int64_t>(1, kWorthAThread / std::max<int64_t>(operations, 1));
}

// Adds the products of the matrices to c.
template <class T>
void multiply(const HostTensor& a, const Matrices& of_a, const HostTensor& b, const Matrices& of_b,
              T* c, const Sizes& s) {
  const int64_t rows = dot_kernel<T>().rows, columns = dot_kernel<T>().columns;
  const int64_t panels_each = num_strips(s.n, columns), strips_each = num_strips(s.m, rows);
  const int64_t panel_size = s.k * columns;
  const auto panels =
      std::make_unique_for_overwrite<T[]>(static_cast<size_t>(s.batch * panels_each * panel_size));
  parallel_for(s.batch * panels_each, items_for_a_thread(panel_size),
               [&](int64_t begin, int64_t end) {
                 pack_strips(b, of_b, columns, begin, end, panels.get() + begin * panel_size);
               });
  // This many strips share what they read of a panel.
  constexpr int64_t kGroup = 8;
  parallel_for(
      s.batch * strips_each, items_for_a_thread(s.k * rows * s.n), [&](int64_t begin, int64_t end) {
        std::vector<T> strips(static_cast<size_t>(kGroup * s.k * rows));
        while (begin < end) {
          const int64_t g = begin / strips_each;
          const int64_t last = std::min({end, begin + kGroup, (g + 1) * strips_each});
          pack_strips(a, of_a, rows, begin, last, strips.data());
          multiply_strips(strips.data(), begin - g * strips_each, last - g * strips_each,
                          panels.get() + g * panels_each * panel_size, c + g * s.m * s.n, s);
          begin = last;
        }
      });
}

// Complex numbers, which no register holds.
template <class T>
void multiply_plain(const HostTensor& a, const Matrices& of_a, const HostTensor& b,
                    const Matrices& of_b, T* c) {
  for (size_t g = 0; g < of_a.batch.size(); ++g) {
    const T* const left = a.values<T>().data() + of_a.batch[g];
    const T* const right = b.values<T>().data() + of_b.batch[g];
    for (const int64_t i : of_a.free) {
      for (size_t k = 0; k < of_a.contracting.size(); ++k) {
        for (size_t j = 0; j < of_b.free.size(); ++j)
          c[j] += left[i + of_a.contracting[k]] * right[of_b.contracting[k] + of_b.free[j]];
      }
      c += of_b.free.size();
    }
  }
}

template <class T>
void run(const DotDims& dims, const HostTensor& a, const HostTensor& b, HostTensor& y) {
  if (y.size() == 0) return;
  constexpr DType kType = dtype_of<T>();
  if (y.dtype() != kType) {
    HostTensor wide(Type{kType, y.shape()});
    run<T>(dims, a, b, wide);
    y = wide.astype(y.dtype());
    return;
  }
  // Packing converts bf16 to f32.
  const auto is_read = [](const HostTensor& x) {
    return x.dtype() == kType || (std::is_same_v<T, float> && x.dtype() == DType::kBF16);
  };
  if (!is_read(a)) return run<T>(dims, a.astype(kType), b, y);
  if (!is_read(b)) return run<T>(dims, a, b.astype(kType), y);
  const Matrices of_a{
      offsets_of(a.shape(), dims.a_batch),
      offsets_of(a.shape(), free_dims(a.type().rank(), dims.a_contracting, dims.a_batch)),
      offsets_of(a.shape(), dims.a_contracting)};
  const Matrices of_b{
      offsets_of(b.shape(), dims.b_batch),
      offsets_of(b.shape(), free_dims(b.type().rank(), dims.b_contracting, dims.b_batch)),
      offsets_of(b.shape(), dims.b_contracting)};
  T* const c = y.values<T>().data();
  std::fill_n(c, y.size(), T(0));
  if constexpr (kIsComplex<T>) {
    multiply_plain(a, of_a, b, of_b, c);
  } else {
    const auto size = [](const Offsets& offsets) { return std::ssize(offsets); };
    multiply(a, of_a, b, of_b, c,
             {size(of_a.batch), size(of_a.free), size(of_b.free), size(of_a.contracting)});
  }
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
      run<float>(dims, parts_of_a[i], parts_of_b[order - i], product);
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
  if (has_integers(algorithm)) {
    HostTensor sums(Type{DType::kI32, y.shape()});
    run<uint32_t>(dims, a.astype(DType::kI8), b.astype(DType::kI8), sums);
    y = sums.astype(y.dtype());
    return;
  }
  // Integers are multiplied as unsigned numbers: their wraparound is defined in C++. The low bits
  // of narrow and wide ones are the same.
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
