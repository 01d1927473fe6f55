#include "config/config_type.h"

#include <cxxabi.h>
#include <fmt/format.h>

#include <cctype>
#include <cstdlib>
#include <memory>

#include "base/error.h"
#include "base/text/text.h"

namespace axle {

std::string range_text(const Bounds& bounds, LeafKind kind) {
  const bool is_integer = kind == LeafKind::kInteger;
  std::string out = is_integer ? "an integer" : "a number";
  if (!bounds.has_min() && !bounds.has_max()) return is_integer ? out : "a finite number";
  if (bounds.has_min() && bounds.has_max() && !bounds.open_min && !bounds.open_max)
    return fmt::format("{} from {} to {}", out, bounds.min, bounds.max);
  if (bounds.has_min())
    out += fmt::format(" {} {}", bounds.open_min ? "above" : "of at least", bounds.min);
  if (bounds.has_min() && bounds.has_max()) out += " and";
  if (bounds.has_max())
    out += fmt::format(" {} {}", bounds.open_max ? "below" : "of at most", bounds.max);
  return out;
}

std::string Scope::as_config() const { return config_path.empty() ? dotted(path) : config_path; }

std::string short_type_name(const char* mangled) {
  int status = 0;
  const std::unique_ptr<char, void (*)(void*)> full(
      abi::__cxa_demangle(mangled, nullptr, nullptr, &status), std::free);
  const std::string_view name = status == 0 ? full.get() : mangled;
  const auto is_word = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) || c == '_';
  };
  constexpr std::string_view kAnonymous = "(anonymous namespace)";
  std::string out;
  for (size_t i = 0; i < name.size(); ++i) {
    if (name.substr(i).starts_with(kAnonymous)) i += kAnonymous.size();
    if (!name.substr(i).starts_with("::")) {
      out += name[i];
      continue;
    }
    while (!out.empty() && is_word(out.back())) out.pop_back();
    ++i;
  }
  return out;
}

// Reads the C++ runtime's own description of base classes (Itanium ABI, section 2.9.5).
bool derives_from(const std::type_info& type, const std::type_info& base) {
  if (type == base) return true;
  if (const auto* single = dynamic_cast<const abi::__si_class_type_info*>(&type))
    return derives_from(*single->__base_type, base);
  if (const auto* several = dynamic_cast<const abi::__vmi_class_type_info*>(&type)) {
    for (unsigned i = 0; i < several->__base_count; ++i)
      if (derives_from(*several->__base_info[i].__base_type, base)) return true;
  }
  return false;
}

void ClassSlot::put_as(const std::type_info& interface, AnyConfig config) {
  const ConfigType& type = config.type();
  if (!type.interface() || *type.interface() != interface) {
    const std::string wanted = short_type_name(interface);
    const bool is_signature = dynamic_cast<const abi::__function_type_info*>(&interface);
    throw ConfigError(
        is_signature ? fmt::format("expected a function of signature {}, got {}", wanted, type.name)
                     : fmt::format("expected a {}, got {}, which is {}", wanted, type.name,
                                   type.role ? "a " + type.role->name : "no module"));
  }
  clear();
  held_ = std::move(config);
}

void ClassSlot::put_as(std::string name, AnyFunction function) {
  held_ = {};
  function_name_ = std::move(name);
  function_ = function;
}

}  // namespace axle
