// Which messages of a record are the same.
#pragma once

#include <nlohmann/json_fwd.hpp>

namespace axle {

/// True if two messages have the same fields, in any order: files write both "role" first and
/// "content" first.
bool are_same(const nlohmann::ordered_json& message, const nlohmann::ordered_json& other);

/// True if a list of messages has all of `part` in it, one behind the other. Long lists with many
/// equal messages take no longer than others.
bool have_among_them(const nlohmann::ordered_json& messages, const nlohmann::ordered_json& part);

}  // namespace axle
