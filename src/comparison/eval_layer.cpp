#include "comparison/eval_layer.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <set>

#include "base/error.h"
#include "base/text/text.h"
#include "base/tree.h"
#include "comparison/compare_tensors.h"
#include "comparison/eval_layer_files.h"
#include "comparison/rename.h"
#include "ir/type.h"
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

// Returns names of inputs to suggest instead of a name that nothing read.
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

  // Before parameters are drawn: a mistake is then reported at once, however many they are.
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

namespace {

Tree<Type> cache_types(const Layer& layer, const DecodeDims& dims) {
  Tree<Type> out;
  for (const auto& [path, spec] : layer.decode_state_specs(dims)) out.emplace(path, spec.type);
  return out;
}

// Returns the numbers of rows and positions of the call: the leading dims of its first input with
// at least two dims.
DecodeDims dims_of(const Method& method, const Tree<HostTensor>& in) {
  for (const std::string& input : method.inputs) {
    for (const auto& [name, value] : in) {
      const bool belongs = name == input || name.starts_with(input + "/");
      if (belongs && value.shape().size() >= 2)
        return {.batch_size = value.shape()[0], .max_len = value.shape()[1]};
    }
  }
  throw DataError(fmt::format("in/{}: expected [B, T, ...], rows of tokens, got none",
                              method.inputs.empty() ? "" : method.inputs[0]));
}

// Returns the number of positions of the given caches: the largest with which the layer has such
// caches. One of their dims names it, rounded up to whole pages. If no number has
// these shapes: the first dim that grows with it, for the error. none: no cache has such a dim.
std::optional<int64_t> cache_len(const Layer& layer, DecodeDims dims,
                                 const Tree<HostTensor>& given) {
  const auto types_for = [&](int64_t len) {
    dims.max_len = len;
    return cache_types(layer, dims);
  };
  std::set<int64_t, std::greater<>> sizes;
  for (const auto& [path, value] : given) sizes.insert(value.shape().begin(), value.shape().end());
  for (const int64_t size : sizes) {
    const Tree<Type> types = size > 0 ? types_for(size) : Tree<Type>{};
    const bool fits = std::ranges::equal(types, given, [](const auto& wanted, const auto& cache) {
      return wanted.first == cache.first && wanted.second.dims == cache.second.shape();
    });
    if (fits) return size;
  }
  const Tree<Type> one = types_for(1), two = types_for(2);
  for (const auto& [path, type] : one) {
    const auto it = given.find(path);
    if (it == given.end() || it->second.shape().size() != type.dims.size()) continue;
    for (size_t i = 0; i < type.dims.size(); ++i) {
      if (type.dims[i] != two.at(path).dims[i]) return it->second.shape()[i];
    }
  }
  return std::nullopt;
}

// Throws if a token is outside of the caches, or does not follow the previous one in its row.
// Caches store the tokens of a row consecutively: such a token would silently be lost, or overwrite
// another one.
void check_positions(const std::string& name, const HostTensor& positions, int64_t len) {
  if (positions.shape().size() != 2) return;  // refused later, where they are read
  const int64_t num_tokens = positions.shape()[1];
  for (int64_t i = 0; i < positions.size(); ++i) {
    const int64_t token = i % num_tokens, last = len - num_tokens + token;
    const double position = positions.at(i);
    if (!(position >= 0 && position <= static_cast<double>(last))) {
      throw ConfigError(
          fmt::format("in/{}: expected a position from 0 to {} for token {} of {} in caches of {} "
                      "positions, got {}",
                      name, last, token, num_tokens, len, position));
    }
    const double first = positions.at(i - token), wanted = first + static_cast<double>(token);
    if (position == wanted) continue;
    throw ConfigError(
        fmt::format("in/{}: expected position {} for token {} of row {}, got {}; the positions of "
                    "a row are consecutive, here from {}",
                    name, wanted, token, i / num_tokens, position, first));
  }
}

// Returns the input that holds the positions of tokens; empty if the method has none.
std::string positions_input(const Method& method) {
  for (const std::string& input : method.inputs) {
    if (input == "context") return "context/positions";
    if (input == "batch") return "batch/input_positions";
    if (input == "fresh") return "fresh/positions";  // of a cache called by itself
  }
  return {};
}

}  // namespace

bool is_decoding_method(const std::string& name) { return name == kPrefill || name == kExtendStep; }

Method find_method(Layer& layer, const std::string& name) {
  const bool is_model = dynamic_cast<const Model*>(&layer) != nullptr;
  const std::string called = is_decoding_method(name) ? (is_model ? "logits" : "forward") : name;
  std::vector<std::string> names;
  for (Method& method : layer.methods()) {
    if (method.name == called) return std::move(method);
    names.push_back(method.name);
  }
  names.insert(names.end(), {std::string(kPrefill), std::string(kExtendStep)});
  throw ConfigError(fmt::format("--method: no method is called '{}'{} (methods: {})", name,
                                suggest(name, names), join(names, ", ")));
}

Tree<HostTensor> caches_for(const Layer& layer, const Method& method, const Tree<HostTensor>& in,
                            Tree<HostTensor> given, const EvalLayerOptions& options) {
  DecodeDims dims = dims_of(method, in);
  const std::string positions = positions_input(method);
  if (options.method == kPrefill) {
    if (!given.empty()) {
      throw ConfigError(
          fmt::format("state/{}: expected no state for prefill, which starts from empty caches; "
                      "call extend_step",
                      given.begin()->first));
    }
    constexpr int64_t kMaxPositions = std::numeric_limits<int32_t>::max();  // positions are i32
    if (options.cache_len && *options.cache_len > kMaxPositions) {
      throw ConfigError(fmt::format("--cache-len: expected at most {} positions, got {}",
                                    kMaxPositions, *options.cache_len));
    }
    if (options.cache_len && *options.cache_len < dims.max_len) {
      throw ConfigError(
          fmt::format("--cache-len: expected at least the {} positions of the input, got {}",
                      dims.max_len, *options.cache_len));
    }
    dims.max_len = options.cache_len.value_or(dims.max_len);
    const Tree<Type> types = cache_types(layer, dims);
    check_tensor_memory("caches", types);
    if (const auto it = in.find(positions); it != in.end() && !types.empty())
      check_positions(positions, it->second, dims.max_len);
    for (const auto& [path, type] : types) given.emplace(path, HostTensor(type));
    return given;
  }
  const std::optional<int64_t> len = cache_len(layer, dims, given);
  dims.max_len = len.value_or(1);
  const Tree<Type> types = cache_types(layer, dims);
  given = check_given(types, std::move(given), "state", "a cache of this layer");
  if (!types.empty() && !positions.empty() && !in.contains(positions)) {
    throw DataError(fmt::format(
        "in/{}: expected the position of each new token in its row, got none", positions));
  }
  ++dims.max_len;
  // A cache of the latest positions alone has room for any number.
  const bool is_limit = len && cache_types(layer, dims) != types;
  if (is_limit && in.contains(positions)) check_positions(positions, in.at(positions), *len);
  return given;
}

}  // namespace axle
