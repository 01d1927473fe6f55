// Runs the program inside a test.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "cli/run_cli.h"
#include "io/file.h"
#include "testing/temp_dir.h"

namespace axle {

using Arguments = std::vector<std::string>;

/// Returns `first`, then `more`.
inline Arguments joined(Arguments first, const Arguments& more) {
  first.insert(first.end(), more.begin(), more.end());
  return first;
}
/// Returns `first` with the flags of `more`, whose values replace those that `first` has.
inline Arguments replaced(Arguments first, const Arguments& more) {
  static const std::set<std::string> kRepeatable = {"--set", "--data", "--modify", "--config"};
  for (const std::string& flag : more) {
    if (!flag.starts_with("--") || kRepeatable.contains(flag)) continue;
    const auto at = std::ranges::find(first, flag);
    if (at != first.end()) first.erase(at, at + 2);
  }
  return joined(std::move(first), more);
}
/// Returns the flags `--set EDIT`.
inline Arguments set_flags(const std::vector<std::string>& edits) {
  Arguments out;
  for (const std::string& edit : edits) out.insert(out.end(), {"--set", edit});
  return out;
}
/// Returns flags that make the quickstart small enough for the interpreter.
inline Arguments tiny_quickstart() {
  return set_flags({"model.decoder.model_dim=8", "model.decoder.layers.num_layers=1",
                    "model.decoder.layers.layer.attention.body.num_heads=2",
                    "model.decoder.layers.layer.attention.body.num_kv_heads=2", "input.seq_len=16",
                    "input.batch_size=2", "evalers={}"});
}

/// The file of a layer for `eval-layer`.
inline constexpr std::string_view kLinearLayer =
    "class: Linear\nconfig: {bias: false}\ndims: {input_dim: 2, output_dim: 1}\n";

/// Writes a text of 40 lines. Returns its path.
inline std::string text_file(const TempDir& dir) {
  std::string text;
  for (int i = 0; i < 40; ++i) text += "the quick brown fox jumps over the lazy dog.\n";
  replace_file(dir / "text.txt", text);
  return dir / "text.txt";
}

/// Runs `axle <arguments>`. Returns its exit code.
inline int run_cli(Arguments arguments) {
  arguments.insert(arguments.begin(), "axle");
  std::vector<char*> argv;
  for (std::string& argument : arguments) argv.push_back(argument.data());
  argv.push_back(nullptr);
  return run_cli(static_cast<int>(arguments.size()), argv.data());
}

struct Ran {
  int code = 0;
  std::string out, err;
};

/// Runs `axle <arguments>` and captures its output.
inline Ran run_axle(Arguments arguments) {
  ::testing::internal::CaptureStdout();
  ::testing::internal::CaptureStderr();
  Ran ran;
  ran.code = run_cli(std::move(arguments));
  ran.out = ::testing::internal::GetCapturedStdout();
  ran.err = ::testing::internal::GetCapturedStderr();
  return ran;
}

}  // namespace axle
