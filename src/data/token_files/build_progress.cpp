#include "data/token_files/build_progress.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <limits>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/text/json.h"
#include "io/file.h"

namespace axle {

std::string state_of_file(const std::string& path) {
  struct stat info = {};
  if (::stat(path.c_str(), &info) != 0) return "missing";
  return fmt::format("{} bytes, changed at {}.{:09}", info.st_size, info.st_mtim.tv_sec,
                     info.st_mtim.tv_nsec);
}

std::string text_of_progress(const BuildProgress& progress) {
  auto sources = nlohmann::ordered_json::array();
  for (const HashedFile& source : progress.sources) sources.push_back(to_json(source));
  nlohmann::ordered_json out = {{"job", fmt::format("{:016x}", progress.job)},
                                {"sources", sources},
                                {"taken", progress.num_taken},
                                {"next_file", progress.next_file},
                                {"documents", progress.counts.num_documents},
                                {"tokens", progress.counts.num_tokens},
                                {"text_bytes", progress.text_bytes},
                                {"piece_bytes", progress.piece_bytes},
                                {"learned", progress.num_learned},
                                {"skipped", to_json(progress.skipped)}};
  progress.remarks.add_to(out);
  return out.dump(1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

std::optional<BuildProgress> read_progress(const std::string& path) {
  if (!path_exists(path)) return std::nullopt;
  const std::string text = storage_error_as<DataError>([&] { return read_file(path); });
  return json_as<DataError>(path, [&] {
    const nlohmann::ordered_json document = read_json(text);
    const JsonView json(document);
    constexpr int64_t kMost = std::numeric_limits<int64_t>::max() / 8;
    const auto number = [&](const char* name) { return json.at(name).integer(0, kMost); };
    // Builds of texts had no such counts.
    const auto count = [&](const char* name) {
      const auto found = json.find(name);
      return found ? found->integer(0, kMost) : 0;
    };
    BuildProgress out{.num_taken = number("taken"),
                      .next_file = json.at("next_file").text(),
                      .counts = {number("documents"), number("tokens")},
                      .text_bytes = json.at("text_bytes").integer(-kMost, kMost),
                      .piece_bytes = number("piece_bytes"),
                      .num_learned = count("learned"),
                      .remarks = Remarks::of(json),
                      .skipped = skipped_of(json.at("skipped").json())};
    out.job = hexadecimal(json.at("job"));
    for (const JsonView& source : json.at("sources").elements())
      out.sources.push_back(hashed_file_of(source));
    return out;
  });
}

}  // namespace axle
