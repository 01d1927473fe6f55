#include "inspect/eval_layer/given_tensors.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/checked.h"
#include "base/error.h"
#include "base/host_memory_check.h"
#include "base/text/text.h"
#include "base/tree.h"

namespace axle {

HostTensor as_scalar_like(HostTensor value, const Shape& shape) {
  const bool is_scalar = value.size() == 1 && value.shape().size() <= 1;
  return is_scalar && num_elements(shape) == 1 && shape.size() <= 1 ? value.reshaped(shape) : value;
}

Tree<HostTensor> check_given(const Tree<Type>& expected, Tree<HostTensor> given,
                             std::string_view prefix, std::string_view what) {
  std::vector<std::string> faults, names;
  bool is_missing = false;
  for (const auto& [name, type] : expected) {
    names.push_back(name);
    const auto it = given.find(name);
    if (it == given.end()) {
      faults.push_back(fmt::format("{}/{}: expected {}, got none", prefix, name, to_text(type)));
      is_missing = true;
      continue;
    }
    it->second = as_scalar_like(std::move(it->second), type.dims);
    const Type& got = it->second.type();
    if (got.dims != type.dims) {
      faults.push_back(fmt::format("{}/{}: expected {}, got {}", prefix, name, to_text(type.dims),
                                   to_text(got.dims)));
    } else if (is_float(got.dtype) != is_float(type.dtype)) {
      faults.push_back(
          fmt::format("{}/{}: expected {}, got {}", prefix, name, to_text(type), to_text(got)));
    }
  }
  for (const auto& [name, value] : given) {
    if (!expected.contains(name))
      faults.push_back(fmt::format("{}/{}: not {}{}", prefix, name, what, suggest(name, names)));
  }
  if (is_missing) throw DataError(join(faults, "; "));
  if (!faults.empty()) throw ConfigError(join(faults, "; "));
  return given;
}

void cast_floats(Tree<HostTensor>& tensors, DType dtype) {
  for (auto& [name, value] : tensors) {
    if (is_float(value.dtype())) value = value.astype(dtype);
  }
}

void check_ids(const std::string& name, const HostTensor& ids, int64_t vocab_size,
               NegativeIds negative) {
  if (!is_integer(ids.dtype())) return;  // the layer itself refuses other dtypes
  const bool ignores = negative == NegativeIds::kIgnored;
  for (int64_t i = 0; i < ids.size(); ++i) {
    const double id = ids.at(i);
    if ((ignores || id >= 0) && id < static_cast<double>(vocab_size)) continue;
    throw ConfigError(fmt::format("{}: expected {} {}, got {} at element {}", name,
                                  ignores ? "labels up to" : "ids from 0 to", vocab_size - 1, id,
                                  i));
  }
}

void check_tensor_memory(const std::string& what, const Tree<Type>& types) {
  HostNeed need{.what = what};
  for (const auto& [name, type] : types)
    need.bytes = saturating_sum(need.bytes, static_cast<int64_t>(type.num_bytes()));
  check_host_memory(std::span(&need, 1), host_memory());
}

std::optional<Tree<HostTensor>> start_weights(const std::optional<Tree<HostTensor>>& params,
                                              const Tree<HostTensor>& inputs) {
  Tree<HostTensor> given = subtree(inputs, "init");
  if (given.empty()) return params;
  if (params && *params != given)
    throw ConfigError(
        "init/: expected the weights in --inputs or in --params, got both, and they differ");
  return given;
}

void fail_unread(const std::vector<std::string>& names, const std::vector<std::string>& known) {
  if (names.empty()) return;
  const bool is_known = std::ranges::count(known, names[0]) > 0;
  const std::string nearest = is_known ? "" : suggest(names[0], known);
  throw ConfigError(fmt::format("{}: nothing in this call reads {}{}", join(names, ", "),
                                names.size() == 1 ? "it" : "them",
                                nearest.empty() ? "; leave out what has no effect" : nearest));
}

}  // namespace axle
