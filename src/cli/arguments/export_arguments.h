// The arguments of `axle export`.
#pragma once

#include <optional>
#include <string>

#include "interop/export/gguf_export.h"
#include "interop/export/hugging_face_export.h"
#include "interop/export/peft_export.h"

namespace CLI {
class App;
}  // namespace CLI

namespace axle::cli {

struct ExportArguments {
  std::string run, out, format = "hf", family, base;
  std::optional<std::string> dtype;
  std::optional<double> shard_gigabytes;
  std::vector<std::string> ignored;
  bool average = false;

  void add_to(CLI::App& app);
  /// What the formats hf, gguf and peft write. Throws ConfigError for flags of another format.
  HuggingFaceExport folder() const;
  GgufExport file() const;
  PeftExport adapters() const;

 private:
  ExportOptions options() const;
  ExportOptions options_with_dtype() const;
  void check_one_file() const;
  void check_no_base() const;
};

}  // namespace axle::cli
