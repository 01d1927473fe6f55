// The models of other programs in testdata, with the numbers of transformers.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "interop/foreign_model.h"
#include "io/file.h"
#include "layers/models/causal_lm.h"
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

/// Lets the model take texts of `num_tokens` tokens if it was made for shorter ones.
inline void take_texts_of(int64_t num_tokens, ImportedModel& imported) {
  auto& decoder = *imported.model.get_if<CausalLM>()->decoder.get_if<Decoder>();
  if (decoder.max_seq_len && *decoder.max_seq_len < num_tokens) decoder.max_seq_len = num_tokens;
}

}  // namespace axle
