#include "cli/verb.h"

#include <algorithm>

namespace axle::cli {
namespace {

// Created on first use, since verbs in other files register during static initialisation. Never
// destroyed.
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
