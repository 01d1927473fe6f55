// The special ids of a model's config beside those of its tokenizer.
#pragma once

#include <string>

#include "data/tokenizers/tokenizer.h"
#include "interop/imported_model.h"

namespace axle {

/// Returns one line that says which ids differ and which count: "WARNING: config.json: expected the
/// special ids of tokenizer.json, got eos 2 and not 7; ...". Empty if they agree, or if one of both
/// names none.
std::string special_ids_warning(const NamedSpecialIds& config, const SpecialIds& tokenizer,
                                const std::string& tokenizer_file);
/// Throws DataError if a tokenizer that a user names begins or ends documents by other ids, or has
/// less than half of the tokens of the model: it is another model's.
void check_belongs_to_model(const NamedSpecialIds& config, int64_t num_tokens,
                            const Tokenizer& tokenizer, const std::string& tokenizer_file);

}  // namespace axle
