#include "config/docs.h"

#include <map>
#include <tuple>

namespace axle {
namespace {

// Owner, names of all its fields, name of the documented field.
using Key = std::tuple<std::string, std::string, std::string>;

// Never destroyed: statics of other files may still use it while the program exits.
std::map<Key, std::string_view>& docs() {
  static auto* const all = new std::map<Key, std::string_view>;
  return *all;
}

}  // namespace

bool register_docs(std::span<const ConfigDoc> table) {
  for (const ConfigDoc& doc : table) {
    docs().emplace(Key(doc.owner, doc.fields, doc.field), doc.text);
  }
  return true;
}

std::string_view doc_of(const ConfigType& type, std::string_view field) {
  std::string fields;
  for (const Field& f : type.fields) {
    if (!fields.empty()) fields += ", ";
    fields += f.name;
  }
  const auto found = docs().find(Key(type.name, fields, field));
  return found == docs().end() ? std::string_view() : found->second;
}

}  // namespace axle
