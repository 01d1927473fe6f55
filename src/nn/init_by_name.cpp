#include "nn/init_by_name.h"

#include "config/register.h"
#include "nn/param_path.h"

namespace axle {
namespace {

// True if a layer starts the parameter at 0 or 1 for want of a reason to do otherwise.
bool is_neutral(const Init& init) {
  const AnyConfig& functor = init.functor();
  return functor && (functor.get_if<Zeros>() || functor.get_if<Ones>());
}

}  // namespace

Initialiser InitByName::operator()(const InitSpec& spec) const { return otherwise(spec); }

Init named_init(const std::optional<Init>& own, const std::optional<Init>& given,
                std::string_view path) {
  const InitByName* by_name = given ? given->functor().get_if<InitByName>() : nullptr;
  if (by_name && (!own || is_neutral(*own))) {
    for (const InitRule& rule : by_name->rules) {
      if (matches_path(*rule.pattern, path)) return rule.init;
    }
  }
  if (own) return *own;
  if (by_name) return by_name->otherwise;
  return given ? *given : Init(VarianceScaling{});
}

std::optional<DType> named_dtype(const std::vector<DTypeRule>& rules, std::string_view path) {
  for (const DTypeRule& rule : rules) {
    if (matches_path(*rule.pattern, path)) return FloatDType(rule.dtype);
  }
  return std::nullopt;
}

AXLE_REGISTER(InitRule)
AXLE_REGISTER(DTypeRule)
AXLE_REGISTER(InitByName)

}  // namespace axle
