#include "testing/checkout.h"

namespace axle {

std::filesystem::path source_file(std::string_view path) {
  return std::filesystem::path(AXLE_SOURCE_DIR) / path;
}
std::string reference_file(std::string_view path) {
  return source_file("testdata/reference") / path;
}
std::filesystem::path built_program() { return AXLE_PROGRAM; }
std::filesystem::path fake_plugin_file() { return AXLE_FAKE_PLUGIN; }

}  // namespace axle
