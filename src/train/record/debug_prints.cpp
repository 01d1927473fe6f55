#include "train/record/debug_prints.h"

namespace axle {

DebugPrints::DebugPrints(std::vector<CollectedTap> prints, size_t num_outputs)
    : prints_(std::move(prints)) {
  for (const CollectedTap& print : prints_) size_ += print.results.size() + (print.ran ? 1 : 0);
  first_ = num_outputs - size_;
}

std::vector<std::string> DebugPrints::lines(std::span<const ArrayPtr> values) const {
  std::vector<HostTensor> results(first_);
  for (const ArrayPtr& value : values) results.push_back(value->to_host());
  std::vector<std::string> out;
  for (const CollectedTap& print : prints_) {
    for (std::string& line : printed_lines(print, results)) out.push_back(std::move(line));
  }
  return out;
}

}  // namespace axle
