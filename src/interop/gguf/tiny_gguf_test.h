// A copy of a tiny model in a GGUF file, with other keys and tensors in it.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>
#include <vector>

#include "interop/hugging_face.h"
#include "io/gguf/gguf_file.h"
#include "io/gguf/save_gguf.h"
#include "testing/checkout.h"
#include "testing/temp_dir.h"

namespace axle {

class TinyGguf : public ::testing::Test {
 protected:
  void SetUp() override { open("llama_tied"); }
  // Begins with the keys and tensors of testdata/reference/gguf/models/<name>.gguf.
  void open(const std::string& name) {
    const GgufFile file(reference_file("gguf/models/" + name + ".gguf"));
    metadata_ = file.metadata();
    tensors_.clear();
    for (const std::string& own : file.names()) tensors_.emplace(own, file.get(own));
  }
  void remove_key(const std::string& key) {
    GgufMetadata out;
    for (const auto& entry : metadata_.entries())
      if (entry.key != key) out.set(entry.key, entry.value);
    metadata_ = out;
  }
  // Tensors in `types` are stored so, the others as F32.
  void write(const std::map<std::string, std::string>& types = {}) const {
    std::vector<GgufTensorToSave> tensors;
    for (const auto& [name, value] : tensors_) {
      const auto type = types.find(name);
      tensors.push_back({.name = name,
                         .type = type == types.end() ? "F32" : type->second,
                         .shape = value.shape(),
                         .values = [&value] { return value; }});
    }
    save_gguf(path_, metadata_, tensors);
  }
  // Stores all matrices so.
  void write_matrices(const std::string& type) const {
    std::map<std::string, std::string> types;
    for (const auto& [name, value] : tensors_)
      if (value.shape().size() > 1) types[name] = type;
    write(types);
  }

  TempDir dir_;
  const std::string path_ = dir_ / "model.gguf";
  GgufMetadata metadata_;
  std::map<std::string, HostTensor> tensors_;
};

}  // namespace axle
