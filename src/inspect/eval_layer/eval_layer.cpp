#include "inspect/eval_layer/eval_layer.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "base/error.h"
#include "base/tree.h"
#include "inspect/eval_layer/cotangents.h"
#include "inspect/eval_layer/decode_call.h"
#include "inspect/eval_layer/given_tensors.h"
#include "inspect/eval_layer/run_named.h"
#include "ir/type_differences.h"
#include "layers/models/decoder.h"
#include "layers/models/embedding.h"
#include "layers/models/model.h"
#include "nn/functional.h"
#include "ops/create.h"
#include "ops/random/random.h"
#include "transform/grad.h"

namespace axle {
namespace {

// The results of a call: its outputs in order, and the values that layers recorded, by name.
struct Called {
  std::vector<NamedOutput> outputs;
  Tree<Tensor> beside;
};

// The call as a function from "params/", "in/", "state/" and "key" to all of its results.
struct Call {
  Layer& layer;
  Method method;
  bool training, decoding;

  Called operator()(const Tree<Tensor>& arguments) const {
    InvocationOptions invocation{
        .training = training, .state = subtree(arguments, "state"), .decoding = decoding};
    if (const auto key = arguments.find("key"); key != arguments.end())
      invocation.key = random::Key::wrap(key->second);
    Tree<Tensor> inputs = subtree(arguments, "in");
    invocation.published = take_published(inputs);
    invocation.segment_ids = take_segment_ids(inputs, method.inputs);
    auto [results, collected] =
        functional(layer, subtree(arguments, "params"), std::move(invocation), [&] {
          InputReader reader(inputs);
          NamedTensors values = method.call(reader);
          reader.check_all_used();
          return values;
        });
    Called out;
    for (auto& [name, value] : results) out.outputs.push_back({name, value});
    collected.each_field([&](std::string_view section, Tree<Tensor>& tensors) {
      put_subtree(out.beside, section, std::move(tensors));
    });
    return out;
  }
};

Tree<Tensor> by_name(const Called& called) {
  Tree<Tensor> out = called.beside;
  for (const auto& [name, value] : called.outputs) out.emplace(join_path("out", name), value);
  return out;
}

// Runs the call and its pullback at the cotangents in `arguments`. Returns the results, and the
// gradients of floating-point parameters and inputs.
Tree<Tensor> with_gradients(const Call& call, const Tree<Tensor>& arguments) {
  std::vector<std::string> names;
  Values values;
  std::vector<bool> active;
  for (const auto& [name, value] : arguments) {
    if (name.starts_with("cotangent/")) continue;
    names.push_back(name);
    values.push_back(value);
    active.push_back((name.starts_with("params/") || name.starts_with("in/")) &&
                     is_float(value.dtype()));
  }
  Called called;
  const Linearized linear = vjp(
      [&](const Values& at) {
        Tree<Tensor> named;
        for (size_t i = 0; i < at.size(); ++i) named.emplace(names[i], at[i]);
        called = call(named);
        Values results;
        for (const NamedOutput& output : called.outputs) results.push_back(output.value);
        for (const auto& [name, value] : called.beside) results.push_back(value);
        return results;
      },
      values, active);
  auto at = linear.outputs.begin();
  for (NamedOutput& output : called.outputs) output.value = *at++;
  for (auto& [name, value] : called.beside) value = *at++;

  Values cotangents = cotangents_for(called.outputs, subtree(arguments, "cotangent"));
  cotangents.resize(linear.outputs.size());
  const Values gradients = linear.pullback(cotangents);
  Tree<Tensor> out = by_name(called);
  for (size_t i = 0; i < names.size(); ++i) {
    if (active[i])
      out.emplace("grad/" + names[i], gradients[i] ? gradients[i] : zeros_like(values[i]));
  }
  return out;
}

Tree<HostTensor> initial_params(const Layer& layer, int64_t seed, Runtime& runtime) {
  if (layer.param_specs().empty()) return {};
  return run_named(
      "initialize",
      [&](const Tree<Tensor>& in) { return layer.initialize(random::Key::wrap(in.at("key"))); },
      {{"key", random::key_words(seed)}}, runtime);
}

void check_token_ids(const Layer& layer, const Tree<HostTensor>& in) {
  const auto check = [&](const std::string& name, int64_t vocab_size, NegativeIds negative) {
    if (const auto it = in.find(name); it != in.end())
      check_ids("in/" + name, it->second, vocab_size, negative);
  };
  if (const auto* const model = dynamic_cast<const Model*>(&layer)) {
    check("batch/input_ids", model->vocab_size(), NegativeIds::kRefused);
    check("batch/target_labels", model->vocab_size(), NegativeIds::kIgnored);
  }
  if (const auto* const decoder = dynamic_cast<const Decoder*>(&layer))
    check("ids", decoder->vocab_size(), NegativeIds::kRefused);
  if (const auto* const embedding = dynamic_cast<const TokenEmbedding*>(&layer))
    check(std::string(TokenEmbedding::kInputs.front()), embedding->vocab_size(),
          NegativeIds::kRefused);
}

// Calls trace(). Adds to a ShapeError which inputs hold other floats than the parameters.
Program with_dtype_hint(const Tree<Type>& arguments, const std::function<Program()>& trace) {
  try {
    return trace();
  } catch (const ShapeError& error) {
    const auto is_of = [](const auto& argument, std::string_view section) {
      return argument.first.starts_with(section) && is_float(argument.second.dtype);
    };
    const auto parameter = std::ranges::find_if(
        arguments, [&](const auto& argument) { return is_of(argument, "params/"); });
    if (parameter == arguments.end()) throw;
    const auto other = std::ranges::find_if(arguments, [&](const auto& argument) {
      return is_of(argument, "in/") && argument.second.dtype != parameter->second.dtype;
    });
    if (other == arguments.end()) throw;
    throw ShapeError(
        fmt::format("{}: expected {} as the parameters are, got {}; --precision casts "
                    "all floats ({})",
                    other->first, to_text(parameter->second.dtype), to_text(other->second.dtype),
                    error.what()));
  }
}

// Returns names of inputs to suggest in place of a name that nothing read.
std::vector<std::string> known_inputs(const Call& call) {
  std::vector<std::string> out;
  for (const std::string& name : call.method.inputs) {
    out.push_back("in/" + name);
    if (name == "context") {
      MixerContext().each_field([&](std::string_view field, auto&) {
        out.push_back("in/context/" + std::string(field));
      });
    }
    if (name == "batch") {
      for (const std::string_view key : kBatchNames) out.push_back("in/batch/" + std::string(key));
    }
  }
  return out;
}

// A call need not read all of a layer's state.
Tree<HostTensor> checked_state(const Layer& layer, Tree<HostTensor> given) {
  Tree<Type> types;
  for (const auto& [path, spec] : layer.state_specs()) {
    if (given.contains(path)) types.emplace(path, spec.type());
  }
  return check_given(types, std::move(given), "state", "state of this layer");
}

}  // namespace

Tree<HostTensor> eval_layer(Layer& layer, const std::optional<Tree<HostTensor>>& params,
                            const Tree<HostTensor>& inputs, const EvalLayerOptions& options,
                            Runtime& runtime) {
  const bool decoding = is_decoding_method(options.method);
  if (options.cache_len && options.method != kPrefill)
    throw ConfigError("--cache-len: expected use with --method prefill, got " + options.method);
  const Call call{layer, find_method(layer, options.method), options.training, decoding};
  const Tree<ParamSpec> specs = layer.param_specs();
  Tree<Type> types;
  for (const auto& [path, spec] : specs) types.emplace(path, spec.type());
  Tree<HostTensor> out, arguments;
  if (!params && !options.init_seed && !specs.empty())
    throw ConfigError("parameters: expected --params FILE or --seed N, got neither");
  if (params) {
    put_subtree(arguments, "params",
                check_given(types, *params, "params", "a parameter of this layer"));
  }
  const Tree<HostTensor> in = subtree(inputs, "in");
  check_token_ids(layer, in);
  put_subtree(arguments, "in", in);
  put_subtree(arguments, "state",
              decoding ? caches_for(layer, call.method, in, subtree(inputs, "state"), options)
                       : checked_state(layer, subtree(inputs, "state")));
  if (options.grad) put_subtree(arguments, "cotangent", subtree(inputs, "cotangent"));
  if (options.dtype) cast_floats(arguments, *options.dtype);
  if (options.call_key) arguments.emplace("key", random::key_words(*options.call_key));

  // Before parameters are drawn: a mistake is then told at once, however many they are.
  Tree<Type> argument_types = types_of(arguments);
  if (!params) {
    for (auto [path, type] : types) {
      if (options.dtype && is_float(type.dtype)) type.dtype = *options.dtype;
      argument_types.emplace("params/" + path, std::move(type));
    }
  }
  Program program = with_dtype_hint(argument_types, [&] {
    return trace_named(
        "eval_layer",
        [&](const Tree<Tensor>& at) {
          return options.grad ? with_gradients(call, at) : by_name(call(at));
        },
        argument_types);
  });
  std::vector<std::string> unread;
  for (const std::string& name : unread_inputs(program)) {
    if (inputs.contains(name) && !name.starts_with("cotangent/")) unread.push_back(name);
  }
  fail_unread(unread, known_inputs(call));
  if (options.init_seed) {
    Tree<Type> needed = argument_types;
    put_subtree(needed, "init_params", types);
    for (const ProgramValue& result : program.outputs) needed.emplace(result.name, result.type);
    check_tensor_memory("parameters and results", needed);
    Tree<HostTensor> drawn = initial_params(layer, *options.init_seed, runtime);
    put_subtree(out, "init_params", drawn);
    if (options.dtype) cast_floats(drawn, *options.dtype);
    if (!params) put_subtree(arguments, "params", std::move(drawn));
  }
  out.merge(NamedExecutable(std::move(program), runtime)(arguments));
  return out;
}

}  // namespace axle
