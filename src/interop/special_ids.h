// The special ids of a model's config beside those of its tokenizer.
#pragma once

#include <string>

#include "data/tokenizers/tokenizer.h"
#include "interop/imported_model.h"

namespace axle {

/// Returns one line that says which ids differ and which count: "config.json: expected the special
/// ids of tokenizer.json, got eos 2 and not 7; ...". Empty if they agree, or if one of both names
/// none.
std::string special_ids_difference(const NamedSpecialIds& config, const SpecialIds& tokenizer,
                                   const std::string& tokenizer_file);

}  // namespace axle
