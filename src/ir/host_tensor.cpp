#include "ir/host_tensor.h"

#include <fmt/format.h>
#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <new>
#include <utility>

#include "base/error.h"
#include "base/host_memory.h"
#include "base/parallel.h"

namespace axle {
namespace {

constexpr std::align_val_t kAlignment{64};
// From this size on a tensor has pages of its own. They are zero, and come when they are written
// first, large ones where the system has them: threads that fill a tensor share that work.
constexpr size_t kMappedBytes = size_t{32} << 20;

// A type that holds every value of the element type T. Conversions go through it: a function for
// each pair of element types would be 361.
template <class T>
using Wide = std::conditional_t<
    kIsComplex<T>, std::complex<double>,
    std::conditional_t<std::is_floating_point_v<Computed<T>>, Computed<T>,
                       std::conditional_t<std::is_signed_v<Computed<T>>, int64_t, uint64_t>>>;

// Converts the elements into `out`, from index `at` on.
template <class W>
void narrow(std::span<const W> from, HostTensor& out, size_t at) {
  dispatch_any(out.dtype(), [&]<class To>(std::type_identity<To>) {
    std::ranges::transform(from, out.values<To>().subspan(at).begin(), convert_element<To, W>);
  });
}

}  // namespace

// Every tensor of the host is allocated here, so that none of them gets the process killed for lack
// of memory.
HostTensor::Data HostTensor::allocate(const Type& type) {
  const size_t bytes = type.num_bytes();
  if (static_cast<int64_t>(bytes) >= kSmallHostBytes)
    check_host_allocation("a tensor", to_text(type), static_cast<int64_t>(bytes));
  if (bytes < kMappedBytes)
    return Data(new (kAlignment) std::byte[std::max<size_t>(bytes, 1)], Free{});
  void* const pages =
      ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (pages == MAP_FAILED) throw std::bad_alloc();
  ::madvise(pages, bytes, MADV_HUGEPAGE);  // an advice: without it all works
  return Data(static_cast<std::byte*>(pages), Free{bytes});
}

void HostTensor::Free::operator()(std::byte* p) const {
  if (mapped != 0)
    ::munmap(p, mapped);
  else
    ::operator delete[](p, kAlignment);
}

HostTensor::HostTensor(Type type) : type_(std::move(type)), data_(allocate(type_)) {
  if (data_.get_deleter().mapped == 0) std::memset(data_.get(), 0, type_.num_bytes());
}

HostTensor::HostTensor(const HostTensor& other) : type_(other.type_), data_(allocate(type_)) {
  std::memcpy(data_.get(), other.data_.get(), type_.num_bytes());
}

HostTensor& HostTensor::operator=(HostTensor other) noexcept {
  type_ = std::move(other.type_);
  data_ = std::move(other.data_);
  return *this;
}

HostTensor HostTensor::full(Shape shape, Scalar value, DType dtype) {
  HostTensor out(Type{dtype, std::move(shape)});
  dispatch_any(dtype, [&]<class T>(std::type_identity<T>) {
    std::ranges::fill(out.values<T>(), value.as<T>());
  });
  return out;
}

double HostTensor::at(int64_t i) const { return element(i).as<double>(); }
Scalar HostTensor::element(int64_t i) const {
  return dispatch(dtype(), [&]<class T>(std::type_identity<T>) {
    const T v = values<T>()[i];
    return Scalar(static_cast<Computed<T>>(v));
  });
}

HostTensor HostTensor::astype(DType to) const {
  if (to == dtype()) return *this;
  HostTensor out(Type{to, shape()});
  dispatch_any(dtype(), [&]<class From>(std::type_identity<From>) {
    using W = Wide<From>;
    const auto from = values<From>();
    if constexpr (std::is_same_v<W, From>) {
      narrow<W>(from, out, 0);
    } else {
      std::array<W, 1024> wide;
      for (size_t at = 0; at < from.size(); at += wide.size()) {
        const auto block = from.subspan(at, std::min(wide.size(), from.size() - at));
        std::ranges::transform(block, wide.begin(), convert_element<W, From>);
        narrow<W>(std::span(wide).first(block.size()), out, at);
      }
    }
  });
  return out;
}

HostTensor HostTensor::reshaped(Shape shape) const {
  AXLE_CHECK(num_elements(shape) == size(), "reshape must keep the number of elements");
  HostTensor out(*this);
  out.type_.dims = std::move(shape);
  return out;
}

bool HostTensor::operator==(const HostTensor& other) const {
  return type_ == other.type_ &&
         std::memcmp(data_.get(), other.data_.get(), type_.num_bytes()) == 0;
}

std::string HostTensor::text(int64_t max_values) const {
  // Equal texts mean equal elements (Attributes::text): 9 digits distinguish any two 32-bit
  // numbers, and the default format of fmt any two doubles.
  const bool is_double = real_dtype(dtype()) == DType::kF64;
  const auto number = [&](double v) {
    return is_double ? fmt::format("{}", v) : fmt::format("{:.9g}", v);
  };
  std::string out = to_text(type_) + " {";
  for (int64_t i = 0; i < std::min(size(), max_values); ++i) {
    out += i ? ", " : "";
    if (is_complex(dtype())) {
      dispatch_complex(dtype(), [&]<class T>(std::type_identity<T>) {
        const T v = values<T>()[i];
        out += fmt::format("({}, {})", number(v.real()), number(v.imag()));
      });
    } else {
      out += is_float(dtype()) ? number(at(i)) : element(i).text();
    }
  }
  return out + (size() > max_values ? ", ...}" : "}");
}

void HostTensor::check_dtype(DType expected) const {
  AXLE_CHECK(type_.dtype == expected,
             fmt::format("a tensor of {} read as {}", name_of(type_.dtype), name_of(expected)));
}
void HostTensor::check_size(size_t bytes) const {
  AXLE_CHECK(
      size_bytes(type_.dtype) == bytes,
      fmt::format("a tensor of {} read as elements of {} bytes", name_of(type_.dtype), bytes));
}
void HostTensor::check_count(size_t n) const {
  AXLE_CHECK(static_cast<int64_t>(n) == size(), fmt::format("{} values for {}", n, to_text(type_)));
}

namespace {

// A number is NaN or infinite if all bits of `mask` are set in it. Then the lowest of them carries
// into the sign. A block has a fixed length and no branch, so that it becomes vectors at -O2, too.
template <class Bits>
bool none_has(const HostTensor& tensor, Bits mask) {
  constexpr size_t kBlock = 4096 / sizeof(Bits);
  constexpr Bits kSign = Bits{1} << (8 * sizeof(Bits) - 1);
  const auto lowest = static_cast<Bits>(mask & -mask);
  const auto carries = [&](Bits v) { return static_cast<Bits>((v & mask) + lowest); };
  const auto* at = reinterpret_cast<const Bits*>(tensor.bytes().data());
  size_t rest = tensor.bytes().size() / sizeof(Bits);
  for (; rest >= kBlock; rest -= kBlock, at += kBlock) {
    Bits found = 0;
    for (size_t i = 0; i < kBlock; ++i) found |= carries(at[i]);
    if (found & kSign) return false;
  }
  return std::all_of(at, at + rest, [&](Bits v) { return !(carries(v) & kSign); });
}

}  // namespace

bool all_finite(const HostTensor& tensor) {
  switch (tensor.dtype()) {
    case DType::kF8E4M3FN:
      return none_has<uint8_t>(tensor, 0x7f);  // has no infinity
    case DType::kF8E5M2:
      return none_has<uint8_t>(tensor, 0x7c);
    case DType::kF16:
      return none_has<uint16_t>(tensor, 0x7c00);
    case DType::kBF16:
      return none_has<uint16_t>(tensor, 0x7f80);
    case DType::kF32:
    case DType::kC64:
      return none_has<uint32_t>(tensor, 0x7f800000);
    case DType::kF64:
    case DType::kC128:
      return none_has<uint64_t>(tensor, 0x7ff0000000000000);
    default:
      return true;
  }
}

std::optional<std::string> first_non_finite(const Tree<HostTensor>& tensors) {
  for (const auto& [name, tensor] : tensors) {
    if (!all_finite(tensor)) return name;
  }
  return std::nullopt;
}

namespace {

// The largest finite number of a dtype of floats.
double largest_of(DType dtype) {
  switch (dtype) {
    case DType::kF8E4M3FN:
      return 448;
    case DType::kF8E5M2:
      return 57344;
    case DType::kF16:
      return 65504;
    case DType::kBF16:
      return 0x1.fep127;
    case DType::kF32:
      return std::numeric_limits<float>::max();
    default:
      return std::numeric_limits<double>::max();
  }
}

// What to do.
std::string dtypes_that_hold(double number) {
  const double size = std::abs(number);
  if (size <= largest_of(DType::kBF16)) return "bf16 and f32 hold it";
  return size <= largest_of(DType::kF32) ? "f32 holds it" : "f64 alone holds it";
}

}  // namespace

std::optional<double> first_too_large(const HostTensor& from, const HostTensor& to) {
  if (!is_float(from.dtype()) || largest_of(from.dtype()) <= largest_of(to.dtype()) ||
      all_finite(to))
    return {};
  for (int64_t i = 0; i < from.size(); ++i)
    if (std::isfinite(from.at(i)) && !std::isfinite(to.at(i))) return from.at(i);
  return {};
}

std::string too_large_text(double number, DType dtype) {
  return fmt::format("expected magnitudes up to {:.6g} for {}, got {:.6g}; {}", largest_of(dtype),
                     name_of(dtype), number, dtypes_that_hold(number));
}

HostTensor checked_astype(const HostTensor& tensor, DType dtype, const std::string& where) {
  HostTensor out = tensor.astype(dtype);
  if (const auto number = first_too_large(tensor, out))
    throw DataError(fmt::format("{}: {}", where, too_large_text(*number, dtype)));
  return out;
}

namespace {

// A row of a square that is transposed in registers.
template <class T>
struct SquareRow {
  typedef T Lanes __attribute__((vector_size(16)));
  static constexpr int64_t kSize = 16 / sizeof(T);
  Lanes lanes;
};

// Returns the elements of both rows, alternating: of their first halves, and of their second.
template <class T, size_t... I>
std::array<SquareRow<T>, 2> interleaved(SquareRow<T> a, SquareRow<T> b, std::index_sequence<I...>) {
  constexpr size_t kSize = sizeof...(I);
  return {SquareRow<T>{__builtin_shufflevector(a.lanes, b.lanes, (I / 2 + I % 2 * kSize)...)},
          SquareRow<T>{
              __builtin_shufflevector(a.lanes, b.lanes, ((kSize + I) / 2 + I % 2 * kSize)...)}};
}

// to[r][c] = from[c][r] for a square. Each round makes neighbours of rows that are half of the
// square apart; after as many rounds as a row number has bits, each row is a column.
template <class T>
void transpose_square(const T* from, int64_t stride, T* to, int64_t to_stride) {
  constexpr int64_t kSize = SquareRow<T>::kSize;
  constexpr std::make_index_sequence<kSize> kAll;
  std::array<SquareRow<T>, kSize> rows, next;
  for (int64_t i = 0; i < kSize; ++i)
    std::memcpy(&rows[i], from + i * stride, sizeof(SquareRow<T>));
#pragma GCC unroll 4
  for (int64_t round = 1; round < kSize; round *= 2) {
#pragma GCC unroll 8
    for (int64_t i = 0; i < kSize / 2; ++i) {
      const auto [first, second] = interleaved(rows[i], rows[i + kSize / 2], kAll);
      next[2 * i] = first;
      next[2 * i + 1] = second;
    }
    rows = next;
  }
  for (int64_t i = 0; i < kSize; ++i)
    std::memcpy(to + i * to_stride, &rows[i], sizeof(SquareRow<T>));
}

// to[r][c] = from[c][r] for r and c within the ranges.
template <class T>
void transpose_block(const T* from, int64_t stride, int64_t r0, int64_t r1, int64_t c0, int64_t c1,
                     T* to, int64_t to_stride) {
  constexpr int64_t kSize = SquareRow<T>::kSize;
  const int64_t r_end = r0 + (r1 - r0) / kSize * kSize, c_end = c0 + (c1 - c0) / kSize * kSize;
  const auto one_by_one = [&](int64_t r_first, int64_t r_last, int64_t c_first, int64_t c_last) {
    for (int64_t r = r_first; r < r_last; ++r)
      for (int64_t c = c_first; c < c_last; ++c) to[r * to_stride + c] = from[c * stride + r];
  };
  for (int64_t c = c0; c < c_end; c += kSize)
    for (int64_t r = r0; r < r_end; r += kSize)
      transpose_square(from + c * stride + r, stride, to + r * to_stride + c, to_stride);
  one_by_one(r_end, r1, c0, c_end);
  one_by_one(r0, r1, c_end, c1);
}

// The strides are the elements of a row of the whole matrices. Blocks keep both sides in the cache.
template <class T>
void copy_matrix(const T* from, int64_t stride, bool transpose, int64_t rows, int64_t columns,
                 T* to, int64_t to_stride) {
  constexpr int64_t kBlock = 32;
  parallel_for((rows + kBlock - 1) / kBlock, 1 + (1 << 16) / (kBlock * (columns + 1)),
               [&](int64_t begin, int64_t end) {
                 for (int64_t r0 = begin * kBlock; r0 < std::min(end * kBlock, rows);
                      r0 += kBlock) {
                   const int64_t r1 = std::min(r0 + kBlock, rows);
                   if (!transpose) {
                     for (int64_t r = r0; r < r1; ++r)
                       std::memcpy(to + r * to_stride, from + r * stride,
                                   static_cast<size_t>(columns) * sizeof(T));
                     continue;
                   }
                   for (int64_t c0 = 0; c0 < columns; c0 += kBlock)
                     transpose_block(from, stride, r0, r1, c0, std::min(c0 + kBlock, columns), to,
                                     to_stride);
                 }
               });
}

}  // namespace

void copy_elements(const HostTensor& source, MatrixWindow from, bool transpose, int64_t rows,
                   int64_t columns, HostTensor& target, MatrixWindow to) {
  const auto copy = [&](auto zero) {
    using T = decltype(zero);
    copy_matrix(source.elements<T>().data() + from.offset, from.stride, transpose, rows, columns,
                target.elements<T>().data() + to.offset, to.stride);
  };
  switch (size_bytes(target.dtype())) {
    case 1:
      return copy(uint8_t{});
    case 2:
      return copy(uint16_t{});
    case 4:
      return copy(uint32_t{});
    default:
      return copy(uint64_t{});
  }
}

}  // namespace axle
