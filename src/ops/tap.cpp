#include "ops/tap.h"

#include <fmt/format.h>

#include "ops/batching.h"
#include "ops/rules.h"

namespace axle {
namespace {

constexpr std::string_view kPlace = "{}";

size_t num_places(std::string_view format) {
  size_t count = 0;
  for (size_t at = 0; (at = format.find(kPlace, at)) != format.npos; at += kPlace.size()) ++count;
  return count;
}

struct TapGradientAttributes : Attributes {
  explicit TapGradientAttributes(std::string_view n) : name(n) {}
  std::string name;
  std::string text() const override { return fmt::format("name = \"{}\"", name); }
};

std::vector<Type> infer_tap(const OpNode& op) { return types_of(op.inputs); }

const OpRules tap_rules({.name = "tap",
                         .infer = infer_tap,
                         .batch = each_operand,
                         .vjp = no_gradient,
                         .eval = eval_identity,
                         .hlo = hlo_identity,
                         .cost = kView,
                         .cheap = true,
                         .is_kept_apart = true});

const OpRules tap_gradient_rules({.name = "tap_gradient",
                                  .infer = infer_tap,
                                  .batch = each_operand,
                                  .vjp =
                                      [](X x, Y, Ct g) {
                                        tap(x.attrs<TapGradientAttributes>().name, g[0]);
                                        return Values{g[0]};
                                      },
                                  .eval = eval_identity,
                                  .hlo = hlo_identity,
                                  .cost = kView,
                                  .cheap = true,
                                  .is_kept_apart = true});

}  // namespace

std::string TapAttributes::text() const {
  return format.empty() ? fmt::format("name = \"{}\"", name)
                        : fmt::format("format = \"{}\"", format);
}

const TapAttributes* tap_of(const OpNode& op) {
  return op.rules == &tap_rules ? &op.attrs<TapAttributes>() : nullptr;
}

Tensor tap(std::string_view name, const Tensor& x) {
  emit(tap_rules, {x}, TapAttributes(name, ""));
  return x;
}

Tensor tap_gradient(std::string_view name, const Tensor& x) {
  return emit(tap_gradient_rules, {x}, TapGradientAttributes(name));
}

void debug_print(std::string_view format, const Values& values) {
  if (num_places(format) != values.size()) {
    shape_error("debug_print",
                fmt::format("expected a {{}} in the format for each of {} values, got \"{}\"",
                            values.size(), format),
                values);
  }
  if (values.empty()) shape_error("debug_print", "expected at least one value, got none", {});
  emit_all(tap_rules, values, make_attributes(TapAttributes("debug_print", format)));
}

std::string formatted(std::string_view format, const std::vector<std::string>& texts) {
  std::string out;
  for (const std::string& text : texts) {
    const size_t at = std::min(format.find(kPlace), format.size());
    out.append(format.substr(0, at)).append(text);
    format.remove_prefix(std::min(at + kPlace.size(), format.size()));
  }
  return out.append(format);
}

}  // namespace axle
