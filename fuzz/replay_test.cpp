// Calls what each x_fuzz.cpp of this folder fuzzes with its seeds, so that a fault that the fuzzer
// has found is seen again without clang. What only sanitizers see is not.
#include <gtest/gtest.h>

#include <filesystem>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "base/error.h"
#include "data/tokenizers/open_tokenizer.h"
#include "io/file.h"
#include "testing/checkout.h"

namespace axle {
namespace {

// The files that a line "// seeds: " names, and those in the folders that it names.
std::vector<std::string> seeds_in(const std::string& pattern) {
  std::vector<std::string> out;
  for (const std::string& named : matching_paths(pattern)) {
    const bool is_folder = std::filesystem::is_directory(named);
    for (const std::string& path : matching_paths(is_folder ? named + "/**/*" : named)) {
      if (std::filesystem::is_regular_file(path)) out.push_back(path);
    }
  }
  EXPECT_FALSE(out.empty()) << pattern << ": no seeds";
  return out;
}

std::vector<std::string> seeds_of(const std::string& name) {
  std::vector<std::string> out;
  const std::string own = "fuzz/seeds/" + name;
  if (std::filesystem::exists(own)) out = seeds_in(own);
  std::istringstream source(read_file("fuzz/" + name + "_fuzz.cpp"));
  const std::string_view begin = "// seeds: ";
  for (std::string line; std::getline(source, line);) {
    if (!line.starts_with(begin)) continue;
    const std::vector<std::string> more = seeds_in(line.substr(begin.size()));
    out.insert(out.end(), more.begin(), more.end());
  }
  EXPECT_FALSE(out.empty()) << "no seeds";
  return out;
}

void replay(const std::string& name, int (*call)(const uint8_t*, size_t)) {
  std::filesystem::current_path(source_file(""));  // as the fuzzer runs
  for (const std::string& seed : seeds_of(name)) {
    std::cout << seed << std::endl;  // the last one before a crash
    const std::string bytes = read_file(seed);
    try {
      call(reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size());
    } catch (const std::exception& error) {
      ADD_FAILURE() << seed << ": " << error.what();
    }
  }
}

// A fuzzer hardly finds the beginning of a format by itself. Ranks have no seed that is read whole:
// the known families have 50,000 tokens and more.
TEST(FuzzSeeds, OfTokenizersAreOfEveryFormat) {
  std::filesystem::current_path(source_file(""));
  std::set<std::string> classes;
  for (const std::string& seed : seeds_of("tokenizer")) {
    try {
      const auto tokenizer = tokenizer_in_file(seed, "path");
      tokenizer.build({}, {});
      classes.emplace(tokenizer.any().type().name);
    } catch (const Error&) {
      continue;  // a seed may be of another kind
    }
  }
  const std::set<std::string> all = {"GgufTokenizer", "HuggingFaceTokenizer", "Llama2cTokenizer",
                                     "SentencePieceTokenizer", "TekkenTokenizer"};
  EXPECT_EQ(classes, all);
}

}  // namespace
}  // namespace axle

using axle::replay;
#include "replays.inc"  // a test for each of them
