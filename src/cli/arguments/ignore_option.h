// --ignore, of the verbs that read models of other programs.
#pragma once

#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace axle::cli {

/// Adds --ignore FIELD, which may be repeated.
void add_ignore(CLI::App& app, std::vector<std::string>& fields);

}  // namespace axle::cli
