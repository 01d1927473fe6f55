// Mistral: a Llama whose queries see a window.
//
// Source: Jiang et al. 2023, arXiv 2310.06825, section 2.
#include "interop/families/llama_like.h"

namespace axle {
namespace {

Child<Model> mistral(const ForeignConfig& config) {
  return llama_like(config, {.window = config.optional_size("sliding_window")});
}

const FamilyRow mistral_row({.model_type = "mistral", .model = mistral, .weights = llama_weights});

}  // namespace
}  // namespace axle
