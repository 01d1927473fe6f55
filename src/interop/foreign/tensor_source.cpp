#include "interop/foreign/tensor_source.h"

#include "base/error.h"

namespace axle {

void TensorSource::read_part(const std::string& name, int64_t, HostTensor&) const {
  AXLE_CHECK(false, "a source that reads tensors whole: " + name);
}

StoredCodes TensorSource::codes(const std::string& name) const {
  AXLE_CHECK(false, "a tensor without codes: " + name);
}

}  // namespace axle
