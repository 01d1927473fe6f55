// The fields of a config as generic code sees them: a name, an address, and the operations of the
// value's type.
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
  bool keeps_results = false;  // Field::keeps_results
};

/// One element of a list (empty key) or a map.
struct Element {
  std::string key;
  void* at;
};

/// Type-erased operations on values of one field type. The kind decides which of them are set. One
/// constant exists per type.
struct TypeOps {
  FieldKind kind = FieldKind::kLeaf;
  const std::type_info* type = nullptr;
  void (*assign)(void* to, const void* from) = nullptr;

  // kLeaf
  LeafKind leaf = LeafKind::kText;
  std::string (*text)(const void*) = nullptr;
  // Leaves the value unchanged when it throws ConfigError.
  void (*parse)(void*, std::string_view) = nullptr;
  // kLeaf, enums only: the texts of all values
  std::vector<std::string> (*choices)() = nullptr;
  // kLeaf, numbers only
  const Bounds* bounds = nullptr;
  const std::type_info* number_type = nullptr;  // the number's type without its range
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

  // kMap whose type restricts its keys (named_map.h): returns "" or what is wrong with the key
  std::string (*key_problem)(std::string_view key) = nullptr;

  // kOptional, kRequired
  void* (*value)(void*) = nullptr;    // null if there is none
  void* (*emplace)(void*) = nullptr;  // creates and returns a default value

  // kList, kMap
  std::vector<Element> (*elements)(void*) = nullptr;
  // Inserts and returns a default value; a list appends it and ignores the key.
  void* (*insert)(void*, std::string_view key) = nullptr;

  // kMap: removes the entry; false if there is none
  bool (*erase)(void*, std::string_view key) = nullptr;
};

}  // namespace axle
