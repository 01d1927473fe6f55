// The while op: its attributes and its row.
#pragma once

#include <memory>
#include <string>

#include "ir/op_rules.h"

namespace axle {

/// Attributes of a while loop. Inputs of the op: consts of the condition, consts of the body,
/// carry. Regions: the condition and the body; each takes its consts, then the carry.
struct WhileAttributes : Attributes {
  WhileAttributes(size_t of_condition, size_t of_body)
      : num_condition_consts(of_condition), num_body_consts(of_body) {}
  size_t num_condition_consts, num_body_consts;
  size_t num_consts() const { return num_condition_consts + num_body_consts; }
  std::string text() const override {
    return "condition consts = " + std::to_string(num_condition_consts) +
           ", body consts = " + std::to_string(num_body_consts);
  }
};

/// Emits a while loop over closed regions.
Values emit_while(std::shared_ptr<const Region> condition, std::shared_ptr<const Region> body,
                  Values inputs, const WhileAttributes& attributes);

}  // namespace axle
