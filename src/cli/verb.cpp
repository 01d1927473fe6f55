#include "cli/verb.h"

#include <algorithm>

namespace axle::cli {
namespace {

// Never destroyed: verbs of other files may still be entered while statics are made.
std::vector<AnyVerb>& table() {
  static auto* const all = new std::vector<AnyVerb>;
  return *all;
}

}  // namespace

void register_verb(AnyVerb verb) {
  const auto place = std::ranges::upper_bound(table(), verb.name, {}, &AnyVerb::name);
  table().insert(place, std::move(verb));
}

const std::vector<AnyVerb>& verbs() { return table(); }

}  // namespace axle::cli
