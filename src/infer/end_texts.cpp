#include "infer/end_texts.h"

#include <algorithm>
#include <utility>

namespace axle {

EndTexts::EndTexts(std::vector<std::string> ends) : ends_(std::move(ends)) {
  std::erase(ends_, "");
}

std::string EndTexts::push(std::string_view piece) {
  if (found_) return {};
  held_ += piece;
  size_t shown = held_.size();
  for (const std::string& end : ends_) {
    if (const size_t at = held_.find(end); at != held_.npos) {
      found_ = true;
      shown = std::min(shown, at);
    }
  }
  if (found_) return std::exchange(held_, {}).substr(0, shown);
  for (const std::string& end : ends_) {
    // The longest beginning of the end that the text ends with.
    for (size_t size = std::min(end.size() - 1, held_.size()); size > 0; --size) {
      if (!std::string_view(held_).ends_with(std::string_view(end).substr(0, size))) continue;
      shown = std::min(shown, held_.size() - size);
      break;
    }
  }
  std::string out = held_.substr(0, shown);
  held_.erase(0, shown);
  return out;
}

std::string EndTexts::finish() { return std::exchange(held_, {}); }

}  // namespace axle
