// Which class of another project failed: a call of it stands within a ClassCall.
#pragma once

#include <exception>
#include <optional>
#include <string>
#include <string_view>
#include <typeinfo>

namespace axle {

/// The innermost call of a class of another project that ended with an exception: that is the
/// mistake of the class, not a bug of Axle.
struct FailedCall {
  std::string class_name;  // "OwnCore"
  std::string where;       // "decoder.layers.layer0.attention.body.core"
};
std::optional<FailedCall> failed_call();
/// For the beginning of what may fail: forgets earlier calls, whose exceptions were handled.
void forget_failed_calls();

/// Stands around a call of a class, and notes it if it ends with an exception, unless the class is
/// Axle's own or a call inside of it was noted before. `where` must live as long.
class ClassCall {
 public:
  ClassCall(const std::type_info& type, std::string_view where)
      : type_(type), where_(where), num_exceptions_(std::uncaught_exceptions()) {}
  ~ClassCall() {
    if (std::uncaught_exceptions() > num_exceptions_) note();
  }
  ClassCall(const ClassCall&) = delete;
  ClassCall& operator=(const ClassCall&) = delete;

 private:
  void note() const;
  const std::type_info& type_;
  std::string_view where_;
  int num_exceptions_;
};

}  // namespace axle
