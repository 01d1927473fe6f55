#include "transform/laws/naive_test.h"

#include <cctype>
#include <cmath>
#include <complex>
#include <limits>

namespace axle::testing {

Naive::Naive(Type t) : type(std::move(t)), re(static_cast<size_t>(type.num_elements()), 0) {
  if (is_complex(type.dtype)) im.assign(re.size(), 0);
}

int64_t Naive::dim(int64_t d) const {
  return type.dims[static_cast<size_t>(d < 0 ? d + type.rank() : d)];
}

Naive naive(const HostTensor& x) {
  Naive out(x.type());
  dispatch_any(x.dtype(), [&]<class T>(std::type_identity<T>) {
    const auto in = x.values<T>();
    for (size_t i = 0; i < in.size(); ++i) {
      if constexpr (kIsComplex<T>) {
        out.re[i] = in[i].real();
        out.im[i] = in[i].imag();
      } else {
        out.re[i] = static_cast<long double>(static_cast<Computed<T>>(in[i]));
      }
    }
  });
  return out;
}

HostTensor rounded_host(const Naive& x) {
  HostTensor out(x.type);
  dispatch_any(x.type.dtype, [&]<class T>(std::type_identity<T>) {
    const auto to = out.values<T>();
    for (size_t i = 0; i < to.size(); ++i) {
      if constexpr (kIsComplex<T>) {
        using R = typename T::value_type;
        to[i] = T(static_cast<R>(x.re[i]), static_cast<R>(x.im[i]));
      } else if constexpr (std::is_same_v<T, bool>) {
        to[i] = x.re[i] != 0;
      } else if constexpr (std::is_integral_v<Computed<T>>) {
        to[i] = convert_element<T>(static_cast<Computed<T>>(x.re[i]));
      } else {
        to[i] = T(static_cast<Computed<T>>(x.re[i]));
      }
    }
  });
  return out;
}

AttributeText::AttributeText(const OpNode& op) {
  if (!op.attributes) return;
  text_ = op.attributes->text();
  int depth = 0;
  std::string part;
  const auto finish = [&] {
    const size_t equals = part.find(" = ");
    if (equals == std::string::npos)
      values_[part] = "";
    else
      values_[part.substr(0, equals)] = part.substr(equals + 3);
    part.clear();
  };
  for (size_t i = 0; i < text_.size(); ++i) {
    const char c = text_[i];
    depth += c == '[' || c == '(' || c == '{' ? 1 : c == ']' || c == ')' || c == '}' ? -1 : 0;
    if (c == ',' && depth == 0) {
      finish();
      ++i;  // the space
    } else {
      part += c;
    }
  }
  finish();
}

bool AttributeText::has(std::string_view key) const { return values_.contains(key); }

std::string AttributeText::value(std::string_view key) const {
  const auto it = values_.find(key);
  return it == values_.end() ? "" : it->second;
}

std::vector<int64_t> AttributeText::numbers(std::string_view key) const {
  const std::string text = value(key);
  std::vector<int64_t> out;
  for (size_t i = 0; i < text.size();) {
    const bool is_negative = text[i] == '-' && i + 1 < text.size() && std::isdigit(text[i + 1]);
    if (!is_negative && !std::isdigit(text[i])) {
      ++i;
      continue;
    }
    size_t used = 0;
    out.push_back(std::stoll(text.substr(i), &used));
    i += used;
  }
  return out;
}

int64_t AttributeText::number(std::string_view key) const { return numbers(key).at(0); }

long double wrapped(__int128 v, DType dtype) {
  const int bits =
      dtype == DType::kI4 || dtype == DType::kU4 ? 4 : 8 * static_cast<int>(size_bytes(dtype));
  const auto one = static_cast<unsigned __int128>(1);
  const unsigned __int128 low = static_cast<unsigned __int128>(v) & ((one << bits) - 1);
  if (is_unsigned(dtype) || (low >> (bits - 1)) == 0) return static_cast<long double>(low);
  return static_cast<long double>(low) - std::ldexp(1.0L, bits);
}

const References& references() {
  static const References all = [] {
    References out;
    add_elementwise_references(out);
    add_bits_references(out);
    add_movement_references(out);
    add_indexing_references(out);
    add_reduction_references(out);
    add_product_references(out);
    add_window_references(out);
    add_random_references(out);
    add_linalg_references(out);
    add_body_references(out);
    return out;
  }();
  return all;
}

}  // namespace axle::testing
