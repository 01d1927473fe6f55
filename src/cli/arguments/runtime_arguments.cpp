#include "cli/arguments/runtime_arguments.h"

#include <CLI/CLI.hpp>

#include "cli/arguments/number_options.h"
#include "fetch/fetch_plugin.h"
#include "fetch/fetch_terminal.h"
#include "pjrt/make_runtime.h"
#include "pjrt/plugin/find_plugin.h"
#include "runtime/mesh_devices.h"

namespace axle::cli {

void RuntimeArguments::add_to(CLI::App& app) {
  add_backend_to(app);
  add_number<int64_t>(
      app, "--devices",
      [this](int64_t count) {
        check_device_count("--devices", count);
        num_devices = count;
      },
      "Devices to use; on cpu they are virtual (default: as many as the mesh has)")
      ->type_name("N");
}

void RuntimeArguments::add_backend_to(CLI::App& app) {
  app.add_option("--backend", backend,
                 "cpu, cuda, tpu (PJRT plugins) or interpreter (default: cpu)")
      ->type_name("NAME");
  app.add_option_function<std::string>(
         "--compile-cache",
         [this](const std::string& name) { compile_cache = parse_compile_cache(name); },
         "Keep compiled programs in this folder, or 'none' (default: axle/programs in "
         "~/.cache)")
      ->type_name("DIR");
  app.add_flag("--yes", yes, "Fetch the backend's plugin without asking, if it is missing");
}

void RuntimeArguments::ensure_plugin() const {
  if (!plugin_pins(backend) || find_plugin_file(plugin_policy(backend))) return;
  axle::ensure_plugin(backend, terminal_fetch_options(yes));
}

void RuntimeArguments::add_mesh_to(CLI::App& app) {
  app.add_option_function<std::string>(
         "--mesh", [this](const std::string& text) { from_text(text, mesh); },
         "Devices as named axes: fsdp=2,model=2 (default: one device)")
      ->type_name("AXES")
      ->trigger_on_parse();
}

RuntimeOptions RuntimeArguments::runtime_options() const {
  return {.backend = backend, .num_devices = num_devices.value_or(num_mesh_devices(mesh))};
}

}  // namespace axle::cli
