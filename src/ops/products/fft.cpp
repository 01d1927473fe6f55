#include <fmt/format.h>

#include <cmath>
#include <complex>
#include <numbers>

#include "ops/create.h"
#include "ops/elementwise/elementwise.h"
#include "ops/movement/window_rules.h"
#include "ops/products/products.h"
#include "ops/rules.h"

namespace axle {
namespace {

enum class FftKind { kFft, kIfft, kRfft, kIrfft };

std::string_view mlir_kind(FftKind kind) {
  constexpr std::string_view kNames[] = {"FFT", "IFFT", "RFFT", "IRFFT"};
  return kNames[static_cast<size_t>(kind)];
}

struct FftAttributes : Attributes {
  FftAttributes(FftKind k, Shape s) : kind(k), sizes(std::move(s)) {}
  FftKind kind;
  Shape sizes;  // of the transformed dims; sizes of the real side for rfft and irfft
  std::string text() const override {
    return fmt::format("kind = {}, sizes = {}", mlir_kind(kind), to_text(sizes));
  }
};

const FftAttributes& fft_attributes(const OpNode& op) { return op.attrs<FftAttributes>(); }
size_t first_dim(const OpNode& op) {
  return op.inputs[0].shape().size() - fft_attributes(op).sizes.size();
}

std::vector<Type> infer_fft(const OpNode& op) {
  const Type& x = op.inputs[0].type();
  const auto& [kind, sizes] = std::tie(fft_attributes(op).kind, fft_attributes(op).sizes);
  const bool from_real = kind == FftKind::kRfft;
  if (from_real ? x.dtype != DType::kF32 && x.dtype != DType::kF64 : !is_complex(x.dtype)) {
    shape_error(op, fmt::format("expected {}, got {}", from_real ? "f32 or f64" : "c64 or c128",
                                name_of(x.dtype)));
  }
  Shape transformed = sizes;
  if (kind == FftKind::kIrfft) transformed.back() = sizes.back() / 2 + 1;
  const Shape last(x.dims.begin() + first_dim(op), x.dims.end());
  if (last != transformed || std::ranges::find(sizes, 0) != sizes.end()) {
    shape_error(op, fmt::format("expected last dims {} of at least one element, got {}",
                                to_text(transformed), to_text(last)));
  }
  Type y = x;
  if (from_real) {
    y.dtype = x.dtype == DType::kF64 ? DType::kC128 : DType::kC64;
    y.dims.back() = sizes.back() / 2 + 1;
  } else if (kind == FftKind::kIrfft) {
    y = {real_dtype(x.dtype), x.dims};
    y.dims.back() = sizes.back();
  }
  return {y};
}

using Complex = std::complex<double>;

size_t smallest_factor(size_t n) {
  for (size_t p = 2; p * p <= n; ++p) {
    if (n % p == 0) return p;
  }
  return n;
}

// Sets out[k] = sum of in[j * step] * roots[j * k * root_step] for n elements. The roots are those
// of unity of order n * root_step. Each prime factor p of n splits the sum into p sums over every
// pth element.
void transform(const Complex* in, size_t step, size_t n, const std::vector<Complex>& roots,
               size_t root_step, Complex* out) {
  if (n == 1) {
    out[0] = in[0];
    return;
  }
  const size_t p = smallest_factor(n), m = n / p;
  std::vector<Complex> parts(n);
  for (size_t r = 0; r < p; ++r)
    transform(in + r * step, step * p, m, roots, root_step * p, parts.data() + r * m);
  for (size_t k = 0; k < n; ++k) {
    out[k] = 0;
    for (size_t r = 0; r < p; ++r) out[k] += parts[r * m + k % m] * roots[r * k % n * root_step];
  }
}

// Transforms a dense array along one dim. `sign` is that of the exponent.
void transform_dim(std::vector<Complex>& values, const Shape& shape, size_t dim, double sign) {
  const auto n = static_cast<size_t>(shape[dim]);
  std::vector<Complex> roots(n), in(n), out(n);
  for (size_t j = 0; j < n; ++j)
    roots[j] = std::polar(
        1.0, sign * 2 * std::numbers::pi * static_cast<double>(j) / static_cast<double>(n));
  for_each_line(shape, static_cast<int64_t>(dim), [&](size_t first, size_t step, size_t count) {
    for (size_t j = 0; j < count; ++j) in[j] = values[first + j * step];
    transform(in.data(), 1, n, roots, 1, out.data());
    for (size_t j = 0; j < count; ++j) values[first + j * step] = out[j];
  });
}

// Returns the whole last dim, of size n, of which `half` has the first n / 2 + 1 elements.
std::vector<Complex> completed(const std::vector<Complex>& half, size_t n) {
  const size_t m = n / 2 + 1;
  std::vector<Complex> out;
  for (size_t line = 0; line < half.size() / m; ++line) {
    const Complex* h = half.data() + line * m;
    for (size_t j = 0; j < n; ++j) {
      const bool is_real = j == 0 || 2 * j == n;
      out.push_back(is_real ? h[j].real() : j < m ? h[j] : std::conj(h[n - j]));
    }
  }
  return out;
}

void eval_fft(const EvalOptions&, const OpNode& op, std::span<const HostTensor* const> x,
              std::span<HostTensor> y) {
  const auto& [kind, sizes] = std::tie(fft_attributes(op).kind, fft_attributes(op).sizes);
  if (y[0].size() == 0) return;
  const HostTensor in = x[0]->astype(DType::kC128);
  std::vector<Complex> values(in.values<Complex>().begin(), in.values<Complex>().end());
  const bool inverse = kind == FftKind::kIfft || kind == FftKind::kIrfft;
  Shape shape = in.shape();
  const size_t last = shape.size() - 1;
  for (size_t d = first_dim(op); d < last; ++d) transform_dim(values, shape, d, inverse ? 1 : -1);
  if (kind == FftKind::kIrfft) {
    values = completed(values, static_cast<size_t>(sizes.back()));
    shape.back() = sizes.back();
  }
  transform_dim(values, shape, last, inverse ? 1 : -1);
  const double scale = inverse ? 1 / static_cast<double>(num_elements(sizes)) : 1;
  HostTensor out(Type{DType::kC128, op.outputs[0].dims});
  const auto n = static_cast<size_t>(shape.back()),
             kept = static_cast<size_t>(op.outputs[0].dims.back());
  const auto to = out.values<Complex>();
  for (size_t i = 0; i < to.size(); ++i) to[i] = scale * values[i / kept * n + i % kept];
  y[0] = out.astype(y[0].dtype());
}

// Returns the number of elements of a whole line that each element of its half stands for: 2, but 1
// for the first one and, if the size is even, for the last one.
Tensor multiplicity(int64_t size, DType dtype) {
  HostTensor out = HostTensor::full({size / 2 + 1}, 2);
  out.values<float>().front() = 1;
  if (size % 2 == 0) out.values<float>().back() = 1;
  return constant(out.astype(dtype));
}

// A transform is a symmetric matrix. That of real numbers takes half of its rows: the pullback of
// rfft is the real part of the transform of the half.
Values fft_vjp(X x, Y, Ct g) {
  const auto& [kind, sizes] = std::tie(fft_attributes(x.op()).kind, fft_attributes(x.op()).sizes);
  const auto num_dims = std::ssize(sizes);
  const double count = static_cast<double>(num_elements(sizes));
  switch (kind) {
    case FftKind::kFft:
      return {fft(g[0], num_dims)};
    case FftKind::kIfft:
      return {ifft(g[0], num_dims)};
    case FftKind::kRfft: {
      const Tensor each = conj(g[0]) / multiplicity(sizes.back(), g[0].dtype());
      return {irfft(each, sizes.back(), num_dims) * count};
    }
    case FftKind::kIrfft:
      break;
  }
  return {conj(rfft(g[0], num_dims) * (multiplicity(sizes.back(), x[0].dtype()) / count))};
}

// 5 n log2(n) operations for n complex numbers, half of it for real ones.
double fft_flops(const OpNode& op) {
  const auto& [kind, sizes] = std::tie(fft_attributes(op).kind, fft_attributes(op).sizes);
  const bool is_real = kind == FftKind::kRfft || kind == FftKind::kIrfft;
  const auto& real_side = kind == FftKind::kRfft ? op.inputs[0].type() : op.outputs[0];
  return (is_real ? 2.5 : 5.0) * static_cast<double>(real_side.num_elements()) *
         std::log2(static_cast<double>(num_elements(sizes)));
}

const OpRules fft_rules(
    {.name = "fft",
     .infer = infer_fft,
     .batch = trailing_dims,
     .vjp = fft_vjp,
     .eval = eval_fft,
     .hlo =
         [](const OpNode& op, HloBuilder& b, const HloValues& x) {
           const auto& a = fft_attributes(op);
           return HloValues{b.one("stablehlo.fft", x, op.outputs[0],
                                  fmt::format("fft_length = {}, fft_type = #stablehlo<fft_type {}>",
                                              mlir_array(a.sizes), mlir_kind(a.kind)))};
         },
     .cost = fft_flops});

// Emits the transform of the last `num_dims` dims of x. `last` is the size of the last dim of the
// real side; none: that of x.
Tensor apply_fft(std::string_view name, FftKind kind, const Tensor& x, int64_t num_dims,
                 std::optional<int64_t> last = {}) {
  if (num_dims < 1 || num_dims > 3 || num_dims > x.rank()) {
    shape_error(name, fmt::format("expected 1 to 3 dims to transform, got {}", num_dims), {x});
  }
  Shape sizes(x.shape().end() - num_dims, x.shape().end());
  if (last) sizes.back() = *last;
  return emit(fft_rules, {x}, FftAttributes(kind, std::move(sizes)));
}

}  // namespace

Tensor fft(const Tensor& x, int64_t num_dims) {
  return apply_fft("fft", FftKind::kFft, x, num_dims);
}
Tensor ifft(const Tensor& x, int64_t num_dims) {
  return apply_fft("ifft", FftKind::kIfft, x, num_dims);
}
Tensor rfft(const Tensor& x, int64_t num_dims) {
  return apply_fft("rfft", FftKind::kRfft, x, num_dims);
}
Tensor irfft(const Tensor& x, std::optional<int64_t> size, int64_t num_dims) {
  if (!size && x.rank() > 0) size = 2 * (x.dim(-1) - 1);
  if (size) check_at_least("irfft", "a size", *size, 1, {x});
  return apply_fft("irfft", FftKind::kIrfft, x, num_dims, size);
}

}  // namespace axle
