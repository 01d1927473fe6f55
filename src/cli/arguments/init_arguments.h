// The flags that name what a new run starts from.
#pragma once

#include <string>
#include <vector>

#include "train/init_from.h"

namespace CLI {
class App;
}

namespace axle::cli {

class InitArguments {
 public:
  void add_to(CLI::App& app);
  /// Throws ConfigError unless each --init-part reads PART=DIR and names a part of its own.
  InitFrom result() const;

 private:
  std::string folder_;
  std::vector<std::string> parts_;
  bool upcycle_ = false;
};

}  // namespace axle::cli
