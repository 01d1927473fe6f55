// The arguments of the verbs that load a model.
#pragma once

#include <string>
#include <vector>

#include "interop/model_folder.h"

namespace CLI {
class App;
}

namespace axle::cli {

/// --from, --ignore and --ema.
struct ModelArguments {
  std::string dir;
  std::vector<std::string> ignored;
  bool average = false;

  void add_to(CLI::App& app);
  ModelPlace place() const { return {dir, ignored}; }
  Weights weights() const { return average ? Weights::kAverage : Weights::kTrained; }
};

}  // namespace axle::cli
