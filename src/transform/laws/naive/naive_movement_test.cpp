// References of ops that make tensors and move their elements at positions known while tracing,
// and of annotations.
#include <cmath>
#include <cstdlib>

#include "transform/laws/naive_test.h"

namespace axle::testing {
namespace {

// Reads the number at `at` of a text, and moves `at` behind it.
long double read_number(const std::string& text, size_t& at) {
  for (const auto& [word, value] : {std::pair("true", 1), std::pair("false", 0)}) {
    if (text.compare(at, std::string(word).size(), word) == 0) {
      at += std::string(word).size();
      return value;
    }
  }
  char* end = nullptr;
  const long double v = std::strtold(text.c_str() + at, &end);
  at = static_cast<size_t>(end - text.c_str());
  return v;
}

// A number of the dtype that the text of an attribute stands for.
long double of_dtype(long double v, DType dtype) {
  Naive one(Type{dtype, {}});
  one.re[0] = v;
  return naive(rounded_host(one)).re[0];
}

Naives full(const NaiveCall& c) {
  Naive y(c.result());
  size_t at = 0;
  const long double v = read_number(c.attrs.value("value"), at);
  for (long double& e : y.re) e = is_float(y.type.dtype) ? of_dtype(v, y.type.dtype) : v;
  return {y};
}

// "f32[2] {1, 2}", complex numbers as "(1, 2)".
Naives constant(const NaiveCall& c) {
  Naive y(c.result());
  const std::string& text = c.attrs.text();
  size_t at = text.find('{') + 1;
  for (size_t i = 0; i < y.size(); ++i) {
    while (text[at] == ' ' || text[at] == ',' || text[at] == '(' || text[at] == ')') ++at;
    y.re[i] = read_number(text, at);
    if (!is_integer(y.type.dtype)) y.re[i] = of_dtype(y.re[i], real_dtype(c.op.outputs[0].dtype));
    if (y.im.empty()) continue;
    at += 2;
    y.im[i] = of_dtype(read_number(text, at), real_dtype(c.op.outputs[0].dtype));
  }
  return {y};
}

Naives iota(const NaiveCall& c) {
  Naive y(c.result());
  const auto axis = static_cast<size_t>(c.attrs.number("axis"));
  size_t at = 0;
  each_index(y.type.dims, [&](const Shape& i) { y.re[at++] = static_cast<long double>(i[axis]); });
  return {y};
}

Naives broadcast(const NaiveCall& c) {
  const auto dims = c.attrs.numbers("dims");
  const Naive& x = c.x[0];
  return {moved_elements(x, c.result(), [&](const Shape& i) {
    Shape from;
    for (size_t d = 0; d < dims.size(); ++d)
      from.push_back(x.type.dims[d] == 1 ? 0 : i[static_cast<size_t>(dims[d])]);
    return from;
  })};
}

Naives reshape(const NaiveCall& c) {
  Naive y = c.x[0];
  y.type.dims = c.op.outputs[0].dims;
  return {y};
}

Naives transpose(const NaiveCall& c) {
  const auto axes = c.attrs.numbers("axes");
  return {moved_elements(c.x[0], c.result(), [&](const Shape& i) {
    Shape from(i.size());
    for (size_t d = 0; d < axes.size(); ++d) from[static_cast<size_t>(axes[d])] = i[d];
    return from;
  })};
}

Naives reverse(const NaiveCall& c) {
  const auto axes = c.attrs.numbers("axes");
  return {moved_elements(c.x[0], c.result(), [&](Shape i) {
    for (const int64_t d : axes)
      i[static_cast<size_t>(d)] = c.x[0].dim(d) - 1 - i[static_cast<size_t>(d)];
    return i;
  })};
}

Naives slice(const NaiveCall& c) {
  const auto starts = c.attrs.numbers("starts"), strides = c.attrs.numbers("strides");
  return {moved_elements(c.x[0], c.result(), [&](Shape i) {
    for (size_t d = 0; d < i.size(); ++d) i[d] = starts[d] + i[d] * strides[d];
    return i;
  })};
}

// Element i of x lies at low + i * (interior + 1); what lies outside is cut off.
Naives pad(const NaiveCall& c) {
  const auto low = c.attrs.numbers("low"), interior = c.attrs.numbers("interior");
  Naive y(c.result());
  for (size_t i = 0; i < y.size(); ++i) copy_element(c.x[1], 0, y, i);
  size_t from = 0;
  each_index(c.x[0].type.dims, [&](const Shape& i) {
    Shape to;
    bool inside = true;
    for (size_t d = 0; d < i.size(); ++d) {
      to.push_back(low[d] + i[d] * (interior[d] + 1));
      inside = inside && to[d] >= 0 && to[d] < y.type.dims[d];
    }
    if (inside) copy_element(c.x[0], from, y, position(y.type.dims, to));
    ++from;
  });
  return {y};
}

Naives concatenate(const NaiveCall& c) {
  const auto axis = static_cast<size_t>(c.attrs.number("axis"));
  Naive y(c.result());
  int64_t offset = 0;
  for (const Naive& part : c.x) {
    size_t from = 0;
    each_index(part.type.dims, [&](Shape i) {
      i[axis] += offset;
      copy_element(part, from++, y, position(y.type.dims, i));
    });
    offset += part.type.dims[axis];
  }
  return {y};
}

Naives identity(const NaiveCall& c) { return c.x; }

}  // namespace

void add_movement_references(References& out) {
  out["full"] = full;
  out["constant"] = constant;
  out["iota"] = iota;
  out["broadcast_in_dim"] = broadcast;
  out["reshape"] = reshape;
  out["transpose"] = transpose;
  out["reverse"] = reverse;
  out["slice"] = slice;
  out["pad"] = pad;
  out["concatenate"] = concatenate;
  for (const char* name : {"name", "stop_gradient", "optimization_barrier", "place",
                           "sharding_constraint", "tap", "tap_gradient"})
    out[name] = identity;
}

}  // namespace axle::testing
