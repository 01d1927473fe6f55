// Which options hold paths: their values are completed as such, and are not empty.
#pragma once

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace axle::cli {

/// True for values called DIR, FILE, PATH or *.safetensors, and for arguments of such a name.
bool is_path(const CLI::Option& option);

/// An empty path, which a shell makes of a variable that is not set, is refused everywhere.
void refuse_empty_paths(CLI::App& app);

}  // namespace axle::cli
