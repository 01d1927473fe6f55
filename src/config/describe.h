// AXLE_CONFIG declares a struct's descriptor and the list of its fields. AXLE_REGISTER (register.h)
// defines it.
#pragma once

#include "config/config_type.h"

/// Last line of every config struct: AXLE_CONFIG(Owner, every field in order). Owner is the module
/// class, or the struct itself.
#define AXLE_CONFIG(OwnerType, ...)                                    \
  using Owner = OwnerType;                                             \
  static const ::axle::ConfigType& config_type();                      \
  template <class AxleVisitor>                                         \
  void axle_fields(const AxleVisitor& axle_visitor) {                  \
    axle_visitor(#OwnerType, #__VA_ARGS__ __VA_OPT__(, ) __VA_ARGS__); \
  }
