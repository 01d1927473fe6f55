#include "ir/host_tensor.h"

#include <fmt/format.h>
#include <sys/mman.h>

#include <algorithm>
#include <new>

#include "base/error.h"
#include "base/host_memory_check.h"

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

// Converts the elements to those of `out` from `at` on.
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
    const T v = values<T>()[static_cast<size_t>(i)];
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
  // Equal texts mean equal elements (Attributes::text): 9 digits tell any two numbers of 32 bits
  // apart, and the default format of fmt any two doubles.
  const bool is_double = real_dtype(dtype()) == DType::kF64;
  const auto number = [&](double v) {
    return is_double ? fmt::format("{}", v) : fmt::format("{:.9g}", v);
  };
  std::string out = to_text(type_) + " {";
  for (int64_t i = 0; i < std::min(size(), max_values); ++i) {
    out += i ? ", " : "";
    if (is_complex(dtype())) {
      dispatch_complex(dtype(), [&]<class T>(std::type_identity<T>) {
        const T v = values<T>()[static_cast<size_t>(i)];
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

}  // namespace axle
