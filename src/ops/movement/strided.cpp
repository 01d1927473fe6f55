#include "ops/movement/strided.h"

#include <algorithm>

namespace axle {

LinePairs::LinePairs(const Shape& shape, const StridedView& a, const StridedView& b)
    : first_{a.offset, b.offset, 0, 0, 1}, num_lines_(num_elements(shape) == 0 ? 0 : 1) {
  // Neighbouring dims that are evenly spaced in both views become one.
  for (size_t d = 0; d < shape.size(); ++d) {
    if (shape[d] == 1) continue;
    if (!outer_.empty() && a_steps_.back() == a.strides[d] * shape[d] &&
        b_steps_.back() == b.strides[d] * shape[d]) {
      outer_.back() *= shape[d];
      a_steps_.back() = a.strides[d];
      b_steps_.back() = b.strides[d];
      continue;
    }
    outer_.push_back(shape[d]);
    a_steps_.push_back(a.strides[d]);
    b_steps_.push_back(b.strides[d]);
  }
  if (outer_.empty()) return;
  first_ = {a.offset, b.offset, a_steps_.back(), b_steps_.back(), outer_.back()};
  outer_.pop_back();
  a_steps_.pop_back();
  b_steps_.pop_back();
  for (const int64_t size : outer_) num_lines_ *= size;
}

void copy_strided(const Shape& shape, const HostTensor& x, const StridedView& from, HostTensor& y,
                  const StridedView& to) {
  dispatch_size(y.dtype(), [&]<class T>(std::type_identity<T>) {
    const T* const in = x.elements<T>().data();
    T* const out = y.elements<T>().data();
    LinePairs(shape, from, to).for_each([&](const LinePair& line) {
      const T* const p = in + line.a;
      T* const q = out + line.b;
      if (line.b_step == 1 && line.a_step == 1) {
        std::copy_n(p, line.count, q);
      } else if (line.b_step == 1 && line.a_step == 0) {
        std::fill_n(q, line.count, *p);
      } else {
        for (int64_t k = 0; k < line.count; ++k) q[k * line.b_step] = p[k * line.a_step];
      }
    });
  });
}

}  // namespace axle
