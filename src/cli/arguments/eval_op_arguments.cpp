#include "cli/arguments/eval_op_arguments.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <string_view>
#include <utility>

#include "base/error.h"
#include "io/file.h"

namespace axle::cli {

void EvalOpArguments::add_to(CLI::App& app) {
  app.add_option("CASE.yaml", cases,
                 "{function: NAME, attributes: {...}, inputs: {...}}, or several under cases: "
                 "(docs/eval_op.md)")
      ->type_name("");
  app.add_option("--inputs", inputs, "The tensors that the cases name; in place of inputs_file:")
      ->type_name("IN.safetensors");
  app.add_option("--only", only, "Run the case of this name only; several times for more")
      ->type_name("NAME")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  app.add_flag("--f64", f64,
               "Compute all floats in f64, whatever their dtype; needs --backend interpreter");
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
