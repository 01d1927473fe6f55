#include "cli/arguments/comparison_arguments.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <string_view>
#include <utility>

#include "base/error.h"
#include "base/mistakes.h"
#include "cli/arguments/options.h"
#include "io/file.h"
#include "nn/invocation.h"

namespace axle::cli {

void EvalLayerArguments::add_to(CLI::App& app) {
  const auto add_count = [&](const char* flag, std::optional<int64_t>& to, const char* help,
                             const Bounds& bounds = {}) {
    add_number(app, flag, to, help, bounds)->type_name("N");
  };
  app.add_option("LAYER.yaml", subject,
                 "{class: Name, config: {...}, dims: {...}} of a layer; a schedule, activation, "
                 "optimizer or learner "
                 "without dims; {model: ..., learner: ...} or a recipe for training steps "
                 "(docs/eval_layer.md)")
      ->required()
      ->type_name("");
  app.add_option(
         "--inputs", inputs,
         "Layers: in/<name> (in/x, in/context/positions, in/batch/input_ids), state/<path>, "
         "cotangent/<output>; schedules: in/step; "
         "learners: init/<path>, "
         "grad/<i>/<path>; training: init/<path>, batches/<name>")
      ->type_name("IN.safetensors");
  app.add_option("--params", params, "params/<path> or init/<path>; a layer needs this or --seed")
      ->type_name("P.safetensors");
  add_count(
      "--seed", eval.layer.init_seed,
      "Draw initial parameters (init_params/) with seed N; the call uses them unless --params "
      "has some",
      kSeedBounds);
  add_count("--key", eval.layer.call_key, "Seed of the call, for dropout", kSeedBounds);
  app.add_flag("--grad", eval.layer.grad,
               "Also the vjp at cotangent/<output>; cotangents that are not given are zero");
  app.add_flag("--training", eval.layer.training, "Call as in training");
  app.add_option("--method", eval.layer.method,
                 "Method of the layer, prefill or extend_step (default: forward)")
      ->type_name("NAME");
  add_count("--cache-len", eval.layer.cache_len,
            "Number of positions in the caches of prefill (default: those of the input)");
  add_count("--steps", eval.num_steps,
            "Schedules: the values at steps 0 to N-1; learners and training: the first N updates");
  app.add_option("--rename", rename,
                 "Lines 'theirs -> ours' for paths of parameters and names of tensors")
      ->type_name("FILE");
  app.add_flag("--their-names", their_names,
               "Write results under the names of --params and --inputs");
  app.add_option("--precision", precision,
                 "Cast all floats first: f32, bf16, f64 (default: no cast); for training, this "
                 "replaces compute_dtype")
      ->type_name("DTYPE");
  runtime.add_backend_to(app);
  app.add_option("--output", output,
                 "out, grad/, summaries/, aux_losses/, outputs/, state/, init_params/; param/<i>/, "
                 "final/, loss, ...")
      ->type_name("OUT.safetensors");
  app.add_option("--compare", compare,
                 "Compare with the results in a file, by --rename; exit 17 if they differ")
      ->type_name("REFERENCE.safetensors");
  app.add_option("--tolerance", tolerances,
                 "Largest allowed difference, relative to the largest element; PATTERN=T for some "
                 "tensors (default: 1e-5)")
      ->type_name("T")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
}

SubjectOptions EvalLayerArguments::options() const {
  SubjectOptions out = eval;
  if (precision.empty()) return out;
  for (const DType dtype : {DType::kF32, DType::kBF16, DType::kF64}) {
    if (precision == name_of(dtype)) out.layer.dtype = dtype;
  }
  if (!out.layer.dtype)
    throw ConfigError("--precision: expected f32, bf16 or f64, got " + precision);
  return out;
}

void EvalLayerArguments::check(bool json) const {
  if (output.empty() && compare.empty())
    throw ConfigError("axle eval-layer: expected --output or --compare, got neither");
  if (compare.empty() && !tolerances.empty())
    throw ConfigError("--tolerance: expected use with --compare, got no --compare");
  if (compare.empty() && json)
    throw ConfigError(
        "--json: expected use with --compare, whose table it prints, got no --compare");
  if (output.empty() && their_names)
    throw ConfigError("--their-names: expected use with --output, got no --output");
  if (!output.empty()) check_replaceable(output);
}

void EvalOpArguments::add_to(CLI::App& app) {
  app.add_option("CASE.yaml", cases,
                 "{function: NAME, attributes: {...}, inputs: {...}}, or several under cases: "
                 "(docs/eval_op.md)")
      ->type_name("");
  app.add_option("--inputs", inputs, "The tensors that the cases name; replaces inputs_file:")
      ->type_name("IN.safetensors");
  app.add_option("--only", only, "Run the case of this name only; several times for more")
      ->type_name("NAME")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  app.add_flag("--f64", f64, "Compute all floats in f64; needs --backend interpreter");
  runtime.add_backend_to(app);
  app.add_option("--output", output, "<name>/out<i>, <name>/grad<i>")->type_name("OUT.safetensors");
  app.add_option("--compare", compare, "Compare with the results in a file; exit 17 if they differ")
      ->type_name("REFERENCE.safetensors");
  app.add_option("--tolerance", tolerance,
                 "For cases without one: T relative to the largest element, bitwise, or "
                 "rtol=T,atol=T,ulp=N (default: 1e-5)")
      ->type_name("T");
  app.add_flag("--list", lists, "Print all functions, or those that --function names");
  app.add_option("--function", list, "A function to list")
      ->type_name("NAME")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
}

ElementTolerance EvalOpArguments::element_tolerance() const {
  if (tolerance.empty()) return {.largest = 1e-5};
  try {
    return element_tolerance_from(tolerance);
  } catch (const ConfigError& error) {
    throw ConfigError(fmt::format("--tolerance: {}", error.what()));
  }
}

void EvalOpArguments::check() const {
  if (cases.empty()) throw ConfigError("axle eval-op: expected CASE.yaml or --list, got neither");
  if (compare.empty() && !tolerance.empty())
    throw ConfigError("--tolerance: expected use with --compare, got no --compare");
  if (f64 && runtime.backend != "interpreter")
    throw ConfigError("--f64: expected --backend interpreter, got " + runtime.backend);
  if (!output.empty()) check_replaceable(output);
}

void EvalOpArguments::check_list() const {
  if (!lists && !list.empty())
    throw ConfigError("--function: expected use with --list, got no --list");
  if (!lists) return;
  if (!cases.empty()) throw ConfigError("--list: expected no CASE.yaml, got " + cases);
  const std::pair<std::string_view, bool> runs[] = {{"--inputs", !inputs.empty()},
                                                    {"--only", !only.empty()},
                                                    {"--f64", f64},
                                                    {"--output", !output.empty()},
                                                    {"--compare", !compare.empty()},
                                                    {"--tolerance", !tolerance.empty()}};
  for (const auto& [flag, is_given] : runs) {
    if (is_given) throw ConfigError(fmt::format("{}: expected use without --list", flag));
  }
}

}  // namespace axle::cli
