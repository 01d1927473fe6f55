#include "interop/foreign/tensor_source.h"

#include "base/error.h"

namespace axle {

StoredCodes TensorSource::codes(const std::string& name) const {
  AXLE_CHECK(false, "a tensor without codes: " + name);
}

}  // namespace axle
