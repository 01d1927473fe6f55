// Every public tensor function has a row or a reason why it has none.
#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <sstream>

#include "functions/function.h"
#include "testing/checkout.h"

namespace axle {
namespace {

// C++ name -> why it has no row.
const std::map<std::string, std::string> kWithoutRow = {
    {"vjp", "a case says vjp: true"},
    {"shard_map", "a case says shard_map: {...}"},
    {"custom_vjp", "its backward function is C++ code, not a function of the table"},
    {"emit_broadcast", "it takes a row of the table of ops"},
    {"add_to_selected", "it takes padding that only windows compute"},
    {"kernel_call", "it takes a kernel of C++; gated_silu is one"},
    {"inline_region", "it takes a region"}};

// What functions return that are no tensor functions.
const std::set<std::string> kOtherTypes = {"bool",
                                           "double",
                                           "int64_t",
                                           "void",
                                           "std::string",
                                           "std::string_view",
                                           "std::optional<DType>",
                                           "std::optional<Scalar>",
                                           "std::optional<DotRounding>",
                                           "std::pair<uint32_t, uint32_t>",
                                           "std::vector<int64_t>",
                                           "std::vector<HostTensor>",
                                           "std::vector<bool>",
                                           "std::shared_ptr<Region>",
                                           "const PartitionSpec*",
                                           "const PrngOptions&",
                                           "const TapAttributes*",
                                           "const KernelAttributes&",
                                           "const KernelOptions&",
                                           "KernelPartition",
                                           "std::vector<Batched>",
                                           "PrngImpl",
                                           "Shape",
                                           "ClosedRegion",
                                           "RematPolicy",
                                           "ConvolutionDims",
                                           "SlidingWindow"};

std::string read(const std::string& path) {
  std::ifstream in(source_file("src/" + path));
  std::stringstream out;
  out << in.rdbuf();
  return out.str();
}

// The headers of ops/ and transform/ that `path` includes, directly or not. The split of joint
// regions is internal: policies of remat see its types only.
void add_headers(const std::string& path, std::set<std::string>& out) {
  if (path == "transform/remat/partition.h" || !out.insert(path).second) return;
  const std::string text = read(path);
  ASSERT_FALSE(text.empty()) << path;
  const std::regex include("#include \"((?:ops|transform)/[^\"]+)\"");
  for (std::sregex_iterator it(text.begin(), text.end(), include), end; it != end; ++it)
    add_headers((*it)[1], out);
}

// C++ name -> number of overloads that return tensors.
std::map<std::string, int> declared() {
  std::set<std::string> headers;
  add_headers("ops/ops.h", headers);
  add_headers("transform/transform.h", headers);
  // A declaration begins in the first column: members of classes are indented.
  const std::regex declaration(
      "(?:inline )?((?:const )?[A-Za-z_][\\w:]*(?:<.*>)?[&*]?) "
      "(operator[^\\s(]+|\\w+)\\(.*");
  std::map<std::string, int> out;
  for (const std::string& header : headers) {
    std::istringstream lines(read(header));
    bool in_random = false;
    for (std::string line; std::getline(lines, line);) {
      if (line == "namespace random {" || line == "namespace axle::random {") in_random = true;
      if (line.starts_with("}  // namespace random") ||
          line.starts_with("}  // namespace axle::random"))
        in_random = false;
      std::smatch match;
      if (!std::regex_match(line, match, declaration) || kOtherTypes.contains(match[1])) continue;
      ++out[(in_random ? "random::" : "") + match[2].str()];
    }
  }
  return out;
}

TEST(FunctionTable, EveryPublicTensorFunctionHasARowOrAReason) {
  std::map<std::string, int> rows;
  for (const Function& f : all_functions()) ++rows[f.cpp_name];
  const std::map<std::string, int> functions = declared();
  EXPECT_GT(functions.size(), 200u);
  for (const auto& [name, count] : functions) {
    if (kWithoutRow.contains(name)) continue;
    EXPECT_GE(rows[name], count) << name << ": src/functions has fewer rows than it has overloads";
  }
  for (const auto& [name, count] : rows) {
    EXPECT_TRUE(functions.contains(name)) << name << ": a row, but no public header declares it";
  }
  for (const auto& [name, reason] : kWithoutRow) {
    EXPECT_TRUE(functions.contains(name)) << name << ": a reason, but no public header declares it";
    EXPECT_EQ(rows.count(name) ? rows[name] : 0, 0) << name << ": a row and a reason";
  }
}

}  // namespace
}  // namespace axle
