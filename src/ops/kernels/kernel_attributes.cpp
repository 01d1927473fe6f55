#include "ops/kernels/kernel_attributes.h"

#include <fmt/format.h>

#include <bit>

namespace axle {
namespace {

std::string mlir_value(bool value) { return value ? "true" : "false"; }
std::string mlir_value(int64_t value) { return fmt::format("{} : i64", value); }
std::string mlir_value(double value) {
  return fmt::format("0x{:016X} : f64", std::bit_cast<uint64_t>(value));
}
std::string mlir_value(const std::string& value) {
  std::string out = "\"";
  for (const char c : value) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\' || byte < 32 || byte > 126)
      out += fmt::format("\\{:02X}", byte);
    else
      out += c;
  }
  return out + "\"";
}

}  // namespace

std::string mlir_entries(const KernelAttributes& attributes) {
  std::string out;
  for (const auto& [name, value] : attributes.values) {
    if (!out.empty()) out += ", ";
    out += name + " = " + std::visit([](const auto& v) { return mlir_value(v); }, value);
  }
  return out;
}

}  // namespace axle
