// axle plugin fetch PLATFORM: fetches the PJRT plugin of a platform, and what its compiler needs.
#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include "base/error.h"
#include "base/text/text.h"
#include "cli/output.h"
#include "fetch/fetch_plugin.h"
#include "pjrt/plugin/find_plugin.h"

namespace axle::cli {
namespace {

struct PluginFetch {
  std::string platform;
};

void add(CLI::App& app, PluginFetch& options, Output&) {
  app.add_option("PLATFORM", options.platform, "cpu, cuda or tpu")->required()->type_name("");
}

ExitCode run(const PluginFetch& options, Output& out) {
  if (!plugin_pins(options.platform)) {
    const std::vector<std::string> names = fetched_platforms();
    throw ConfigError(fmt::format("axle plugin fetch: expected one of {}, got '{}'{}",
                                  join(names, ", "), options.platform,
                                  suggest(options.platform, names)));
  }
  ensure_plugin(options.platform, terminal_fetch_options(/*yes=*/true));
  const auto file = find_plugin_file(plugin_policy(options.platform));
  out.write(fmt::format("the {} plugin is there: {}\n", options.platform, file.value().string()));
  return ExitCode::kOk;
}

}  // namespace

const Verb<PluginFetch> plugin_fetch({
    .name = "plugin fetch",
    .help = "Fetch the plugin of a platform",
    .add = add,
    .run = run,
});

}  // namespace axle::cli
