// A recurrent cell as a mixer.
//
// Letters in tensor names, for this file only:
//   B batch   T positions   D model dim
#pragma once

#include "layers/blocks/mixer.h"
#include "layers/recurrent/lstm_cell.h"

namespace axle {

/// Goes over the positions of each row with a recurrent cell.
///
/// Shapes: x_BTD f32|bf16 -> y_BTD, dtype of x.
/// Each text of a packed row starts from the zero state: at positions 0 or, without positions,
/// where the segment id changes.
/// Decode state: the state of the cell, "state/<name>".
class Recurrent final : public Mixer {
 public:
  struct Config {
    /// The cell, from the model dim to the model dim.
    Child<RecurrentCell> cell = LSTMCell::Config{};
    AXLE_CONFIG(Recurrent, cell)
  };
  Recurrent(const Config& cfg, const Dims& dims, const Scope& scope);
  Tree<StateSpec> decode_state_specs(const DecodeDims& dims) const override;

 protected:
  Tensor forward(const Tensor& x_BTD, const MixerContext& context) override;

 private:
  Handle<RecurrentCell> cell_;
};

}  // namespace axle
