// The configs of the reference models of Hugging Face.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "io/file.h"
#include "testing/checkout.h"

namespace axle {

/// Returns the fields of a model's config.json.
inline nlohmann::ordered_json fields_of(const std::string& name) {
  return nlohmann::ordered_json::parse(
      read_file(reference_file("hugging_face/" + name + "/config.json")));
}

}  // namespace axle
