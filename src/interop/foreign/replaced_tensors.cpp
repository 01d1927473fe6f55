#include "interop/foreign/replaced_tensors.h"

#include <fmt/format.h>

#include "base/error.h"

namespace axle {

ReplacedTensors::ReplacedTensors(const TensorSource& base, const TensorSource& own,
                                 const std::string& prefix)
    : base_(base), own_(own) {
  for (const std::string& name : base.names()) places_.emplace(name, Place{&base, name});
  for (const std::string& name : own.names()) {
    const std::string there = name.starts_with(prefix) ? name.substr(prefix.size()) : name;
    places_.insert_or_assign(there, Place{&own, name});
    own_names_.emplace(there, name);
  }
}

void ReplacedTensors::hide(const std::string& name) { places_.erase(name); }

void ReplacedTensors::copy(const std::string& name, const std::string& of) {
  places_.insert_or_assign(name, place(of));
}

void ReplacedTensors::copy_of_base(const std::string& name, const std::string& of) {
  places_.insert_or_assign(name, Place{&base_, of});
}

const ReplacedTensors::Place& ReplacedTensors::place(const std::string& name) const {
  const auto found = places_.find(name);
  if (found == places_.end())
    throw DataError(fmt::format("{}: expected a tensor {}, got none", where(), name_in_file(name)));
  return found->second;
}

std::vector<std::string> ReplacedTensors::names() const {
  std::vector<std::string> out;
  for (const auto& [name, place] : places_) out.push_back(name);
  return out;
}

Type ReplacedTensors::type(const std::string& name) const {
  const Place& at = place(name);
  return at.source->type(at.name);
}

HostTensor ReplacedTensors::get(const std::string& name) const {
  const Place& at = place(name);
  return at.source->get(at.name);
}

bool ReplacedTensors::reads_parts(const std::string& name) const {
  const Place& at = place(name);
  return at.source->reads_parts(at.name);
}

void ReplacedTensors::read_part(const std::string& name, int64_t first, HostTensor& part) const {
  const Place& at = place(name);
  at.source->read_part(at.name, first, part);
}

std::optional<CodeScheme> ReplacedTensors::scheme(const std::string& name) const {
  const Place& at = place(name);
  return at.source->scheme(at.name);
}

StoredCodes ReplacedTensors::codes(const std::string& name) const {
  const Place& at = place(name);
  return at.source->codes(at.name);
}

std::string ReplacedTensors::name_in_file(const std::string& name) const {
  const auto own = own_names_.find(name);
  if (own == own_names_.end()) return base_.name_in_file(name);
  return fmt::format("{}: {}", own_.where(), own_.name_in_file(own->second));
}

}  // namespace axle
