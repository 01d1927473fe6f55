// Layers: modules that declare parameters and map tensors to tensors. Roles: the interfaces that
// layers implement.
//
// A role takes a few lines:
//   class Norm : public LayerRole<Norm, Tensor(const Tensor& x)> {
//    public:
//     struct Dims { int64_t input_dim; };
//     static constexpr InputNames kInputs = {"x"};
//     static constexpr bool kKeepsType = true;
//     using LayerRole::LayerRole;
//   };
#pragma once

// -Wmissing-field-initializers: leaving out a field of Dims is an error in users' code as well.
#pragma GCC diagnostic error "-Wmissing-field-initializers"

#include <concepts>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "config/config_type.h"
#include "config/construction.h"
#include "config/fields.h"
#include "ir/devices/mesh.h"
#include "nn/init.h"
#include "nn/init_rules.h"
#include "nn/invocation.h"
#include "nn/method.h"
#include "nn/param.h"
#include "nn/statistic.h"
#include "transform/remat/remat.h"

namespace axle {

/// Options of every slot that holds a layer. An '@' marks them in paths: `layer.up.@dtype`.
struct LayerOptions {
  /// Dtype of the parameters of this layer and those below; none: as the layer above, f32 at the
  /// root.
  std::optional<FloatDType> dtype = {};
  /// Dtypes of parameters by name, in this layer and those below. The first rule that matches
  /// counts and beats `dtype`. Empty: as the layer above.
  std::vector<DTypeRule> dtypes = {};
  /// Dtype in which this layer and those below compute: their parameters and the floating-point
  /// arguments of their calls are cast to it. Results are cast back to the dtype of the first such
  /// argument. None: as the layer above, at the root the dtype of the whole model.
  std::optional<FloatDType> compute = {};
  /// Initialiser of weights that name none, in this layer and those below; none: as the layer
  /// above, at the root VarianceScaling{} (uniform by the average fan). InitByName also sets biases
  /// and scales.
  std::optional<Init> init = {};
  /// Remat policy for the layer's call in training; none: all values are kept.
  std::optional<Fn<RematPolicy()>> remat = {};
  /// Mesh axes of the layer's own weight, instead of the layer's default; none: the default.
  std::optional<PartitionSpec> partition = {};
  /// Mesh axes of the layer's result, instead of its role's default; only for results of one
  /// tensor.
  std::optional<PartitionSpec> activation = {};
  /// Statistics of the floating-point results of the layer, as summaries "output/<statistic>" of
  /// its calls. They are computed only where summaries are. Empty: none.
  std::vector<Statistic> stats = {};
  static constexpr auto kKeepsResults =
      std::to_array<std::string_view>({"remat", "partition", "activation", "stats"});
  AXLE_CONFIG(LayerOptions, dtype, dtypes, compute, init, remat, partition, activation, stats)
};

namespace detail {
[[noreturn]] void fail_unbuilt();

// Sets the segment ids of the current call to those of a context.
template <class T>
void note_segments(const T& argument) {
  if constexpr (requires { Invocation::current().set_segment_ids(argument.segment_ids); })
    Invocation::current().set_segment_ids(argument.segment_ids);
}

// Casts the floating-point arguments of a call to the dtype of its layer (the option @compute), and
// its results back to the dtype of the first of them.
class ComputeCast {
 public:
  explicit ComputeCast(DType inside) : inside_(inside) {}
  void enter(Tensor& argument);
  void leave(Tensor& result) const;

 private:
  DType inside_;
  std::optional<DType> outside_;
};

template <class Role>
struct SignatureOf {
  using type = void();
};
template <class Role>
requires requires { typename Role::Signature; }
struct SignatureOf<Role> {
  using type = typename Role::Signature;
};
}  // namespace detail

/// Owns a child and is called like its role. A role of parts that are no layers has no such call.
template <class Role, class Sig = typename detail::SignatureOf<Role>::type>
class Handle;
template <class Role, class R, class... A>
class Handle<Role, R(A...)> {
 public:
  /// Null: the layer could not be built, and any use throws UnbuiltPart.
  explicit Handle(std::unique_ptr<Role> layer) : layer_(std::move(layer)) {}
  R operator()(A... args) const { return (**this)(args...); }
  /// Calls the role with fewer arguments, if it has a shorter form of its call.
  template <class... B>
  requires(sizeof...(B) < sizeof...(A)) && std::invocable<Role&, B...> R operator()(
                                               B&&... args) const {
    return (**this)(std::forward<B>(args)...);
  }
  Role* operator->() const { return &**this; }
  Role& operator*() const {
    if (!layer_) detail::fail_unbuilt();
    return *layer_;
  }

 private:
  std::unique_ptr<Role> layer_;
};

/// Type and sharding of state that decoding keeps between calls.
struct StateSpec {
  Type type;
  PartitionSpec mesh_axes = {};
};
/// The sizes that a decode cache must hold.
struct DecodeDims {
  int64_t batch_size = 1, max_len = 1;
  DType dtype = DType::kF32;
};

/// Base class of all layers: owns parameters and state by name, and holds the layers below it.
class Layer {
 public:
  using Options = LayerOptions;
  explicit Layer(const Scope& scope);
  virtual ~Layer() = default;
  Layer(const Layer&) = delete;
  Layer& operator=(const Layer&) = delete;

  /// Returns the path of the layer: "decoder/layers/layer".
  const std::string& path() const { return path_; }
  /// Returns the last part of the path.
  std::string_view last_name() const;
  /// Returns the path as configs spell it: "decoder.layers.layers[1]" of "decoder/layers/layer1".
  const std::string& config_path() const { return config_path_; }

  /// Returns every parameter of this layer and the layers below, by path. Needs neither a trace nor
  /// a device.
  virtual Tree<ParamSpec> param_specs() const;
  /// Returns the state that training keeps beside the parameters, of this layer and the layers
  /// below, by path: moving statistics, biases of routers. Each update may change it once.
  virtual Tree<ParamSpec> state_specs() const;
  /// Calls fn(layer) for this layer and all layers below, parents first.
  void visit(const std::function<void(const Layer&)>& fn) const;
  /// Emits the initial values of all parameters, from a key. Keys are split in order of
  /// declaration, own parameters first.
  virtual Tree<Tensor> initialize(const random::Key& key) const;
  /// Emits the initial values of state_specs(). Keys derive from the paths.
  Tree<Tensor> initialize_state(const random::Key& key) const;
  /// Returns the state that decoding needs, by path. It is zero before the first call.
  virtual Tree<StateSpec> decode_state_specs(const DecodeDims& dims) const;
  /// True if decoding some positions per call returns the same as one call for all positions, as
  /// far as this layer itself (without the layers below) decides. The default is true if
  /// decode_state_specs names state of its own. If a layer looks only at its own position, it
  /// overrides this function and returns true. Decoding refuses any other layer (ConfigError),
  /// because its text would silently be wrong.
  virtual bool can_decode() const;
  /// Throws ConfigError unless can_decode. Every call while decoding begins with this check.
  void check_decoding() const;
  /// Returns the ways to call the layer by name (eval-layer).
  virtual std::vector<Method> methods() = 0;

 protected:
  /// Builds a child: a layer, or a part that is none, such as a mask. If it has a mistake,
  /// construction goes on, so that one error has the mistakes of all layers. A constructor that
  /// uses the child ends there. {} instead of the dims is refused unless the role has none.
  /// `field`: the field with the config, where it is not called `name`: "layers[1]".
  template <class R>
  Handle<R> child(std::string_view name, const Child<R>& config, const typename R::Dims& dims,
                  std::string_view field = {}) {
    claim(name, field, taken_names_);
    auto part = config.build(dims, inner(name, field));
    if constexpr (std::derived_from<R, Layer>)
      adopt(part.get());
    else if (!part)
      adopt(nullptr);
    return Handle<R>(std::move(part));
  }
  template <class R>
  std::optional<Handle<R>> child(std::string_view name, const std::optional<Child<R>>& config,
                                 const typename R::Dims& dims) {
    if (!config) return std::nullopt;
    return child(name, *config, dims);
  }
  template <class R>
  Handle<R> child(std::string_view name, const Child<R>& config, detail::NoDims) {
    return child(name, config, detail::no_dims<R>());
  }
  template <class R>
  std::optional<Handle<R>> child(std::string_view name, const std::optional<Child<R>>& config,
                                 detail::NoDims) {
    return child(name, config, detail::no_dims<R>());
  }
  /// For layers that build a child from a config that they make themselves: in messages, paths
  /// below `below` are written with `as`. Both are relative to this layer.
  void spell(std::string_view below, std::string_view as);
  /// True if a child could not be built.
  bool has_unbuilt_child() const;
  /// Declares a parameter of this layer. Throws ConfigError if the shape is not positive or has too
  /// many elements.
  Param param(std::string_view name, ParamSpec spec);
  /// In a constructor: replaces a parameter of a layer above by parameters of this one. The model
  /// is then without that parameter: whoever reads it gets zeros of its type, which this layer does
  /// not use.
  void hold(const std::string& path) { held_.push_back(path); }

  /// Declares state that training keeps beside the parameters. state() reads it, set_state()
  /// changes it in training; evaluation and decoding only read it. `spec` holds its shape, mesh
  /// axes, dtype and initial value (default: zeros). Throws ConfigError if the shape is not
  /// positive.
  void declare_state(std::string_view name, ParamSpec spec);

  /// Stores `value`, detached from the gradient, under the path of this call. Like the two below,
  /// throws ConfigError if this call has stored one of this name.
  void add_summary(std::string_view name, const Tensor& value);
  /// Adds a scalar that the objective must include. An aux loss that no objective takes is an
  /// error.
  void add_aux_loss(std::string_view name, const Tensor& value);
  /// Stores `value`, not detached, under the path of this call.
  void add_output(std::string_view name, const Tensor& value);
  /// True if this call gets some tokens of a text that may have begun in earlier calls. The state
  /// is that of the previous call, or zeros for the first one.
  static bool decoding() { return Invocation::current().options().decoding; }
  /// Returns state of this layer: its newest value in this invocation. Throws ConfigError if the
  /// caller passed none.
  Tensor state(std::string_view name) const;
  /// Sets state of this layer; the value is detached from the gradient. Throws ConfigError if the
  /// layer does not declare the state (declare_state, decode_state_specs), ShapeError if the type
  /// of the value differs from the declared one.
  void set_state(std::string_view name, const Tensor& value);
  /// Makes `value` readable under `name` by the layers that this invocation calls later: for values
  /// that cross layers, such as shared keys and values. A later value replaces it.
  static void publish(const std::string& name, const Tensor& value);
  /// Returns the newest value that was published under `name`. Throws ConfigError if there is none.
  Tensor published(const std::string& name) const;
  /// The same; none if nothing was published.
  static std::optional<Tensor> find_published(const std::string& name);
  /// True if this is a call for training. Its changes of state are kept.
  static bool is_training() { return Invocation::current().options().training; }

  /// Constrains `x` to the mesh axes of `spec`; returns `x` unchanged if `spec` has no dims.
  static Tensor constrain(const Tensor& x, const PartitionSpec& spec);

  /// Returns the config path for messages; the class of a layer without a path.
  std::string where() const;
  /// Throws ShapeError, naming the layer and its class, unless the argument `name` holds floats and
  /// no empty dim, its last dim has this size, and it has `rank` dims; none: at least one.
  void expect_vectors(std::string_view name, const Tensor& x, int64_t size,
                      std::optional<size_t> rank = {}) const;
  /// Throws ShapeError, naming the layer and its class, unless `result` has this type. A dim of
  /// kAnySize has any size. `what`: which of several results.
  void expect_result(const Tensor& result, const Type& expected, std::string_view what = {}) const;
  static constexpr int64_t kAnySize = -1;

  const LayerOptions& options() const { return options_; }
  /// Adds the statistics of the slot's option @stats of these results, by their names.
  void add_statistics(const NamedTensors& results);
  /// Throws ConfigError "<config path>.<field>: <what>".
  [[noreturn]] void fail(std::string_view field, std::string_view what) const;
  /// For constructors: notes the same error and returns, so that what follows is checked too. The
  /// construction fails at its end.
  void note(std::string_view field, std::string_view what) const;

  /// Runs `body` in a region of its own under `policy`. Returns its result and merges what the
  /// layers inside collect.
  template <class R, class Body>
  static R rematerialize(const RematPolicy& policy, Body&& body) {
    std::optional<R> result;
    const Values out = rematerialize_values(policy, [&] {
      result.emplace(body());
      return tensors_of(*result);
    });
    auto at = out.begin();
    replace_tensors(*result, at);
    return std::move(*result);
  }

 private:
  // The scope of a child. `field`: as in child().
  Scope inner(std::string_view name, std::string_view field) const;
  static Values rematerialize_values(const RematPolicy& policy,
                                     const std::function<Values()>& body);
  std::string located(std::string_view field, std::string_view what) const;
  using Names = std::vector<std::string>;
  // Throws ConfigError for a name that is no part of a path, and for one that was claimed before.
  void claim(std::string_view name, std::string_view field, Names& names) const;
  // Throws UnbuiltPart if one of them could not be built.
  const std::vector<Layer*>& children() const;
  void adopt(Layer* child);
  void check_shape(std::string_view name, const Shape& shape) const;
  std::string path_, config_path_;
  std::vector<std::pair<std::string, std::string>> spellings_;  // with those of the layers above
  LayerOptions options_;          // includes what layers above pass down
  Construction* construction_;    // valid only during construction
  std::vector<Layer*> children_;  // null: could not be built
  struct OwnParam {
    std::string path;
    ParamSpec spec;
    std::shared_ptr<Param::HeldType> held;  // with a value: a layer below has the values
  };
  std::vector<OwnParam> params_;   // in declaration order
  std::vector<std::string> held_;  // parameters of layers above
  Tree<ParamSpec> state_;
  Names taken_names_, taken_states_;  // of parameters and children; of state
};

/// Base class of a role. A call opens the layer's frame, applies the remat policy of its slot, then
/// runs `forward`, and checks the result, so that a wrong one is reported with the class and its
/// path. Arguments are checked by `check_arguments(args...)`, if the role has that. For the result
/// the role has one of:
///   kKeepsType: the result has the type of the first argument.
///   check_result(result, args...): the role checks it.
///   kAnyResult: no check.
template <class Self, class Sig>
class LayerRole;

/// Says of a role that its first input holds floats in vectors of the size that the parent set:
/// `static constexpr InputVectors kVectors = {&Dims::input_dim};`, or also the number of dims.
template <class Dims, class Size>
struct InputVectors {
  Size Dims::*size;
  std::optional<size_t> rank = {};
};
// Compilers that do not deduce the arguments of aggregates need them (clang before 17).
template <class Dims, class Size>
InputVectors(Size Dims::*) -> InputVectors<Dims, Size>;
template <class Dims, class Size>
InputVectors(Size Dims::*, size_t) -> InputVectors<Dims, Size>;

template <class Self, class R, class... A>
class LayerRole<Self, R(A...)> : public Layer {
 public:
  explicit LayerRole(const Scope& scope) : Layer(scope) {
    if (scope.dims) {
      using Dims = typename Self::Dims;
      given_dims_ = std::make_shared<const Dims>(*static_cast<const Dims*>(scope.dims));
    }
  }
  using Role = Self;
  using Signature = R(A...);

  R operator()(A... args);
  std::vector<Method> methods() override;

 protected:
  virtual R forward(A... args) = 0;
  /// Mesh axes of the result; a role may hide this function with its own. No dims: the compiler
  /// chooses.
  static PartitionSpec activation() { return {}; }
  /// Returns the sizes that the parent set (Self::Dims); null for a layer that was built without.
  template <class Of = Self>
  const typename Of::Dims* given_dims() const {
    return static_cast<const typename Of::Dims*>(given_dims_.get());
  }

 private:
  R run(A... args);
  R checked(A... args);
  R finished(R result);
  std::shared_ptr<const void> given_dims_;  // a Self::Dims, which is incomplete here
};

// The members are not inline: a role that many files use instantiates them once, by `extern
// template class LayerRole<...>` in its header and `template class LayerRole<...>` in its source.

template <class Self, class R, class... A>
R LayerRole<Self, R(A...)>::operator()(A... args) {
  const Invocation::Frame frame(*this);
  (detail::note_segments(args), ...);
  if constexpr (requires { Self::segments_of(args...); }) {
    if (const std::optional<Tensor>& ids = Self::segments_of(args...))
      Invocation::current().set_segment_ids(ids);
  }
  if (!options().compute) return run(args...);
  detail::ComputeCast cast{DType{*options().compute}};
  std::tuple<std::remove_cvref_t<A>...> inside(args...);
  return std::apply(
      [&](auto&... each) {
        (each_tensor(each, [&](Tensor& t) { cast.enter(t); }), ...);
        R result = run(each...);
        each_tensor(result, [&](Tensor& t) { cast.leave(t); });
        return result;
      },
      inside);
}

template <class Self, class R, class... A>
std::vector<Method> LayerRole<Self, R(A...)>::methods() {
  return {
      method<R, A...>("forward", Self::kInputs, [this](A... args) { return (*this)(args...); })};
}

template <class Self, class R, class... A>
R LayerRole<Self, R(A...)>::run(A... args) {
  if (options().remat && Invocation::current().options().training) {
    return rematerialize<R>((*options().remat)(), [&] { return finished(checked(args...)); });
  }
  return finished(checked(args...));
}

template <class Self, class R, class... A>
R LayerRole<Self, R(A...)>::checked(A... args) {
  if constexpr (requires { Self::kVectors; }) {
    if (const auto* dims = given_dims()) {
      expect_vectors(Self::kInputs[0], std::get<0>(std::tie(args...)), dims->*Self::kVectors.size,
                     Self::kVectors.rank);
    }
  }
  if constexpr (requires(const Self& self) { self.check_arguments(args...); })
    static_cast<const Self*>(this)->check_arguments(args...);
  R result = forward(args...);
  if constexpr (requires { requires Self::kKeepsType; })
    expect_result(result, std::get<0>(std::tie(args...)).type());
  else if constexpr (requires(const Self& self) { self.check_result(result, args...); })
    static_cast<const Self*>(this)->check_result(result, args...);
  else
    static_assert(
        std::is_final_v<Self> || requires { requires Self::kAnyResult; },
        "a role says what its results are: kKeepsType, check_result() or kAnyResult");
  return result;
}

template <class Self, class R, class... A>
R LayerRole<Self, R(A...)>::finished(R result) {
  if constexpr (std::is_same_v<R, Tensor>)
    result = constrain(result, options().activation.value_or(Self::activation()));
  if (!options().stats.empty()) add_statistics(named_tensors_of(result));
  return result;
}

}  // namespace axle
