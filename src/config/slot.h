// Fields of a config as generic code sees them: a name, an address, and what can be done with a
// value of that type.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <typeinfo>
#include <vector>

#include "config/fields/bounds.h"

namespace axle {

class AnyConfig;
class ChildSlot;
class FnSlot;
struct ConfigType;
struct RoleInfo;

enum class FieldKind : uint8_t { kLeaf, kStruct, kChild, kFn, kOptional, kRequired, kList, kMap };

struct TypeOps;
/// One field, list element, map element or slot option of a live config.
struct Slot {
  std::string name;  // "eps", "[0]", "['key']", "@dtype"; empty for the root
  void* at = nullptr;
  const TypeOps* ops = nullptr;
};

/// One element of a list (empty key) or a map.
struct Element {
  std::string key;
  void* at;
};

/// Operations on values of one field type, through erased pointers. Which are set depends on the
/// kind; one constant exists per type.
struct TypeOps {
  FieldKind kind = FieldKind::kLeaf;
  const std::type_info* type = nullptr;
  void (*assign)(void* to, const void* from) = nullptr;

  // kLeaf
  LeafKind leaf = LeafKind::kText;
  std::string (*text)(const void*) = nullptr;
  void (*parse)(void*,
                std::string_view) = nullptr;  // throws ConfigError, then the value is as before
  // kLeaf that is a number
  const Bounds* bounds = nullptr;
  const std::type_info* number_type = nullptr;  // without its range
  double (*number)(const void*) = nullptr;

  // kStruct
  const ConfigType& (*config_type)() = nullptr;

  // kChild
  ChildSlot& (*child)(void*) = nullptr;
  const RoleInfo& (*role)() = nullptr;
  void* (*options)(void*) = nullptr;
  const ConfigType& (*options_type)() = nullptr;

  // kFn
  FnSlot& (*fn)(void*) = nullptr;
  const std::type_info* signature = nullptr;

  // kOptional, kRequired, kList, kMap
  const TypeOps* element = nullptr;
  void (*clear)(void*) = nullptr;

  // kMap whose keys follow a rule (named_map.h): "" or what is wrong with one
  std::string (*key_problem)(std::string_view key) = nullptr;

  // kOptional, kRequired
  void* (*value)(void*) = nullptr;    // null where there is none
  void* (*emplace)(void*) = nullptr;  // a default value

  // kList, kMap
  std::vector<Element> (*elements)(void*) = nullptr;
  void* (*insert)(void*, std::string_view key) =
      nullptr;  // a default value; a list appends and ignores the key
};

}  // namespace axle
