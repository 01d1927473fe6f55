// Parameters of layers: their specs, and initial values of single ones.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ir/devices/mesh.h"
#include "ir/host_tensor.h"
#include "nn/init.h"

namespace axle {

// Parameters: their declaration by a layer, and the handle through which the layer reads their
// values.

/// How state that training keeps gets its new value.
enum class StateUpdate {
  /// By set_state. The value is the same for all tokens.
  kSet,
  /// By set_state. Where parts of a batch see the layer apart, as experts do, the largest value of
  /// all parts counts.
  kMaximum,
  /// By set_state. Every training step begins with ones, regardless of the step before. So a layer
  /// knows its first call of a step, where microbatches call it several times.
  kStepStart,
  /// By the backward pass: the gradient of the objective with respect to the state, as a custom_vjp
  /// that takes the state defines it. Where parts of a batch see the layer apart, the largest one
  /// counts. Several calls of the layer in one step add up.
  kGradient
};

struct ParamSpec {
  Shape shape = {};
  /// Mesh axes of each dim. Dims beyond the list are replicated.
  std::vector<DimAxes> mesh_axes = {};
  /// None: a weight, which is initialised as the options of the slot or of the layers above say.
  std::optional<Init> init = {};
  FanAxes fan = {};
  /// None: as the options of the slot say.
  std::optional<DType> dtype = {};
  /// Factor of the weight decay. None: as the optimizer's rules say.
  std::optional<double> weight_decay_scale = {};
  /// For state alone.
  StateUpdate update = StateUpdate::kSet;
  /// The dtype that a step casts the parameter to: the option @compute of its layer. None: that of
  /// the whole model.
  std::optional<DType> compute = {};

  // For complete specs, as Layer::param_specs returns them.
  Type type() const { return {dtype.value_or(DType::kF32), shape}; }
  PartitionSpec partition() const;
  Initialiser initialiser() const { return (*init)({shape, dtype.value_or(DType::kF32), fan}); }
};

/// The prefix of layer state in training states and checkpoints: "state/<layer>/<name>".
inline constexpr std::string_view kLayerStatePath = "state";

/// Reads one parameter of the current invocation.
class Param {
 public:
  /// Returns the parameter in the dtype of ParamSpec::compute, if that is set. Zeros of its type if
  /// a layer below holds its values (Layer::hold). Throws ConfigError if the caller of the
  /// invocation did not pass the parameter.
  Tensor operator()() const;
  const std::string& path() const { return path_; }
  /// True if a layer below holds its values.
  bool is_held() const { return held_->has_value(); }

 private:
  friend class Layer;
  // The type of a parameter whose values are held elsewhere; none: the parameter has them itself.
  using HeldType = std::optional<Type>;
  Param(std::string path, std::optional<DType> compute, std::shared_ptr<const HeldType> held)
      : path_(std::move(path)), compute_(compute), held_(std::move(held)) {}
  std::string path_;
  std::optional<DType> compute_;
  std::shared_ptr<const HeldType> held_;
};

// Initial values of single parameters, for models of which the others come from elsewhere.

/// Draws the parameter as its spec says. The key derives from the seed and the path.
HostTensor draw_parameter(const std::string& path, const ParamSpec& spec, int64_t seed);

}  // namespace axle
