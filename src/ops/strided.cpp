#include "ops/strided.h"

namespace axle {

void copy_strided(const Shape& shape, const HostTensor& x, const StridedView& from, HostTensor& y, const StridedView& to) {
  const int64_t count = num_elements(shape);
  dispatch(y.dtype(), [&]<class T>(std::type_identity<T>) {
    const T* in = x.values<T>().data();
    T* out = y.values<T>().data();
    Shape index(shape.size(), 0);
    int64_t source = from.offset, target = to.offset;
    for (int64_t n = 0; n < count; ++n) {
      out[target] = in[source];
      for (size_t d = shape.size(); d-- > 0;) {
        source += from.strides[d];
        target += to.strides[d];
        if (++index[d] < shape[d]) break;
        source -= from.strides[d] * shape[d];
        target -= to.strides[d] * shape[d];
        index[d] = 0;
      }
    }
  });
}

}  // namespace axle
