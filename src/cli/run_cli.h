// The program `axle` as a function, so that other projects get every verb with their own layers and
// recipes.
#pragma once

namespace axle {

/// Runs `axle <verb> ...` and returns its exit code (base/error.h). Errors become one line on
/// stderr.
int run_cli(int argc, char** argv);

}  // namespace axle
