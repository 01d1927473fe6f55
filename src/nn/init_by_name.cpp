#include "nn/init_by_name.h"

#include "base/text/regex.h"
#include "config/register.h"

namespace axle {
namespace {

// True if a layer starts the parameter at 0 or 1 for want of a reason to do otherwise.
bool is_neutral(const Init& init) {
  const AnyConfig& functor = init.functor();
  return functor && (functor.get_if<Zeros>() || functor.get_if<Ones>());
}

}  // namespace

bool NamePattern::matches(std::string_view path) const {
  const Regex regex(text);
  const size_t slash = path.rfind('/');
  return regex.match(path) || (slash != path.npos && regex.match(path.substr(slash + 1)));
}
std::string to_text(const NamePattern& pattern) { return pattern.text; }
void from_text(std::string_view text, NamePattern& pattern) {
  const Regex checked(text);
  pattern.text = text;
}

Initialiser InitByName::operator()(const InitSpec& spec) const { return otherwise(spec); }

Init named_init(const std::optional<Init>& own, const std::optional<Init>& given,
                std::string_view path) {
  const InitByName* by_name = given ? given->functor().get_if<InitByName>() : nullptr;
  if (by_name && (!own || is_neutral(*own))) {
    for (const InitRule& rule : by_name->rules) {
      if (NamePattern(rule.pattern).matches(path)) return rule.init;
    }
  }
  if (own) return *own;
  if (by_name) return by_name->otherwise;
  return given ? *given : Init(VarianceScaling{});
}

std::optional<DType> named_dtype(const std::vector<DTypeRule>& rules, std::string_view path) {
  for (const DTypeRule& rule : rules) {
    if (NamePattern(rule.pattern).matches(path)) return FloatDType(rule.dtype);
  }
  return std::nullopt;
}

AXLE_REGISTER(InitRule)
AXLE_REGISTER(DTypeRule)
AXLE_REGISTER(InitByName)

}  // namespace axle
