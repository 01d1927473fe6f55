// The registry of implementations, and how kernels are divided over devices.
#include "ops/kernels/kernel.h"

#include <gmock/gmock.h>

#include "testing/error_of.h"

namespace axle {
namespace {

using ::testing::HasSubstr;

void do_nothing(const HostKernelCall&) {}

const KernelImplementation first(
    {.kernel = "registry_test", .platform = "cpu", .version = 1, .host = do_nothing});
const KernelImplementation second({.kernel = "registry_test",
                                   .platform = "cpu",
                                   .version = 2,
                                   .refuses = [](const KernelQuery& query) -> std::string {
                                     return query.operands[0].rank() == 1 ? "" : "not a list";
                                   },
                                   .host = do_nothing});
const KernelImplementation picky({.kernel = "registry_test",
                                  .platform = "tpu",
                                  .refuses = [](const KernelQuery&) -> std::string { return "no"; },
                                  .hlo = [](const KernelQuery&, HloBuilder&,
                                            const HloValues& x) { return x; }});

KernelSelection select_for(const LoweringTarget& target, const Shape& shape = {3}) {
  static const KernelAttributes kNone;
  return select_kernel("registry_test", {{{DType::kF32, shape}}, {}, kNone}, target);
}

TEST(KernelRegistry, TheHighestVersionThatTakesTheCallRuns) {
  const LoweringTarget cpu{.platform = "cpu", .no_host_kernels = ""};
  EXPECT_EQ(select_for(cpu).implementation, &second);
  EXPECT_EQ(select_for(cpu, {3, 4}).implementation, &first);
}

TEST(KernelRegistry, RefusalsSayWhy) {
  EXPECT_EQ(select_for({.platform = "tpu"}).reason, "tpu kernel 1: no");
  EXPECT_EQ(select_for({.platform = "cpu", .no_host_kernels = "no FFI"}).reason,
            "host kernel 2: no FFI; host kernel 1: no FFI");
  EXPECT_EQ(select_for({.platform = "rocm"}).reason,
            "it has no implementation for rocm (only for cpu, tpu)");
  static const KernelAttributes kNone;
  EXPECT_EQ(select_kernel("unknown", {{}, {}, kNone}, {.platform = "cpu"}).reason,
            "it has no implementation for cpu, nor for any platform");
}

TEST(KernelRegistry, AVersionOfAPlatformIsRegisteredOnce) {
  EXPECT_THAT(
      error_of<InternalError>([] {
        KernelImplementation(
            {.kernel = "registry_test", .platform = "cpu", .version = 2, .host = do_nothing});
      }),
      HasSubstr("expected one implementation of version 2, got two"));
  EXPECT_THAT(error_of<InternalError>(
                  [] { KernelImplementation({.kernel = "registry_test", .platform = "cuda"}); }),
              HasSubstr("expected a host kernel or a lowering rule"));
}

TEST(KernelRegistry, FindsHostKernelsByVersion) {
  EXPECT_EQ(find_host_kernel("registry_test", 2), do_nothing);
  EXPECT_EQ(find_host_kernel("registry_test", 3), nullptr);
}

TEST(KernelAttributes, AreWrittenWithTheirTypes) {
  const KernelAttributes a{
      {{"causal", true}, {"eps", 0.5}, {"mode", "a \"b\""}, {"window", int64_t{7}}}};
  EXPECT_EQ(mlir_entries(a),
            "causal = true, eps = 0x3FE0000000000000 : f64, mode = \"a \\22b\\22\", "
            "window = 7 : i64");
  EXPECT_EQ(a.get<int64_t>("window"), 7);
  EXPECT_THAT(error_of<InternalError>([&] { a.get<double>("window"); }), HasSubstr("window"));
}

KernelPartition divided(std::string_view dims, const std::vector<Shape>& operands,
                        const Shape& result, const std::vector<PartitionSpec>& specs) {
  std::vector<Type> types;
  for (const Shape& shape : operands) types.push_back({DType::kF32, shape});
  return partition_kernel(dims, types, {{DType::kF32, result}}, specs,
                          {{{"data", 2}, {"model", 4}}});
}

TEST(KernelPartition, DimsOfALetterAreDividedTheSameWay) {
  const auto p =
      divided("bk, kn -> bn", {{4, 8}, {8, 16}}, {4, 16}, {{{"data", "model"}}, {{{}, "model"}}});
  EXPECT_EQ(p.in_specs, (std::vector<PartitionSpec>{{{"data", "model"}}, {{"model", {}}}}));
  EXPECT_EQ(p.out_specs, (std::vector<PartitionSpec>{{{"data", {}}}}));
}

TEST(KernelPartition, DividesOnlyDimsThatMayBeDivided) {
  const auto p = divided("*., . -> *.", {{4, 6, 8}, {8}}, {4, 6, 8},
                         {{{"data", "model", "model"}}, {{"data"}}});
  // 4 devices do not divide 6.
  EXPECT_EQ(p.in_specs, (std::vector<PartitionSpec>{{{"data", {}, {}}}, {{{}}}}));
  EXPECT_EQ(p.out_specs, (std::vector<PartitionSpec>{{{"data", {}, {}}}}));
}

TEST(KernelPartition, ValuesThatDoNotFitTheDimsAreRefused) {
  EXPECT_THAT(error_of<ShapeError>([] { divided("ab -> ab", {{4}}, {4}, {}); }),
              HasSubstr("expected values of the dims 'ab -> ab', got f32[4]"));
  EXPECT_THAT(error_of<ShapeError>([] { divided("a, b -> a", {{4}}, {4}, {}); }),
              HasSubstr("expected values of the dims"));
  const NameScope layer("decoder");
  EXPECT_THAT(error_of<ShapeError>([] { divided("a, b -> a", {{4}}, {4}, {}); }),
              ::testing::StartsWith("decoder: kernel"));
}

}  // namespace
}  // namespace axle
