// AXLE_CONFIG declares the descriptor of a struct and lists its fields. AXLE_REGISTER (register.h)
// defines the descriptor.
#pragma once

#include "config/config_type.h"

/// The last line of every config struct: AXLE_CONFIG(Owner, every field in order). Owner is the
/// module class, or the struct itself if it has none.
#define AXLE_CONFIG(OwnerType, ...)                                    \
  using Owner = OwnerType;                                             \
  static const ::axle::ConfigType& config_type();                      \
  template <class AxleVisitor>                                         \
  void axle_fields(const AxleVisitor& axle_visitor) {                  \
    axle_visitor(#OwnerType, #__VA_ARGS__ __VA_OPT__(, ) __VA_ARGS__); \
  }
