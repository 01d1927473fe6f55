#include "cli/arguments/dtype_option.h"

#include <CLI/CLI.hpp>

namespace axle::cli {

void add_dtype(CLI::App& app, std::optional<DType>& target, const std::string& help) {
  app.add_option_function<std::string>(
         "--dtype",
         [&target](const std::string& text) {
           target = text == "bf16" ? DType::kBF16 : DType::kF32;
         },
         help)
      ->check(CLI::IsMember({"bf16", "f32"}).description(""))
      ->type_name("bf16|f32");
}

}  // namespace axle::cli
