// axle config describe NAME [PATH]: fields, defaults, ranges and their documentation.
#include <CLI/CLI.hpp>

#include "cli/output.h"
#include "inspect/config_description.h"

namespace axle::cli {
namespace {

struct DescribeOptions {
  std::string name, path;
};

void add(CLI::App& app, DescribeOptions& options, Output& out) {
  app.add_option("NAME", options.name,
                 "Class, struct, function, role or recipe; Role.Class where several have the name")
      ->required()
      ->type_name("");
  app.add_option("PATH", options.path, "A field of the recipe: model.decoder.layers")
      ->type_name("");
  out.add_json_flag(app);
}

}  // namespace

const Verb<DescribeOptions> config_describe({
    .name = "config describe",
    .help = "Print the fields of a class or recipe: defaults, what they take, what they mean",
    .add = add,
    .run =
        [](const DescribeOptions& options, Output& out) {
          out.report(describe_config(options.name, options.path));
          return ExitCode::kOk;
        },
});

}  // namespace axle::cli
