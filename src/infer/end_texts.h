// Finds the texts that end an answer, in text that comes piece by piece.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace axle {

/// Holds back text that may be the beginning of an end.
class EndTexts {
 public:
  /// Empty texts end nothing.
  explicit EndTexts(std::vector<std::string> ends);
  /// Returns the text that can be shown after this piece: all before the first end, or before what
  /// may become one.
  std::string push(std::string_view piece);
  /// True once an end has come. Later pieces are left out.
  bool found() const { return found_; }
  /// Returns what is held back; there is no further piece.
  std::string finish();

 private:
  std::vector<std::string> ends_;
  std::string held_;
  bool found_ = false;
};

}  // namespace axle
