// The flags that name what a new run starts from.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ir/dtype.h"
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
  /// The dtype of the parameters of the model that --init-from names; none: as stored.
  const std::optional<DType>& dtype() const { return dtype_; }

 private:
  std::string folder_;
  std::optional<DType> dtype_;
  std::vector<std::string> parts_;
  bool upcycle_ = false;
};

}  // namespace axle::cli
