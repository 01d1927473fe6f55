#include "config/construction.h"

#include <utility>

namespace axle {

void Construction::note(const ConfigError& error) {
  ++num_noted_;
  if (dynamic_cast<const InheritedError*>(&error) && std::exchange(has_inherited_, true)) return;
  mistakes_.add(mistakes_.size() < Mistakes::kMax ? error.what() : Mistakes::kRest);
}

}  // namespace axle
