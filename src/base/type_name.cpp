#include "base/type_name.h"

#include <cxxabi.h>

#include <cctype>
#include <cstdlib>
#include <memory>
#include <string_view>

namespace axle {

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

bool is_signature(const std::type_info& type) {
  return dynamic_cast<const abi::__function_type_info*>(&type);
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

}  // namespace axle
