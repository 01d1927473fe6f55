#include "inspect/numpy_name.h"

namespace axle {

std::string_view numpy_name(DType dtype) {
  switch (dtype) {
    case DType::kPred:
      return "bool";
    case DType::kI4:
      return "int4";
    case DType::kI8:
      return "int8";
    case DType::kI16:
      return "int16";
    case DType::kI32:
      return "int32";
    case DType::kI64:
      return "int64";
    case DType::kU4:
      return "uint4";
    case DType::kU8:
      return "uint8";
    case DType::kU16:
      return "uint16";
    case DType::kU32:
      return "uint32";
    case DType::kU64:
      return "uint64";
    case DType::kF8E4M3FN:
      return "float8_e4m3fn";
    case DType::kF8E5M2:
      return "float8_e5m2";
    case DType::kF16:
      return "float16";
    case DType::kBF16:
      return "bfloat16";
    case DType::kF32:
      return "float32";
    case DType::kF64:
      return "float64";
    case DType::kC64:
      return "complex64";
    case DType::kC128:
      return "complex128";
  }
  return "unknown";
}

}  // namespace axle
