// The models of other programs in testdata, with the numbers of transformers.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "io/file.h"
#include "testing/checkout.h"

namespace axle {

/// Returns the names of the folders that tools/oracle/hugging_face_models.py writes.
inline std::vector<std::string> reference_models() {
  std::vector<std::string> out;
  for (const auto& folder : list_directory(reference_file("hugging_face")))
    out.push_back(folder.filename().string());
  std::ranges::sort(out);
  return out;
}

}  // namespace axle
