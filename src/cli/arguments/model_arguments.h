// The arguments of the verbs that load a model.
#pragma once

#include <string>

#include "interop/model_folder.h"

namespace CLI {
class App;
}

namespace axle::cli {

/// --from and --ema.
struct ModelArguments {
  std::string dir;
  bool average = false;

  void add_to(CLI::App& app);
  Weights weights() const { return average ? Weights::kAverage : Weights::kTrained; }
};

}  // namespace axle::cli
