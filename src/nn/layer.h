// Layers: modules that declare parameters and map tensors to tensors. Roles: the interfaces that
// layers implement.
//
// A role is four lines:
//   class Norm : public LayerRole<Norm, Tensor(const Tensor& x)> {
//    public:
//     struct Dims { int64_t input_dim; };
//     static constexpr InputNames kInputs = {"x"};
//     using LayerRole::LayerRole;
//   };
#pragma once

// A forgotten dim is an error for users as well.
#pragma GCC diagnostic error "-Wmissing-field-initializers"

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/child.h"
#include "config/describe.h"
#include "ir/mesh.h"
#include "nn/init.h"
#include "nn/invocation.h"
#include "nn/method.h"
#include "nn/param.h"
#include "transform/remat.h"

namespace axle {

/// Remat policies by name, for configs (transform/remat.h).
struct SaveNothing {
  RematPolicy operator()() const { return save_nothing(); }
  AXLE_CONFIG(SaveNothing)
};
/// Keeps the results of all products; the rest is computed again.
struct SaveDots {
  RematPolicy operator()() const { return save_dots(); }
  AXLE_CONFIG(SaveDots)
};
/// Keeps what has one of these tags; the rest is computed again.
struct SaveNames {
  /// Tags of name(x, tag); "*" and "?" match as in file names.
  std::vector<std::string> names = {};
  /// Tags of what is kept in the host's memory, where the target has a way there, else on the
  /// device.
  std::vector<std::string> offload = {};
  RematPolicy operator()() const { return save_names(names, offload); }
  AXLE_CONFIG(SaveNames, names, offload)
};

/// Options of every slot that holds a layer, set with a sign of their own: `layer.up.@dtype`.
struct LayerOptions {
  /// Of the parameters of this layer and those below; none: as the layer above, f32 at the root.
  std::optional<FloatDType> dtype = {};
  /// Of weights that do not name their own initialiser, here and below; none: as the layer above,
  /// at the root VarianceScaling{} (uniform by the average fan).
  std::optional<Init> init = {};
  /// When training, the layer's call is rematerialised under this policy; none: all it computes is
  /// kept.
  std::optional<Fn<RematPolicy()>> remat = {};
  /// Mesh axes of the layer's own weight, instead of what the layer says.
  std::optional<PartitionSpec> partition = {};
  /// Mesh axes of the layer's result, instead of what its role says; for results of one tensor.
  std::optional<PartitionSpec> activation = {};
  AXLE_CONFIG(LayerOptions, dtype, init, remat, partition, activation)
};

/// Owns a child and is called like its role.
template <class Role, class Sig = typename Role::Signature>
class Handle;
template <class Role, class R, class... A>
class Handle<Role, R(A...)> {
 public:
  explicit Handle(std::unique_ptr<Role> layer) : layer_(std::move(layer)) {}
  R operator()(A... args) const { return (*layer_)(args...); }
  Role* operator->() const { return layer_.get(); }
  Role& operator*() const { return *layer_; }

 private:
  std::unique_ptr<Role> layer_;
};

/// Shape and dtype of state that decoding keeps between calls.
struct StateSpec {
  Type type;
  PartitionSpec mesh_axes = {};
};
/// What a cache must hold.
struct DecodeDims {
  int64_t batch_size = 1, max_len = 1;
  DType dtype = DType::kF32;
};

class Layer {
 public:
  using Options = LayerOptions;
  explicit Layer(const Scope& scope);
  virtual ~Layer() = default;
  Layer(const Layer&) = delete;
  Layer& operator=(const Layer&) = delete;

  /// "decoder/layers/layer".
  const std::string& path() const { return path_; }
  /// The last part of the path.
  std::string_view last_name() const;
  /// The path as configs spell it: "decoder.layers.layer".
  std::string config_path() const;

  /// Every parameter of this layer and all below, by path. Needs neither a trace nor a device.
  virtual Tree<ParamSpec> param_specs() const;
  /// State that training keeps beside the parameters, of this layer and all below, by path: moving
  /// statistics, biases of routers. Each update may change it once.
  virtual Tree<ParamSpec> state_specs() const;
  /// Traced: initial values of all parameters from a key u32[2]; keys split in declaration order,
  /// own parameters first.
  virtual Tree<Tensor> initialize(const Tensor& key) const;
  /// Traced: initial values of state_specs(); keys derive from the paths.
  Tree<Tensor> initialize_state(const Tensor& key) const;
  /// State that decoding needs, by path; zeros before the first call.
  virtual Tree<StateSpec> decode_state_specs(const DecodeDims& dims) const;
  /// Whether calls for some positions after others give what one call for all gives, so far as it
  /// is up to this layer and not to those below: true where decode_state_specs names state of its
  /// own. A layer that looks at no other position says so by true. Any other is taken to look at
  /// them, and is refused while decoding (ConfigError): it would give other text in silence.
  virtual bool can_decode() const;
  /// Throws ConfigError unless can_decode. Every call while decoding begins with it.
  void check_decoding() const;
  /// How the layer can be called by name (eval-layer).
  virtual std::vector<Method> methods() = 0;

 protected:
  template <class R>
  Handle<R> child(std::string_view name, const Child<R>& config, const typename R::Dims& dims) {
    auto layer = config.build(dims, inner(name));
    children_.push_back(layer.get());
    return Handle<R>(std::move(layer));
  }
  template <class R>
  std::optional<Handle<R>> child(std::string_view name, const std::optional<Child<R>>& config,
                                 const typename R::Dims& dims) {
    if (!config) return std::nullopt;
    return child(name, *config, dims);
  }
  /// Declares a parameter of this layer. Throws ConfigError for a shape that is not positive or not
  /// countable.
  Param param(std::string_view name, ParamSpec spec);

  /// Declares state that training keeps beside the parameters: read by state(), changed by
  /// set_state() in training; evaluation and decoding only read it. Its shape, mesh axes, initial
  /// value (zeros where none is given) and dtype are those of `spec`. Throws ConfigError for a
  /// shape that is not positive.
  void declare_state(std::string_view name, ParamSpec spec);

  /// `value` is detached from the gradient and kept under this call's path.
  void add_summary(std::string_view name, const Tensor& value);
  /// A scalar that the objective must take in: one that reaches none is an error.
  void add_aux_loss(std::string_view name, const Tensor& value);
  void add_output(std::string_view name, const Tensor& value);
  /// Whether this call has some tokens of a text that began before: with the state of the call
  /// before it, or zeros if it is the first.
  static bool decoding() { return Invocation::current().options().decoding; }
  /// State of this layer: its newest value in this invocation. Throws ConfigError where the caller
  /// gave none.
  Tensor state(std::string_view name) const;
  /// Detached from the gradient. Throws ConfigError for state that the layer does not declare
  /// (declare_state, decode_state_specs), ShapeError for a value of another type than it has.
  void set_state(std::string_view name, const Tensor& value);
  /// Whether this call is one of training, whose changes of state are kept.
  static bool is_training() { return Invocation::current().options().training; }

  /// `x` laid over the mesh axes of `spec`; as it is where `spec` has no dims.
  static Tensor constrain(const Tensor& x, const PartitionSpec& spec);

  const LayerOptions& options() const { return options_; }
  const std::vector<Layer*>& children() const { return children_; }
  /// ConfigError at this layer: "<config path>.<field>: <what>".
  [[noreturn]] void fail(std::string_view field, std::string_view what) const;

  /// Runs `body` in a region of its own under `policy`; what layers within collect comes out with
  /// the result.
  template <class R, class Body>
  static R rematerialize(const RematPolicy& policy, Body&& body) {
    Invocation& outer = Invocation::current();
    InvocationOptions inner_options = outer.nested_options();
    const bool barrier = !inner_options.in_loop;
    std::optional<R> result;
    OutputCollection collected;
    const Values out = remat(
        [&](const Values&) {
          Invocation inner(outer.path(), outer.parameters(), std::move(inner_options));
          result.emplace(body());
          collected = std::move(inner.collection());
          Values all = tensors_of(*result);
          each_tensor(collected, [&](Tensor& t) { all.push_back(t); });
          return all;
        },
        {}, policy, barrier);
    auto at = out.begin();
    replace_tensors(*result, at);
    replace_tensors(collected, at);
    outer.merge(std::move(collected));
    return std::move(*result);
  }

 private:
  Scope inner(std::string_view name) const;
  void check_shape(std::string_view name, const Shape& shape) const;
  std::string path_;
  LayerOptions options_;  // with what the layers above hand down
  std::vector<Layer*> children_;
  std::vector<std::pair<std::string, ParamSpec>> params_;  // in declaration order
  Tree<ParamSpec> state_;
};

/// Base of a role: a call opens the layer's frame, applies its slot's remat policy, then runs
/// `forward`.
template <class Self, class Sig>
class LayerRole;
template <class Self, class R, class... A>
class LayerRole<Self, R(A...)> : public Layer {
 public:
  using Layer::Layer;
  using Role = Self;
  using Signature = R(A...);

  R operator()(A... args) {
    const Invocation::Frame frame(*this);
    if (options().remat && Invocation::current().options().training) {
      return rematerialize<R>((*options().remat)(), [&] { return placed(forward(args...)); });
    }
    return placed(forward(args...));
  }

  std::vector<Method> methods() override {
    return {
        method<R, A...>("forward", Self::kInputs, [this](A... args) { return (*this)(args...); })};
  }

 protected:
  virtual R forward(A... args) = 0;
  /// Mesh axes of the result; a role may hide it by its own. No dims: as the compiler finds best.
  static PartitionSpec activation() { return {}; }

 private:
  R placed(R result) const {
    if constexpr (std::is_same_v<R, Tensor>)
      return constrain(result, options().activation.value_or(Self::activation()));
    return result;
  }
};

}  // namespace axle
