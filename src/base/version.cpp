#include "base/version.h"

namespace axle {

std::string_view version() { return AXLE_VERSION; }  // set by cmake/axle_version.cmake

}  // namespace axle
