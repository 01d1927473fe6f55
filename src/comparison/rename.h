// Translates another framework's names into ours: the file of `eval-layer --rename`.
//
//   # theirs -> ours; the first line that matches the whole path counts
//   i_proj/(*)_proj/weight    -> qkv/$1_proj/weight       # $1, $2, ...: the parts in parentheses
//   (**)/linear(1|2)/(*)      -> $1/body/linear$2/$3      # ** also matches "/"
//   in/query                  -> in/x                     # other tensors by their whole names
//   batches/ids               -> batches/input_ids
//   out                       -> out/loss
//   **/rotary/cos             -> none                     # leaves the tensor out
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/text/regex.h"
#include "base/tree.h"
#include "ir/host_tensor.h"
#include "ir/tensor.h"
#include "runtime/runtime.h"

namespace axle {

/// A pattern:
///   *      any characters but "/"
///   **     any characters; "**/" also matches nothing
///   (...)  a group
///   (a|b)  one of both
/// Any other character stands for itself.
class PathPattern {
 public:
  /// Throws ConfigError for parentheses that are not balanced.
  explicit PathPattern(std::string_view pattern);

  /// True if the pattern matches the whole path. Throws ConfigError if matching takes too long.
  bool matches(std::string_view path) const;
  /// Returns `replacement` with $1, $2, ... replaced by the groups ("$$" gives "$"), without empty
  /// segments. none if the pattern does not match.
  std::optional<std::string> rewrite(std::string_view path, std::string_view replacement) const;
  /// Throws ConfigError if `replacement` names a group that the pattern lacks.
  void check_replacement(std::string_view replacement) const;

 private:
  // Returns the groups, the whole path first; none if the pattern does not match.
  std::optional<std::vector<std::string>> match(std::string_view path) const;
  std::string text_;
  Regex regex_;
};

/// Returns the length of the part before the path of a parameter: 7 for "params/decoder/weight", 9
/// for "param/19/w", 0 for names of other tensors.
size_t parameter_prefix(std::string_view name);

/// Ordered rules that map names to names (PathPattern). Some rules apply to whole names: those
/// whose right side begins with a section ("in/x", "out", "state/..."), and those to `none` whose
/// left side begins with one. All other rules apply to paths of parameters, in every section that
/// holds parameters.
class RenameRules {
 public:
  RenameRules() = default;
  /// Parses one rule a line; "#" begins a comment. Throws ConfigError "<source>:<line>: ...".
  RenameRules(std::string_view text, const std::string& source);

  /// Returns our path of a parameter; none if a rule leaves it out. Throws ConfigError if there are
  /// rules for paths and none matches.
  std::optional<std::string> parameter(const std::string& theirs) const;
  /// Translates only the section of a name in a file: the path of a parameter in it stays theirs.
  /// Returns none if a rule leaves the tensor out.
  std::optional<std::string> section_name(const std::string& theirs) const;
  /// Returns our name of a tensor in a file, including its section; none if a rule leaves it out.
  /// Throws as parameter() does.
  std::optional<std::string> tensor(const std::string& theirs) const;

 private:
  struct Rule {
    PathPattern theirs;
    std::string ours;
    bool for_whole_names;
  };
  enum class Among { kWholeNames, kParameters };
  // Returns what the first matching rule returns, which may be "none"; none if no rule matches.
  std::optional<std::string> apply(Among among, const std::string& theirs) const;

  std::vector<Rule> rules_;
  bool renames_parameters_ = false;
  std::string source_;
};

using NamedFunction = std::function<Tree<Tensor>(const Tree<Tensor>& arguments)>;

/// Traces a program for the mesh, without one for one device, whose inputs are named and typed as
/// `arguments`. Throws what tracing throws.
Program trace_named(const std::string& program_name, const NamedFunction& fn,
                    const Tree<Type>& arguments, const Mesh& mesh = {});
Program trace_named(const std::string& program_name, const NamedFunction& fn,
                    const Tree<HostTensor>& arguments, const Mesh& mesh = {});
/// Returns the names of the inputs that no result depends on.
std::vector<std::string> unread_inputs(const Program& program);

/// A compiled program with named inputs and results, which can be run repeatedly.
class NamedExecutable {
 public:
  /// Compiles the program. Throws what Runtime::compile throws.
  NamedExecutable(Program program, Runtime& runtime);
  /// Runs the program and returns its results by name. `arguments` must hold all inputs by name.
  /// Throws as Executable::execute does.
  Tree<HostTensor> operator()(const Tree<HostTensor>& arguments) const;

 private:
  Program program_;
  Runtime& runtime_;
  std::unique_ptr<Executable> executable_;
};

/// Traces the function with trace_named, compiles it and runs it once.
Tree<HostTensor> run_named(const std::string& program_name, const NamedFunction& fn,
                           const Tree<HostTensor>& arguments, Runtime& runtime);

}  // namespace axle
