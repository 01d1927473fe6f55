// The parts of Hugging Face's tokenizer.json: each function reads one of its fields. All throw
// JsonError with the path of the field.
#pragma once

#include <vector>

#include "base/text/json.h"
#include "data/tokenizers/parts/pipeline_tokenizer.h"

namespace axle::hugging_face {

/// Reads "normalizer".
std::vector<Normalizer> read_normalizers(const JsonView& json);

struct PreTokenizers {
  std::vector<PreTokenizer> steps = {};
  /// The last step is to write bytes in the alphabet of byte_level.h; it is not in `steps`.
  bool ends_in_bytes = false;
};
/// Reads "pre_tokenizer".
PreTokenizers read_pre_tokenizers(const JsonView& json);

/// Reads "model". A model that can't take bytes gets them mapped by a step that is added to the
/// pre-tokenizers.
std::unique_ptr<TokenModel> read_model(const JsonView& json, PreTokenizers& pre_tokenizers);

/// Reads a token that was added to a vocabulary, without its id.
AddedToken read_added_token(const JsonView& json);
/// Reads "added_tokens". Their ids are what the library gives them: that of the model's vocabulary,
/// else the next one behind it. Another id in the file is an error.
std::vector<AddedToken> read_added_tokens(const JsonView& json, const Vocabulary& vocabulary);

/// Reads "decoder".
TokenDecoder read_decoder(const JsonView& json);

/// What "post_processor" puts around a single text.
struct Frame {
  std::vector<int32_t> before = {}, behind = {};
};
Frame read_frame(const JsonView& json);

}  // namespace axle::hugging_face
