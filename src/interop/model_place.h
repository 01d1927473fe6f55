// Where a model is, and what of it is not read.
#pragma once

#include <concepts>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

namespace axle {

/// The folder of a run or an import, or a model of another program (is_foreign_model). A path
/// becomes one by itself.
struct ModelPlace {
  ModelPlace() = default;
  template <std::convertible_to<std::filesystem::path> P>
  ModelPlace(P&& folder, std::vector<std::string> fields = {})
      : path(std::forward<P>(folder)), ignored(std::move(fields)) {}

  std::filesystem::path path = {};
  /// Fields of the config of another program that are left out. A run has none of these.
  std::vector<std::string> ignored = {};
};

}  // namespace axle
