// Reads fields of protobuf messages by their numbers.
#pragma once

#include <string_view>
#include <vector>

#include "io/proto.h"

namespace axle::testing {

/// Returns the fields with this number. They point into the message.
inline std::vector<ProtoField> fields_of(std::string_view message, int number) {
  std::vector<ProtoField> out;
  ProtoReader reader(message);
  while (const auto field = reader.next()) {
    if (field->number == number) out.push_back(*field);
  }
  return out;
}

}  // namespace axle::testing
