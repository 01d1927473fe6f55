// axle config list: lists everything that configs may name.
#include "cli/output.h"
#include "inspect/config_description.h"

namespace axle::cli {
namespace {

struct ListOptions {};

}  // namespace

const Verb<ListOptions> config_list({
    .name = "config list",
    .help = "List recipes, roles with their classes and the inputs of their methods, functions",
    .add = [](CLI::App& app, ListOptions&, Output& out) { out.add_json_flag(app); },
    .run =
        [](const ListOptions&, Output& out) {
          out.report(catalogue());
          return ExitCode::kOk;
        },
});

}  // namespace axle::cli
