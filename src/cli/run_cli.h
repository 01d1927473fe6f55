// The program `axle` as a function, so that projects of their own get every verb with their layers
// and recipes in it.
#pragma once

namespace axle {

/// Runs `axle <verb> ...` and returns its exit code (base/exit_code.h). Errors become one line on
/// stderr.
int run_cli(int argc, char** argv);

}  // namespace axle
