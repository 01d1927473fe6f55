// Calling layers by name: eval-layer and tests reach any role without knowing its C++ signature.
#pragma once

#include <array>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <vector>

#include "base/tree.h"
#include "ir/tensor.h"
#include "nn/tensor_tree.h"

namespace axle {

/// The names of a call's arguments, in order: `static constexpr InputNames kInputs = {"x",
/// "context"};`.
template <size_t n>
struct InputNames : std::array<std::string_view, n> {};
template <class... T>
InputNames(T...) -> InputNames<sizeof...(T)>;

/// Returns inputs by name and records which ones were requested.
class InputReader {
 public:
  explicit InputReader(const Tree<Tensor>& inputs) : inputs_(inputs) {}
  /// Throws DataError naming the input if it is missing.
  Tensor required(const std::string& name);
  std::optional<Tensor> optional(const std::string& name);
  /// Returns all inputs called "<name>/...", keyed by the rest of their names.
  Tree<Tensor> tree(const std::string& name);
  /// Throws ConfigError naming the inputs that were never requested, with the nearest requested
  /// name.
  void check_all_used() const;

 private:
  const Tree<Tensor>& inputs_;
  Tree<bool> used_;
  std::vector<std::string> asked_;
};

/// Reads an argument of type T named `name`. A struct declares `static T read(InputReader&, const
/// std::string& prefix)`, which reads its fields from "<prefix>/<field>".
template <class T>
T read_input(InputReader& reader, const std::string& name) {
  if constexpr (std::is_same_v<T, Tensor>)
    return reader.required(name);
  else if constexpr (std::is_same_v<T, std::optional<Tensor>>)
    return reader.optional(name);
  else if constexpr (std::is_same_v<T, Tree<Tensor>>)
    return reader.tree(name);
  else
    return T::read(reader, name);
}

/// A named way to call a layer.
struct Method {
  std::string name;
  std::vector<std::string> inputs;
  std::function<NamedTensors(InputReader&)> call;
};

/// Makes a method from a C++ callable. Its arguments are tensors, optional tensors, trees of
/// tensors, or structs of these.
template <class R, class... A, class F>
Method method(std::string name, std::span<const std::string_view> inputs, F call) {
  const std::vector<std::string> names(inputs.begin(), inputs.end());
  return {std::move(name), names, [names, call](InputReader& reader) {
            return [&]<size_t... i>(std::index_sequence<i...>) {
              // Braces fix the order of evaluation.
              std::tuple<std::remove_cvref_t<A>...> arguments{
                  read_input<std::remove_cvref_t<A>>(reader, names.at(i))...};
              R result = std::apply(call, arguments);
              return named_tensors_of(result);
            }
            (std::index_sequence_for<A...>());
          }};
}

/// True if some result is computed from `value`, a value of the region that is traced.
bool depend_on(const Values& results, const Tensor& value);

}  // namespace axle
