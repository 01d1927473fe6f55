// Trained parameters that a new run starts from.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace axle {

/// What a new run starts from.
struct InitFrom {
  /// A run, an import or a model of another program; empty: none.
  std::filesystem::path folder = {};
  /// Fields of the configs of models of other programs that are left out.
  std::vector<std::string> ignored = {};
  /// The folder holds a dense model with the same layers. Its feed-forward layers become the
  /// experts of the model's mixtures (layers/experts/moe.h).
  bool upcycle = false;
  /// Folders of runs or imports for models inside the model, by their config paths below `model`:
  /// "teacher".
  std::map<std::string, std::filesystem::path> parts = {};

  bool empty() const { return folder.empty() && parts.empty(); }
};

}  // namespace axle
