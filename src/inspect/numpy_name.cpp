#include "inspect/numpy_name.h"

namespace axle {

std::string_view numpy_name(DType dtype) {
  switch (dtype) {
    case DType::kPred:
      return "bool";
    case DType::kI32:
      return "int32";
    case DType::kI64:
      return "int64";
    case DType::kU32:
      return "uint32";
    case DType::kU64:
      return "uint64";
    case DType::kBF16:
      return "bfloat16";
    case DType::kF32:
      return "float32";
    case DType::kF64:
      return "float64";
  }
  return "unknown";
}

}  // namespace axle
