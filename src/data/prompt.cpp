#include "data/prompt.h"

#include "config/register.h"

namespace axle {

std::optional<size_t> Prompt::bytes_of(std::string_view text) const {
  if (!until) return std::nullopt;
  const size_t at = text.find(*until);
  return at == std::string_view::npos ? 0 : at + until->size();
}

int64_t Prompt::share_of(int64_t num_tokens) const {
  return static_cast<int64_t>(share * static_cast<double>(num_tokens));
}

AXLE_REGISTER(Prompt)

}  // namespace axle
