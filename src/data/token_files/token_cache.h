// Token files that are made once from files, in the user's cache folder.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

namespace axle {

/// The place of the tokens of some files in user_cache_folder()/tokens. Those of the files as they
/// were before are removed when new ones are made.
class TokenCache {
 public:
  /// `what` is all that determines the tokens, beside the content of the files. `where` is the
  /// config path of the input, for messages; `otherwise` ends the message about a missing folder.
  /// Throws ConfigError if there is no cache folder.
  TokenCache(const std::string& what, const std::vector<std::string>& files, std::string where,
             const std::string& otherwise);

  /// PREFIX of the token file.
  std::string prefix() const { return folder_ / state_; }
  const std::filesystem::path& folder() const { return folder_; }
  /// Calls make() unless the card of the token file is there. One process makes it; others that
  /// want the same one wait, and say so.
  void ensure(const std::function<void()>& make) const;

 private:
  void remove_others() const;

  std::string where_, state_;
  std::filesystem::path folder_;
};

}  // namespace axle
