#include "transform/control_flow/loop_ops.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "ir/op_rules.h"

namespace axle {
namespace {

using NamedValues = std::vector<std::pair<std::string, Tensor>>;

NamedValues named(const std::vector<std::string>& names, const Values& values) {
  NamedValues out;
  for (size_t i = 0; i < values.size(); ++i)
    out.emplace_back(i < names.size() ? names[i] : std::to_string(i), values[i]);
  return out;
}

const Tensor* find(const NamedValues& values, const std::string& name) {
  const auto it = std::ranges::find(values, name, &NamedValues::value_type::first);
  return it == values.end() ? nullptr : &it->second;
}

// "'cache/key': f32[8] became bf16[8] of decoder (convert), 'x': f32[] is missing"
std::string differences(const NamedValues& expected, const NamedValues& got,
                        std::string_view became) {
  std::string out;
  const auto add = [&](const std::string& name, const std::string& what) {
    out += fmt::format("{}'{}': {}", out.empty() ? "" : ", ", name, what);
  };
  for (const auto& [name, before] : expected) {
    const Tensor* const after = find(got, name);
    if (!after || !static_cast<bool>(*after)) {
      add(name, fmt::format("{} is missing", to_text(before.type())));
    } else if (after->type() != before.type()) {
      add(name, fmt::format("{} {} {}", to_text(before.type()), became, describe(*after)));
    }
  }
  for (const auto& [name, after] : got) {
    if (!find(expected, name)) add(name, fmt::format("{} is new", describe(after)));
  }
  return out;
}

bool have_same_types(const Values& a, const Values& b) {
  return std::ranges::equal(
      a, b, [](const Tensor& x, const Tensor& y) { return x && y && x.type() == y.type(); });
}

}  // namespace

void check_carry(std::string_view op, const std::vector<std::string>& names, const Values& init,
                 const Values& next) {
  if (have_same_types(init, next)) return;
  const std::string differing = differences(named(names, init), named(names, next), "became");
  shape_error(op, "expected a body that keeps the types of its carry, got others; " + differing);
}

void check_branch(std::string_view op, size_t branch, const Values& first, const Values& own) {
  if (have_same_types(first, own)) return;
  const std::string differing = differences(named({}, first), named({}, own), "is");
  shape_error(op, fmt::format("expected branches whose results have the same types, got a branch "
                              "{} that differs from branch 0; {}",
                              branch, differing));
}

void check_stacked(const Tensor& xs, int64_t length) {
  if (xs.rank() == 0 || xs.dim(0) != length)
    shape_error("scan", fmt::format("expected a leading dim of {}, got {}", length, describe(xs)));
}

void check_condition(std::string_view op, const Values& results) {
  if (results.size() != 1 || results[0].type() != Type{DType::kPred, {}})
    shape_error(op, "expected a pred scalar as condition", results);
}

}  // namespace axle
