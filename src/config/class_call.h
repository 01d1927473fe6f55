// Calls of classes that other projects put behind a role. An exception that ends such a call is the
// mistake of that class, not a bug of Axle.
#pragma once

#include <exception>
#include <optional>
#include <string>
#include <string_view>
#include <typeinfo>

namespace axle {

/// The innermost call of a class of another project that ended with an exception.
struct FailedCall {
  std::string class_name;  // "OwnCore"
  std::string where;       // "decoder.layers.layer0.attention.body.core"
};

/// Notes that a call ended with an exception, unless the class is Axle's own or a call inside of it
/// was noted before.
void note_failed_call(const std::type_info& type, std::string_view where);
/// For the beginning of what may fail: forgets earlier calls, whose exceptions were handled.
void forget_failed_calls();
std::optional<FailedCall> failed_call();

/// Stands around a call of a class. `where` must live as long.
class ClassCall {
 public:
  ClassCall(const std::type_info& type, std::string_view where)
      : type_(type), where_(where), num_exceptions_(std::uncaught_exceptions()) {}
  ~ClassCall() {
    if (std::uncaught_exceptions() > num_exceptions_) note_failed_call(type_, where_);
  }
  ClassCall(const ClassCall&) = delete;
  ClassCall& operator=(const ClassCall&) = delete;

 private:
  const std::type_info& type_;
  std::string_view where_;
  int num_exceptions_;
};

}  // namespace axle
