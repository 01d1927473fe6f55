#include "ops/movement/strided.h"

namespace axle {

void copy_strided(const Shape& shape, const HostTensor& x, const StridedView& from, HostTensor& y,
                  const StridedView& to) {
  dispatch_size(y.dtype(), [&]<class T>(std::type_identity<T>) {
    const auto in = x.elements<T>();
    const auto out = y.elements<T>();
    walk(shape, from, to, [&](size_t i, size_t j) { out[j] = in[i]; });
  });
}

}  // namespace axle
