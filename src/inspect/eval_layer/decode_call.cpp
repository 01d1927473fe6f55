#include "inspect/eval_layer/decode_call.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <set>

#include "base/error.h"
#include "base/text/text.h"
#include "inspect/eval_layer/given_tensors.h"
#include "layers/models/model.h"

namespace axle {
namespace {

Tree<Type> cache_types(const Layer& layer, const DecodeDims& dims) {
  Tree<Type> out;
  for (const auto& [path, spec] : layer.decode_state_specs(dims)) out.emplace(path, spec.type);
  return out;
}

// Returns the numbers of rows and positions of the call: the leading dims of its first input with
// at least two dims.
DecodeDims dims_of(const Method& method, const Tree<HostTensor>& in) {
  for (const std::string& input : method.inputs) {
    for (const auto& [name, value] : in) {
      const bool belongs = name == input || name.starts_with(input + "/");
      if (belongs && value.shape().size() >= 2)
        return {.batch_size = value.shape()[0], .max_len = value.shape()[1]};
    }
  }
  throw DataError(fmt::format("in/{}: expected [B, T, ...], rows of tokens, got none",
                              method.inputs.empty() ? "" : method.inputs[0]));
}

// Returns the number of positions of the given caches: the largest with which the layer has such
// caches. One of their dims names it, rounded up to whole pages. If no number gives
// these shapes: the first dim that grows with it, for the error. none: no cache has such a dim.
std::optional<int64_t> cache_len(const Layer& layer, DecodeDims dims,
                                 const Tree<HostTensor>& given) {
  const auto types_for = [&](int64_t len) {
    dims.max_len = len;
    return cache_types(layer, dims);
  };
  std::set<int64_t, std::greater<>> sizes;
  for (const auto& [path, value] : given) sizes.insert(value.shape().begin(), value.shape().end());
  for (const int64_t size : sizes) {
    const Tree<Type> types = size > 0 ? types_for(size) : Tree<Type>{};
    const bool fits = std::ranges::equal(types, given, [](const auto& wanted, const auto& cache) {
      return wanted.first == cache.first && wanted.second.dims == cache.second.shape();
    });
    if (fits) return size;
  }
  const Tree<Type> one = types_for(1), two = types_for(2);
  for (const auto& [path, type] : one) {
    const auto it = given.find(path);
    if (it == given.end() || it->second.shape().size() != type.dims.size()) continue;
    for (size_t i = 0; i < type.dims.size(); ++i) {
      if (type.dims[i] != two.at(path).dims[i]) return it->second.shape()[i];
    }
  }
  return std::nullopt;
}

// Throws if a token is outside of the caches, or does not follow the previous one in its row.
// Caches store the tokens of a row consecutively: such a token would silently be lost, or overwrite
// another one.
void check_positions(const std::string& name, const HostTensor& positions, int64_t len) {
  if (positions.shape().size() != 2) return;  // refused later, where they are read
  const int64_t num_tokens = positions.shape()[1];
  for (int64_t i = 0; i < positions.size(); ++i) {
    const int64_t token = i % num_tokens, last = len - num_tokens + token;
    const double place = positions.at(i);
    if (!(place >= 0 && place <= static_cast<double>(last))) {
      throw ConfigError(
          fmt::format("in/{}: expected a position from 0 to {} for token {} of {} in caches of {} "
                      "positions, got {}",
                      name, last, token, num_tokens, len, place));
    }
    const double first = positions.at(i - token), wanted = first + static_cast<double>(token);
    if (place == wanted) continue;
    throw ConfigError(
        fmt::format("in/{}: expected position {} for token {} of row {}, got {}; the positions of "
                    "a row are consecutive, here from {}",
                    name, wanted, token, i / num_tokens, place, first));
  }
}

// Returns the input that holds the positions of tokens; empty if the method has none.
std::string positions_input(const Method& method) {
  for (const std::string& input : method.inputs) {
    if (input == "context") return "context/positions";
    if (input == "batch") return "batch/input_positions";
    if (input == "fresh") return "fresh/positions";  // of a cache called by itself
  }
  return {};
}

}  // namespace

bool is_decoding_method(const std::string& name) { return name == kPrefill || name == kExtendStep; }

Method find_method(Layer& layer, const std::string& name) {
  const bool is_model = dynamic_cast<const Model*>(&layer) != nullptr;
  const std::string called = is_decoding_method(name) ? (is_model ? "logits" : "forward") : name;
  std::vector<std::string> names;
  for (Method& method : layer.methods()) {
    if (method.name == called) return std::move(method);
    names.push_back(method.name);
  }
  names.insert(names.end(), {std::string(kPrefill), std::string(kExtendStep)});
  throw ConfigError(fmt::format("--method: no method is called '{}'{} (methods: {})", name,
                                suggest(name, names), join(names, ", ")));
}

Tree<HostTensor> caches_for(const Layer& layer, const Method& method, const Tree<HostTensor>& in,
                            Tree<HostTensor> given, const EvalLayerOptions& options) {
  DecodeDims dims = dims_of(method, in);
  const std::string positions = positions_input(method);
  if (options.method == kPrefill) {
    if (!given.empty()) {
      throw ConfigError(
          fmt::format("state/{}: expected no state for prefill, which starts from empty caches; "
                      "call extend_step",
                      given.begin()->first));
    }
    constexpr int64_t kMaxPositions = std::numeric_limits<int32_t>::max();  // positions are i32
    if (options.cache_len && *options.cache_len > kMaxPositions) {
      throw ConfigError(fmt::format("--cache-len: expected at most {} positions, got {}",
                                    kMaxPositions, *options.cache_len));
    }
    if (options.cache_len && *options.cache_len < dims.max_len) {
      throw ConfigError(
          fmt::format("--cache-len: expected at least the {} positions of the input, got {}",
                      dims.max_len, *options.cache_len));
    }
    dims.max_len = options.cache_len.value_or(dims.max_len);
    const Tree<Type> types = cache_types(layer, dims);
    check_tensor_memory("caches", types);
    if (const auto it = in.find(positions); it != in.end() && !types.empty())
      check_positions(positions, it->second, dims.max_len);
    for (const auto& [path, type] : types) given.emplace(path, HostTensor(type));
    return given;
  }
  const std::optional<int64_t> len = cache_len(layer, dims, given);
  dims.max_len = len.value_or(1);
  const Tree<Type> types = cache_types(layer, dims);
  given = check_given(types, std::move(given), "state", "a cache of this layer");
  if (!types.empty() && !positions.empty() && !in.contains(positions)) {
    throw DataError(fmt::format(
        "in/{}: expected the position of each new token in its row, got none", positions));
  }
  ++dims.max_len;
  // A cache of the latest positions alone has room for any number.
  const bool is_limit = len && cache_types(layer, dims) != types;
  if (is_limit && in.contains(positions)) check_positions(positions, in.at(positions), *len);
  return given;
}

}  // namespace axle
