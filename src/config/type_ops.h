// kOps<T>: the TypeOps of every field type. They are constants, so that no code runs before main.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "config/document/codec.h"
#include "config/fields/child.h"
#include "config/fields/fn.h"
#include "config/fields/ranged.h"
#include "config/fields/required.h"

namespace axle {

namespace detail {
template <class T>
struct OpsOf;
template <class T>
constexpr TypeOps common_ops(FieldKind kind) {
  return {.kind = kind, .type = &typeid(T), .assign = [](void* to, const void* from) {
            *static_cast<T*>(to) = *static_cast<const T*>(from);
          }};
}
}  // namespace detail

template <class T>
inline constexpr TypeOps kOps = detail::OpsOf<T>::make();

namespace detail {

template <class T>
struct RangeOf {
  static constexpr Bounds kBounds = {};
};
template <class T, Bounds kRange>
struct RangeOf<Ranged<T, kRange>> {
  static constexpr Bounds kBounds = kRange;
};

template <class T>
struct OpsOf {
  static constexpr TypeOps make() {
    TypeOps ops = common_ops<T>(FieldKind::kLeaf);
    ops.leaf = Codec<T>::kKind;
    ops.text = [](const void* p) { return Codec<T>::text(*static_cast<const T*>(p)); };
    ops.parse = [](void* p, std::string_view text) { *static_cast<T*>(p) = Codec<T>::parse(text); };
    if constexpr (EnumWithTexts<T>) {
      ops.choices = [] {
        std::vector<std::string> texts;
        for (const auto& row : texts_of(T{})) texts.emplace_back(row.text);
        return texts;
      };
    }
    if constexpr (Codec<T>::kKind == LeafKind::kInteger || Codec<T>::kKind == LeafKind::kNumber) {
      ops.bounds = &RangeOf<T>::kBounds;
      ops.number_type = &typeid(decltype(Codec<T>::parse({})));
      ops.number = [](const void* p) { return static_cast<double>(*static_cast<const T*>(p)); };
    }
    return ops;
  }
};

template <Configures T>
struct OpsOf<T> {
  static constexpr TypeOps make() {
    TypeOps ops = common_ops<T>(FieldKind::kStruct);
    ops.config_type = &T::config_type;
    return ops;
  }
};

template <class Role>
struct OpsOf<Child<Role>> {
  using T = Child<Role>;
  static constexpr TypeOps make() {
    TypeOps ops = common_ops<T>(FieldKind::kChild);
    ops.child = [](void* p) -> ChildSlot& { return *static_cast<T*>(p); };
    ops.role = &role_info<Role>;
    ops.options = [](void* p) -> void* { return &static_cast<T*>(p)->options; };
    ops.options_type = &T::Options::config_type;
    return ops;
  }
};

template <class Sig>
struct OpsOf<Fn<Sig>> {
  using T = Fn<Sig>;
  static constexpr TypeOps make() {
    TypeOps ops = common_ops<T>(FieldKind::kFn);
    ops.fn = [](void* p) -> FnSlot& { return *static_cast<T*>(p); };
    ops.signature = &typeid(Sig);
    return ops;
  }
};

template <class V>
std::optional<V>& optional_in(std::optional<V>& o) {
  return o;
}
template <class V>
std::optional<V>& optional_in(Required<V>& r) {
  return r.slot();
}

template <class T, class V>
struct MaybeOps {
  static constexpr TypeOps make(FieldKind kind) {
    TypeOps ops = common_ops<T>(kind);
    ops.element = &kOps<V>;
    ops.clear = [](void* p) { optional_in(*static_cast<T*>(p)).reset(); };
    ops.value = [](void* p) -> void* {
      auto& o = optional_in(*static_cast<T*>(p));
      return o ? std::addressof(*o) : nullptr;
    };
    ops.emplace = [](void* p) -> void* {
      return std::addressof(optional_in(*static_cast<T*>(p)).emplace());
    };
    return ops;
  }
};
template <class V>
struct OpsOf<std::optional<V>> : MaybeOps<std::optional<V>, V> {
  static constexpr TypeOps make() {
    return MaybeOps<std::optional<V>, V>::make(FieldKind::kOptional);
  }
};
template <class V>
struct OpsOf<Required<V>> : MaybeOps<Required<V>, V> {
  static constexpr TypeOps make() { return MaybeOps<Required<V>, V>::make(FieldKind::kRequired); }
};

template <class V>
struct OpsOf<std::vector<V>> {
  using T = std::vector<V>;
  static_assert(!std::is_same_v<V, bool>,
                "the elements of vector<bool> have no address: use an enum or int");
  static constexpr TypeOps make() {
    TypeOps ops = common_ops<T>(FieldKind::kList);
    ops.element = &kOps<V>;
    ops.clear = [](void* p) { static_cast<T*>(p)->clear(); };
    ops.elements = [](void* p) {
      std::vector<Element> out;
      for (V& v : *static_cast<T*>(p)) out.push_back({{}, &v});
      return out;
    };
    ops.insert = [](void* p, std::string_view) -> void* {
      return &static_cast<T*>(p)->emplace_back();
    };
    return ops;
  }
};

template <class V, class Less>
struct OpsOf<std::map<std::string, V, Less>> {
  using T = std::map<std::string, V, Less>;
  static constexpr TypeOps make() {
    TypeOps ops = common_ops<T>(FieldKind::kMap);
    ops.element = &kOps<V>;
    ops.clear = [](void* p) { static_cast<T*>(p)->clear(); };
    ops.elements = [](void* p) {
      std::vector<Element> out;
      for (auto& [key, v] : *static_cast<T*>(p)) out.push_back({key, &v});
      return out;
    };
    ops.insert = [](void* p, std::string_view key) -> void* {
      return &(*static_cast<T*>(p))[std::string(key)];
    };
    ops.erase = [](void* p, std::string_view key) {
      return static_cast<T*>(p)->erase(std::string(key)) > 0;
    };
    if constexpr (requires { Less::problem({}); }) ops.key_problem = &Less::problem;
    return ops;
  }
};

}  // namespace detail
}  // namespace axle
