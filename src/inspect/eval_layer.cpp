#include "inspect/eval_layer.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "base/text.h"
#include "inspect/run_named.h"
#include "nn/functional.h"
#include "ops/create.h"
#include "ops/random.h"
#include "transform/grad.h"

namespace axle {
namespace {

// What stands below "<prefix>/", by the rest of the names.
template <class T>
Tree<T> below(const Tree<T>& all, const std::string& prefix) {
  Tree<T> out;
  for (const auto& [name, value] : all) {
    if (name.starts_with(prefix + "/")) out.emplace(name.substr(prefix.size() + 1), value);
  }
  return out;
}

template <class T>
void put(Tree<T>& out, const std::string& prefix, const Tree<T>& values) {
  for (const auto& [name, value] : values) out.insert_or_assign(join_path(prefix, name), value);
}

void check_params(const Tree<ParamSpec>& specs, const Tree<HostTensor>& params) {
  std::vector<std::string> faults;
  for (const auto& [path, spec] : specs) {
    const auto it = params.find(path);
    if (it == params.end()) {
      faults.push_back(fmt::format("params/{}: expected {}, got none", path, to_text(spec.type())));
    } else if (it->second.shape() != spec.shape) {
      faults.push_back(fmt::format("params/{}: expected {}, got {}", path, to_text(spec.shape),
                                   to_text(it->second.shape())));
    }
  }
  for (const auto& [path, value] : params) {
    if (!specs.contains(path))
      faults.push_back(fmt::format("params/{}: not a parameter of this layer", path));
  }
  if (!faults.empty()) throw ConfigError(join(faults, "; "));
}

Method find_method(Layer& layer, const std::string& name) {
  std::vector<std::string> names;
  for (Method& method : layer.methods()) {
    if (method.name == name) return std::move(method);
    names.push_back(method.name);
  }
  throw ConfigError(fmt::format("--method: no method is called '{}'{} (methods: {})", name,
                                suggest(name, names), join(names, ", ")));
}

// The call as a function from "params/", "in/", "state/" and "key" to all that it gives, by the
// names of the result.
struct Call {
  Layer& layer;
  Method method;
  bool training;

  Tree<Tensor> operator()(const Tree<Tensor>& arguments) const {
    InvocationOptions invocation{.training = training, .state = below(arguments, "state")};
    if (const auto key = arguments.find("key"); key != arguments.end())
      invocation.key = key->second;
    const Tree<Tensor> inputs = below(arguments, "in");
    const auto [results, collected] =
        functional(layer, below(arguments, "params"), std::move(invocation), [&] {
          InputReader reader(inputs);
          Values values = method.call(reader);
          reader.check_all_used();
          return values;
        });
    Tree<Tensor> out;
    for (size_t i = 0; i < results.size(); ++i)
      out.emplace(results.size() == 1 ? "out" : fmt::format("out/{}", i), results[i]);
    put(out, "summaries", collected.summaries);
    put(out, "aux_losses", collected.aux_losses);
    put(out, "outputs", collected.outputs);
    put(out, "state", collected.state);
    return out;
  }
};

// The cotangent of a result; none where it has none. What is given and not asked for is an error.
class Cotangents {
 public:
  explicit Cotangents(Tree<Tensor> given) : given_(std::move(given)) {}

  Tensor take(const std::string& result, const Tensor& value) {
    const bool is_output = result == "out" || result.starts_with("out/");
    if (!is_output || !is_float(value.dtype())) return {};
    const std::string index = result == "out" ? "0" : result.substr(4);
    const auto it = given_.find(index);
    if (it == given_.end())
      throw ConfigError(
          fmt::format("cotangent/{}: expected {}, got none", index, to_text(value.type())));
    const Tensor cotangent = it->second;
    if (!(cotangent.type() == value.type())) {
      throw ConfigError(fmt::format("cotangent/{}: expected {}, got {}", index,
                                    to_text(value.type()), to_text(cotangent.type())));
    }
    given_.erase(it);
    return cotangent;
  }
  void check_all_used() const {
    if (!given_.empty())
      throw ConfigError(fmt::format("cotangent/{}: no floating-point output has this number",
                                    given_.begin()->first));
  }

 private:
  Tree<Tensor> given_;
};

// The call with its gradients by parameters and inputs at the cotangents among the arguments.
Tree<Tensor> with_gradients(const Call& call, const Tree<Tensor>& arguments) {
  std::vector<std::string> names;
  Values values;
  std::vector<bool> active;
  Tree<Tensor> cotangents;
  for (const auto& [name, value] : arguments) {
    if (name.starts_with("cotangent/")) {
      cotangents.emplace(name.substr(10), value);
      continue;
    }
    names.push_back(name);
    values.push_back(value);
    active.push_back((name.starts_with("params/") || name.starts_with("in/")) &&
                     is_float(value.dtype()));
  }
  std::vector<std::string> result_names;
  const auto positional = [&](const Values& at) {
    Tree<Tensor> named;
    for (size_t i = 0; i < at.size(); ++i) named.emplace(names[i], at[i]);
    Values results;
    result_names.clear();
    for (const auto& [name, value] : call(named)) {
      result_names.push_back(name);
      results.push_back(value);
    }
    return results;
  };
  const Linearized linear = vjp(positional, values, active);
  Tree<Tensor> out;
  Cotangents at(std::move(cotangents));
  Values seeds;
  for (size_t i = 0; i < result_names.size(); ++i) {
    out.emplace(result_names[i], linear.outputs[i]);
    seeds.push_back(at.take(result_names[i], linear.outputs[i]));
  }
  at.check_all_used();
  const Values gradients = linear.pullback(seeds);
  for (size_t i = 0; i < names.size(); ++i) {
    if (active[i])
      out.emplace("grad/" + names[i], gradients[i] ? gradients[i] : zeros_like(values[i]));
  }
  return out;
}

Tree<HostTensor> initial_params(const Layer& layer, int64_t seed, Runtime& runtime) {
  if (layer.param_specs().empty()) return {};
  return run_named(
      "initialize", [&](const Tree<Tensor>& in) { return layer.initialize(in.at("key")); },
      {{"key", random::key(seed)}}, runtime);
}

}  // namespace

Tree<HostTensor> eval_layer(Layer& layer, const std::optional<Tree<HostTensor>>& params,
                            const Tree<HostTensor>& inputs, const EvalLayerOptions& options,
                            Runtime& runtime) {
  const Call call{layer, find_method(layer, options.method), options.training};
  const Tree<ParamSpec> specs = layer.param_specs();
  Tree<HostTensor> out, arguments;
  if (options.init_seed)
    put(out, "init_params", initial_params(layer, *options.init_seed, runtime));
  if (!params && !options.init_seed && !specs.empty())
    throw ConfigError("parameters: expected --params FILE or --seed N, got neither");
  const Tree<HostTensor> used = params ? *params : below(out, "init_params");
  check_params(specs, used);

  put(arguments, "params", used);
  for (const std::string prefix : {"in", "state"}) put(arguments, prefix, below(inputs, prefix));
  if (options.grad) put(arguments, "cotangent", below(inputs, "cotangent"));
  if (options.dtype) {
    for (auto& [name, value] : arguments) {
      if (is_float(value.dtype())) value = value.astype(*options.dtype);
    }
  }
  if (options.call_key) arguments.emplace("key", random::key(*options.call_key));
  const auto program = [&](const Tree<Tensor>& at) {
    return options.grad ? with_gradients(call, at) : call(at);
  };
  out.merge(run_named("eval_layer", program, arguments, runtime));
  return out;
}

}  // namespace axle
