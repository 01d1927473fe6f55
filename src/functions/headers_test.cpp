// Every public tensor function has a row or a reason why it has none.
#include <gtest/gtest.h>

#include <filesystem>
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
    {"emit_broadcast", "it takes a row of the table of ops"},
    {"all_gather_over", "it takes axes of a mesh, which only rules have"},
    {"reduce_scatter_over", "it takes axes of a mesh, which only rules have"},
    {"add_to_selected", "it takes padding that only windows compute"},
    {"kernel_call", "it takes a kernel of C++; gated_silu is one"},
    {"inline_region", "it takes a region"},
    {"prune", "it takes an op of a graph"},
    {"full_for", "it takes the name of the function that calls it"},
    {"emit_with_number", "it takes a row of the table of ops"}};

// What functions return that are no tensor functions.
const std::set<std::string> kOtherTypes = {"bool",
                                           "double",
                                           "int64_t",
                                           "void",
                                           "std::string",
                                           "std::string_view",
                                           "std::optional<DType>",
                                           "std::optional<Memory>",
                                           "std::optional<Scalar>",
                                           "std::optional<DotRounding>",
                                           "std::optional<DotParts>",
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

// Header -> why its functions are no public tensor functions.
const std::map<std::string, std::string> kInternal = {
    {"ops/collectives/collective.h", "rules"},
    {"ops/kernels/kernel.h", "registry"},
    {"ops/movement/window_rules.h", "interpreter"},
    {"ops/products/dot_backward.h", "rules"},
    {"ops/products/dot_eval.h", "interpreter"},
    {"ops/products/scaled_integers.h", "8-bit products and caches"},
    {"ops/random/random_part.h", "dropout by blocks"},
    {"ops/random/threefry_keys.h", "rules"},
    {"ops/reductions/combine.h", "rules"},
    {"ops/rules.h", "rules"},
    {"ops/windows/window.h", "lowering"},
    {"transform/batch_region.h", "batching"},
    {"transform/bodies.h", "rules"},
    {"transform/clone.h", "rules"},
    {"transform/control_flow/loop_ops.h", "rules"},
    {"transform/linalg/matrices.h", "parts"},
    {"transform/linearize.h", "differentiation"},
    {"transform/partition.h", "differentiation"},
    {"transform/ranges.h", "analysis"},
    {"transform/shard_map/shard_map_op.h", "rules"},
    {"transform/taps/collect_taps.h", "pass"},
    {"transform/taps/compare.h", "inspection"},
    {"transform/taps/non_finite.h", "inspection"},
    {"transform/taps/observe.h", "pass"}};

// All headers below a folder of src/, but for headers of tests.
void add_headers(const std::string& folder, std::set<std::string>& out) {
  const std::filesystem::path root = source_file("src");
  for (const auto& entry : std::filesystem::recursive_directory_iterator(root / folder)) {
    const std::string path = entry.path().lexically_relative(root).generic_string();
    if (path.ends_with(".h") && !path.ends_with("_test.h")) out.insert(path);
  }
}

// C++ name -> number of overloads that return tensors, in the headers.
std::map<std::string, int> declared(const std::set<std::string>& headers) {
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

std::set<std::string> public_headers() {
  std::set<std::string> out;
  add_headers("ops", out);
  add_headers("transform", out);
  for (const auto& [header, reason] : kInternal) out.erase(header);
  return out;
}

TEST(FunctionTable, InternalHeadersHaveFunctionsAndAreNotForLayers) {
  const std::string all = read("ops/ops.h") + read("transform/transform.h");
  for (const auto& [header, reason] : kInternal) {
    ASSERT_TRUE(std::filesystem::exists(source_file("src/" + header))) << header;
    EXPECT_FALSE(declared({header}).empty()) << header << ": nothing to leave out";
    EXPECT_EQ(all.find('"' + header + '"'), std::string::npos) << header << " is public";
  }
}

TEST(FunctionTable, EveryPublicTensorFunctionHasARowOrAReason) {
  std::map<std::string, int> rows;
  for (const Function& f : all_functions()) ++rows[f.cpp_name];
  const std::map<std::string, int> functions = declared(public_headers());
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
