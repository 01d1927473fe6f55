#include "data/tokenizer.h"

#include "data/stream_decoder.h"

namespace axle {

std::string Tokenizer::decode(std::span<const int32_t> ids) const {
  StreamDecoder decoder(*this);
  std::string text;
  for (const int32_t id : ids) text += decoder.push(id);
  return text + decoder.finish();
}

}  // namespace axle
