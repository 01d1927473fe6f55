// The operators of templates, as Python has them.
#pragma once

#include <string_view>

#include "data/chat/jinja/machine.h"

namespace axle::jinja {

/// `symbol` is one of + - * / // % **.
Value arithmetic(Machine& machine, std::string_view symbol, const Value& a, const Value& b);
/// `symbol` is - or +.
Value signed_value(std::string_view symbol, const Value& value);
/// `symbol` is one of == != < <= > >= in "not in".
bool compare(Machine& machine, std::string_view symbol, const Value& a, const Value& b);
/// Returns a number below, equal to or above 0. Throws JinjaError for values without an order.
int order_of(Machine& machine, const Value& a, const Value& b);
bool contains(Machine& machine, const Value& container, const Value& part);

/// Returns value[key]; an undefined value if there is no such element.
Value item_of(Machine& machine, const Value& value, const Value& key);
/// Returns value.name: a method or a field; an undefined value if there is none.
Value attribute_of(Machine& machine, const Value& value, std::string_view name);
/// Returns value[begin:end:step]. Parts that are null stand for the ends.
Value slice_of(Machine& machine, const Value& value, const Value& begin, const Value& end,
               const Value& step);

/// Returns a method of a text, a list or a mapping; none if its type has no such method. Throws
/// JinjaError for methods that Python has and templates may not call.
std::optional<Value> method_of(const Value& value, std::string_view name);

}  // namespace axle::jinja
