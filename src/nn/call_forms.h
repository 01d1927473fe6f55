// The forms in which layers compute their calls: a layer may have a plain form and one that needs
// less memory.
#pragma once

#include <map>
#include <string>

namespace axle {

/// While one is alive, the layers that this thread calls say which form they compute and why. The
/// innermost one counts.
class CallForms {
 public:
  enum class Allowed : uint8_t {
    kAll,
    kPlain,  // what is counted and compared: the plain form alone
  };
  explicit CallForms(Allowed allowed = Allowed::kAll);
  ~CallForms();
  CallForms(const CallForms&) = delete;
  CallForms& operator=(const CallForms&) = delete;

  /// Returns what layers have said, by path of the layer. The last call of a layer counts.
  const std::map<std::string, std::string>& notes() const { return notes_; }

  /// True if layers must compute their plain form.
  static bool only_plain();
  /// Says which form the layer at `path` computes, and why. Does nothing while no CallForms is
  /// alive.
  static void note(const std::string& path, const std::string& form);

 private:
  Allowed allowed_;
  std::map<std::string, std::string> notes_;
  CallForms* outer_;
};

}  // namespace axle
