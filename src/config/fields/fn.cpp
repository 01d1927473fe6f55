#include "config/fields/fn.h"

#include <fmt/format.h>

#include "base/error.h"

namespace axle {

void FnSlot::put_as(const std::type_info& signature, AnyConfig functor) {
  const ConfigType& type = functor.type();
  if (!type.signature || *type.signature != signature) {
    throw ConfigError(fmt::format("expected a function of signature {}, got {}",
                                  short_type_name(signature), type.name));
  }
  clear();
  functor_ = std::move(functor);
}
void FnSlot::put_as(std::string name, AnyFunction function) {
  functor_ = {};
  name_ = std::move(name);
  plain_ = function;
}
void FnSlot::clear() { put_as({}, nullptr); }

void detail::fail_empty_fn(const std::type_info& signature) {
  throw ConfigError(fmt::format("a function of signature {} was called before it was set",
                                short_type_name(signature)));
}

}  // namespace axle
