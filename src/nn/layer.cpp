#include "nn/layer.h"

#include <fmt/format.h>

#include "base/error.h"
#include "base/hash.h"
#include "config/construction.h"
#include "config/register.h"
#include "config/walk.h"
#include "nn/invocation.h"
#include "ops/annotate.h"
#include "ops/elementwise/elementwise.h"
#include "ops/random/random.h"

namespace axle {
namespace {

// Keeps what the current call hands out. Each call has a path of its own (Invocation::Frame).
void collect(Tree<Tensor>& to, std::string_view what, std::string_view name, const Tensor& value) {
  const std::string& call = Invocation::current().path();
  if (to.try_emplace(join_path(call, name), value).second) return;
  throw ConfigError(
      fmt::format("{}: expected each {} of a call to have a name of its own, got '{}' twice; name "
                  "the second one otherwise",
                  call, what, name));
}

}  // namespace

Layer::Layer(const Scope& scope)
    : path_(scope.path), config_path_(scope.as_config()), construction_(scope.construction) {
  const auto* const own = static_cast<const LayerOptions*>(scope.options);
  if (own) options_ = *own;
  if (options_.remat) {
    try {
      (*options_.remat)();
    } catch (const ConfigError& error) {
      note("@remat", error.what());
    }
  }
  if (scope.parent) {
    const LayerOptions& above = static_cast<const Layer*>(scope.parent)->options_;
    if (!options_.dtype) options_.dtype = above.dtype;
    if (options_.dtypes.empty()) options_.dtypes = above.dtypes;
    if (!options_.compute) options_.compute = above.compute;
    if (!options_.init) options_.init = above.init;
    spellings_ = static_cast<const Layer*>(scope.parent)->spellings_;
  }
}

std::string_view Layer::last_name() const {
  const size_t slash = path_.rfind('/');
  return slash == std::string::npos ? std::string_view(path_)
                                    : std::string_view(path_).substr(slash + 1);
}

Scope Layer::inner(std::string_view name, std::string_view field) const {
  Scope out{.path = join_path(path_, name), .parent = this, .construction = construction_};
  out.config_path = join_config_path(config_path_, field.empty() ? name : field);
  for (const auto& [below, as] : spellings_) {
    if (out.config_path.starts_with(below)) out.config_path.replace(0, below.size(), as);
  }
  return out;
}

void Layer::spell(std::string_view below, std::string_view as) {
  spellings_.emplace_back(join_config_path(config_path_, below),
                          join_config_path(config_path_, as));
}

void detail::fail_unbuilt() { throw UnbuiltPart(); }

void detail::ComputeCast::enter(Tensor& argument) {
  if (!is_float(argument.dtype())) return;
  if (!outside_) outside_ = argument.dtype();
  argument = astype(argument, inside_);
}
void detail::ComputeCast::leave(Tensor& result) const {
  if (outside_ && result.dtype() == inside_) result = astype(result, *outside_);
}

bool Layer::has_unbuilt_child() const { return std::ranges::count(children_, nullptr) > 0; }

const std::vector<Layer*>& Layer::children() const {
  if (has_unbuilt_child()) detail::fail_unbuilt();
  return children_;
}

void Layer::check_shape(std::string_view name, const Shape& shape) const {
  if (std::ranges::any_of(shape, [](int64_t d) { return d <= 0; }))
    throw InheritedError(located(name, "shape must be positive, got " + to_text(shape)));
}

void Layer::claim(std::string_view name, std::string_view field, Names& names) const {
  const bool is_part = !name.empty() && name.find('/') == std::string_view::npos;
  if (is_part && std::ranges::count(names, name) == 0) {
    names.emplace_back(name);
    return;
  }
  const std::string_view rule = is_part
                                    ? "give each of its parameters and children a name of its own"
                                    : "name its parts without '/'";
  throw ConfigError(
      located(field.empty() ? name : field,
              fmt::format("expected {} to {}, got '{}'{}", short_type_name(typeid(*this)), rule,
                          name, is_part ? " twice" : "")));
}

void Layer::declare_state(std::string_view name, ParamSpec spec) {
  claim(name, {}, taken_states_);
  check_shape(name, spec.shape);
  if (!spec.init) spec.init = Zeros{};
  if (!spec.dtype) spec.dtype = DType::kF32;
  spec.mesh_axes.resize(spec.shape.size());
  state_.emplace(join_path(path_, name), std::move(spec));
}

Param Layer::param(std::string_view name, ParamSpec spec) {
  claim(name, {}, taken_names_);
  check_shape(name, spec.shape);
  if (options_.partition && (name == "weight" || !spec.init)) {
    spec.mesh_axes = options_.partition->dims;
    if (spec.mesh_axes.size() > spec.shape.size()) {
      note("@partition", fmt::format("expected mesh axes for at most the {} dims of {}, got {}",
                                     spec.shape.size(), name, to_text(*options_.partition)));
    }
  }
  std::string path = join_path(path_, name);
  spec.init = named_init(spec.init, options_.init, path);
  if (!spec.dtype) {
    const std::optional<DType> by_name = named_dtype(options_.dtypes, path);
    spec.dtype = by_name ? *by_name : DType{options_.dtype.value_or(DType::kF32)};
  }
  if (options_.compute && !spec.compute) spec.compute = DType{*options_.compute};
  if (!is_countable(spec.shape))
    throw InheritedError(located(name, too_large_text(spec.type()) + "; lower its dims"));
  spec.mesh_axes.resize(spec.shape.size());
  try {
    (void)spec.initialiser();
  } catch (const ConfigError& error) {
    throw InheritedError(located(name, error.what()));
  }
  const std::optional<DType> compute = spec.compute;
  const auto held = std::make_shared<Param::HeldType>();
  params_.push_back({path, std::move(spec), held});
  return {std::move(path), compute, held};
}

void Layer::adopt(Layer* child) {
  children_.push_back(child);
  if (!child) return;
  for (const std::string& path : child->held_) {
    const auto own = std::ranges::find(params_, path, &OwnParam::path);
    if (own != params_.end())
      *own->held = own->spec.type();
    else
      held_.push_back(path);
  }
}

Tree<ParamSpec> Layer::param_specs() const {
  Tree<ParamSpec> out;
  for (const auto& [path, spec, held] : params_) {
    if (!*held) out.emplace(path, spec);
  }
  for (const Layer* c : children()) out.merge(c->param_specs());
  return out;
}

Tree<ParamSpec> Layer::state_specs() const {
  Tree<ParamSpec> out = state_;
  for (const Layer* c : children()) out.merge(c->state_specs());
  return out;
}

void Layer::visit(const std::function<void(const Layer&)>& fn) const {
  fn(*this);
  for (const Layer* c : children()) c->visit(fn);
}

Tree<Tensor> Layer::initialize_state(const random::Key& key) const {
  Tree<Tensor> out;
  for (const auto& [path, spec] : state_specs()) {
    out.emplace(path, spec.initialiser().draw(random::fold_in(key, md5_mod_2_31_minus_1(path))));
  }
  return out;
}

Tree<Tensor> Layer::initialize(const random::Key& key) const {
  Tree<Tensor> out;
  KeySequence keys(key);
  for (const auto& [path, spec, held] : params_) {
    const random::Key own = keys.next();  // also of values that are held below: the others stay
    if (!*held) out.emplace(path, spec.initialiser().draw(own));
  }
  for (const Layer* c : children()) out.merge(c->initialize(keys.next()));
  return out;
}

Tree<StateSpec> Layer::decode_state_specs(const DecodeDims& dims) const {
  Tree<StateSpec> out;
  for (const Layer* c : children()) out.merge(c->decode_state_specs(dims));
  return out;
}

bool Layer::can_decode() const {
  Tree<StateSpec> own = decode_state_specs({});
  for (const Layer* c : children()) {
    for (const auto& [path, spec] : c->decode_state_specs({})) own.erase(path);
  }
  return !own.empty();
}

void Layer::check_decoding() const {
  if (can_decode()) return;
  throw ConfigError(fmt::format(
      "{}: expected a layer that can decode, got one that may look at positions outside the "
      "call; declare state for them in decode_state_specs, or let can_decode return true if it "
      "looks at its own position only",
      config_path()));
}

Tensor Layer::constrain(const Tensor& x, const PartitionSpec& spec) {
  return spec.dims.empty() ? x : sharding_constraint(x, spec);
}

std::string Layer::where() const {
  return config_path_.empty() ? short_type_name(typeid(*this)) : config_path_;
}

void Layer::expect_vectors(std::string_view name, const Tensor& x, int64_t size,
                           std::optional<size_t> rank) const {
  const bool has_rank = rank ? x.shape().size() == *rank : !x.shape().empty();
  const bool is_empty = std::ranges::count(x.shape(), 0) > 0;
  if (has_rank && !is_empty && x.shape().back() == size && is_float(x.dtype())) return;
  std::string dims = "..., ";
  if (rank) {
    dims.clear();
    for (size_t i = 1; i < *rank; ++i) dims += "?, ";
  }
  throw ShapeError(fmt::format("{}: expected floats [{}{}]{} for '{}' of {}, got {}", where(), dims,
                               size, is_empty ? " without a dim of size 0" : "", name,
                               short_type_name(typeid(*this)), to_text(x.type())));
}

void Layer::expect_result(const Tensor& result, const Type& expected, std::string_view what) const {
  const auto fits = [](int64_t got, int64_t dim) { return dim == kAnySize || got == dim; };
  if (result && result.dtype() == expected.dtype &&
      std::ranges::equal(result.shape(), expected.dims, fits))
    return;
  std::vector<std::string> dims;
  for (const int64_t dim : expected.dims)
    dims.push_back(dim == kAnySize ? "?" : std::to_string(dim));
  throw ShapeError(fmt::format("{}: expected {} to return {}{}{}[{}], got {}", where(),
                               short_type_name(typeid(*this)), what, what.empty() ? "" : " ",
                               name_of(expected.dtype), fmt::join(dims, ", "),
                               result ? to_text(result.type()) : "an empty tensor"));
}

void Layer::add_summary(std::string_view name, const Tensor& value) {
  Invocation& inv = Invocation::current();
  if (inv.options().summaries)
    collect(inv.collection().summaries, "summary", name, stop_gradient(value));
}
void Layer::add_statistics(const NamedTensors& results) {
  if (!Invocation::current().options().summaries) return;
  for (const auto& [name, x] : results) {
    if (!is_float(x.dtype())) continue;
    for (const Statistic& statistic : options_.stats) {
      const NamedStatistic found = statistic(x);
      add_summary(join_path(join_path("output", name), found.name), found.value);
    }
  }
}
void Layer::add_aux_loss(std::string_view name, const Tensor& value) {
  collect(Invocation::current().collection().aux_losses, "aux loss", name, value);
}
void Layer::add_output(std::string_view name, const Tensor& value) {
  collect(Invocation::current().collection().outputs, "output", name, value);
}

Tensor Layer::state(std::string_view name) const {
  Invocation& inv = Invocation::current();
  const std::string path = join_path(path_, name);
  if (const auto it = inv.collection().state.find(path); it != inv.collection().state.end())
    return it->second;
  return inv.stored_state(path);
}
void Layer::set_state(std::string_view name, const Tensor& value) {
  Invocation& inv = Invocation::current();
  const std::string path = join_path(path_, name);
  const auto declared = inv.options().state.find(path);
  if (declared == inv.options().state.end()) {
    throw ConfigError(fmt::format(
        "{}: expected state that the layer declares, got none of this name; declare it by "
        "declare_state(\"{}\", ...) in the constructor",
        path, name));
  }
  if (declared->second.type() != value.type()) {
    throw ShapeError(fmt::format("{}: expected the state's type {}, got {}", path,
                                 to_text(declared->second.type()), to_text(value.type())));
  }
  inv.collection().state.insert_or_assign(path, stop_gradient(value));
}

void Layer::publish(const std::string& name, const Tensor& value) {
  Invocation::current().collection().published.insert_or_assign(name, value);
}
std::optional<Tensor> Layer::find_published(const std::string& name) {
  const Tensor* value = Invocation::current().published(name);
  return value ? std::optional(*value) : std::nullopt;
}
Tensor Layer::published(const std::string& name) const {
  if (const auto value = find_published(name)) return *value;
  throw ConfigError(fmt::format(
      "{}: expected a value published as '{}', got none; a layer that publishes it must "
      "be called before this one",
      config_path(), name));
}

Values Layer::rematerialize_values(const RematPolicy& policy, const std::function<Values()>& body) {
  Invocation& outer = Invocation::current();
  InvocationOptions inner_options = outer.nested_options();
  const bool barrier = !inner_options.in_loop;
  OutputCollection collected;
  std::ptrdiff_t num_results = 0;
  Values out = remat(
      [&](const Values&) {
        Invocation inner(outer.path(), outer.parameters(), std::move(inner_options));
        Values all = body();
        num_results = std::ssize(all);
        collected = std::move(inner.collection());
        each_tensor(collected, [&](Tensor& t) { all.push_back(t); });
        return all;
      },
      {}, policy, barrier);
  Values::const_iterator at = out.cbegin() + num_results;
  replace_tensors(collected, at);
  outer.merge(std::move(collected));
  return out;
}

std::string Layer::located(std::string_view field, std::string_view what) const {
  return fmt::format("{}: {}", join_config_path(config_path_, field), what);
}
void Layer::fail(std::string_view field, std::string_view what) const {
  throw ConfigError(located(field, what));
}
void Layer::note(std::string_view field, std::string_view what) const {
  if (!construction_) fail(field, what);
  construction_->note(ConfigError(located(field, what)));
}

AXLE_REGISTER(LayerOptions)

}  // namespace axle
