// A role of layers: what its call is given, and the methods of it that are traced.
#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <typeinfo>
#include <vector>

namespace axle {

// The forms in which layers compute their calls: a layer may have a plain form and one that needs
// less memory.

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

// The methods of each role besides its own call. `axle config list` reads them without building a
// layer.

/// A method of Layer::methods() and the names of its inputs.
struct MethodNames {
  std::string_view name;
  std::span<const std::string_view> inputs;
};

/// Registers the methods of a role: `const RoleMethods methods(typeid(Model), {{"logits",
/// Model::kInputs}});` in the role's .cpp.
class RoleMethods {
 public:
  RoleMethods(const std::type_info& role, std::vector<MethodNames> methods);
};

/// Returns the methods registered for the role; empty if a role has only its own call.
std::vector<MethodNames> role_methods(const std::type_info& role);

}  // namespace axle
