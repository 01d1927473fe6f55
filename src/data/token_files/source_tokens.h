// The token files of sources that name texts, conversations or pairs of answers.
#pragma once

#include <optional>
#include <string>

#include "data/token_files/made_tokens.h"
#include "data/token_files/token_input.h"

namespace axle {

/// Makes the token file of a source in the user's cache folder, or finds it there; none if the
/// source names a token file. A CorpusSource or a ChatSource reads the files: the kind of data
/// (data_kind_at) tells which. `tokenizer` is that of the input.
///
/// Throws ConfigError, with `where`, for fields of another kind of files. Throws as
/// tokens_of_text() and tokens_of_chat() do.
std::optional<MadeTokens> tokens_of_source(const TokenSource& source,
                                           const Child<Tokenizer>& tokenizer,
                                           const Input::Dims& dims, const std::string& where);

}  // namespace axle
